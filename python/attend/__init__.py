"""Transformers of the attention lectures: load a folder, call it, look inside.

    import attend
    model = attend.load("en-fr")
    model.translate("I am a student.")
    model.attention("I am a student.")      # a figure in a notebook; .weights is an array

Methods take one text or a list of texts, and answer in kind. A model may be called by several threads: they take turns,
and Python goes on meanwhile. What is wrong is an attend.Error.
"""
from __future__ import annotations

import atexit
import json
import operator
import os
import queue
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterator, NamedTuple, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _attend, nn, ops, optim
from ._attend import Device, Error, Tape, Tensor, shipped_models
from ._tensor import tensor

__all__ = ["Answer", "Attention", "Box", "Device", "Error", "Label", "Model", "Tape", "Tensor", "Token", "Word", "load", "nn", "ops", "optim",
           "shipped_models", "tensor", "train"]
__version__ = _attend.version


class Label(NamedTuple):
    label: str  # "" of a model that answers a number, which is then the score
    score: float


class Word(NamedTuple):
    word: str
    label: str
    score: float
    begin: int  # characters of the line
    end: int


class Answer(NamedTuple):
    text: str
    score: float
    begin: int  # characters of the context
    end: int


class Token(NamedTuple):
    token: str
    score: float


class Box(NamedTuple):
    label: str
    score: float
    box: tuple[float, float, float, float]  # x, y, width, height in pixels


@dataclass(frozen=True, eq=False)
class Attention:
    """Where each token of a translation looked in the source."""

    text: str
    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]  # [target, source]
    svg: str

    def _repr_html_(self) -> str:
        return self.svg


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__}, not str")
    value.encode()  # what is no text, a half of a surrogate pair, is said to be so
    return value


def _whole(name: str, value: Any, *, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, not a whole number") from None
    if not least <= number <= most:
        raise TypeError(f"{name} is {number}, but must be from {least} to {most}")
    return number


def _beams(value: Any) -> int:
    return 0 if value is None else _whole("beams", value) or -1  # 0: as the model's folder says, or 4


def _seed(value: Any) -> int:
    return _whole("seed", value, least=0, most=2**64 - 1)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is {value!r}, not a number") from None


def _ids(ids: Sequence[int]) -> list[int]:
    return [_whole(f"id {at}", each, least=-(2**31), most=2**31 - 1) for at, each in enumerate(ids)]


def _listed(texts: Union[str, Sequence[str]]) -> tuple[list[str], bool]:
    single = isinstance(texts, str)
    lines = [texts] if single else list(texts)
    return [_text(f"line {at}", line) for at, line in enumerate(lines)], single


def _images(images: Any) -> tuple[list[npt.NDArray[np.uint8]], bool]:
    """Of one image [H, W, 3], of an array or a list of them."""
    single = isinstance(images, np.ndarray) and images.ndim == 3
    several = [images] if single else list(images)
    for at, image in enumerate(several):
        if not isinstance(image, np.ndarray):
            raise TypeError(f"image {at} is {type(image).__name__}, not an array, uint8 [height, width, 3]")
    return several, single


def _are_images(given: Any) -> tuple[bool, Any]:
    """Whether it is an image, or begins with one; and what was given, as a list if it was an iterator."""
    given = given if isinstance(given, (str, np.ndarray)) else list(given)
    first = given[0] if isinstance(given, list) and given else given
    return isinstance(first, np.ndarray) and first.dtype.kind not in "OSU", given


def _in_windows(lines: list[str], batch: int, call: Callable[[list[str]], Any]) -> list[Any]:
    """As the program takes them: many lines at once, but not all, so that Ctrl-C is heard."""
    window = max(1, 16 * batch)
    return [call(lines[at : at + window]) for at in range(0, max(1, len(lines)), window)]


# Texts that are still being written when Python ends: they are ended first, because a thread cannot come back to it.
_writers: weakref.WeakKeyDictionary[threading.Thread, threading.Event] = weakref.WeakKeyDictionary()


@atexit.register
def _end_writers() -> None:
    for writer, stopped in list(_writers.items()):
        stopped.set()
        writer.join()


class Model:
    """A model of a folder. What it does is its task; the methods of others raise Error."""

    def __init__(self, inner: _attend.Model, name: str) -> None:
        self._inner, self._name = inner, name

    def __repr__(self) -> str:
        return f"<attend.Model {self._name}: {self.task}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a model can be neither pickled nor copied: call attend.load({self._name!r}) where it is needed")

    def _of_texts(self, name: str) -> None:
        if self._inner.looks:
            raise Error(f"{name}: this model looks at images, uint8 [height, width, 3], and was given texts")

    def _of_images(self, name: str) -> None:
        if not self._inner.looks:
            raise Error(f"{name}: this model reads texts, and was given images")

    @property
    def task(self) -> str:
        """What it does: translate, classify, generate, .."""
        return self._inner.task

    @overload
    def translate(  # type: ignore[misc]  # a str is a sequence of str, too
        self, lines: str, *, beams: int | None = None, batch: int = 32
    ) -> str: ...
    @overload
    def translate(self, lines: Sequence[str], *, beams: int | None = None, batch: int = 32) -> list[str]: ...
    def translate(self, lines, *, beams=None, batch=32):
        """The best translation of a line, or of each of a list."""
        texts, single = _listed(lines)
        found = self._inner.translate(texts, _beams(beams), 1, _whole("batch", batch))
        best = [line[0][0] if line else "" for line in found]
        return best[0] if single else best

    def translations(self, line: str, *, n_best: int = 4, beams: int = 4) -> list[tuple[str, float]]:
        """Several translations of a line with their scores, best first."""
        beams, n_best = _whole("beams", beams), _whole("n_best", n_best)
        return self._inner.translate([_text("line", line)], max(beams, n_best), n_best, 1)[0]

    def attention(self, line: str) -> Attention:
        """Where each token of the translation looked; a figure in a notebook."""
        return Attention(*self._inner.attention(_text("line", line)))

    def classify(self, lines, *, top_k: int = 0, batch: int = 32, max_pixels: int = 0):
        """All labels, or the top_k likeliest, of each text (a tab separates a pair) or image (uint8 [H, W, 3])."""
        top_k, batch = _whole("top_k", top_k), _whole("batch", batch)
        looks, given = _are_images(lines)
        if looks:
            self._of_images("classify")
            images, single = _images(given)
            found = [self._inner.classify_images(images, top_k, _whole("max_pixels", max_pixels, least=0))]
        else:
            texts, single = _listed(given)
            if not texts and self._inner.looks:
                return []
            self._of_texts("classify")
            found = _in_windows(texts, batch, lambda window: self._inner.classify(window, top_k, batch))
        labels = [[Label(*each) for each in line] for window in found for line in window]
        return labels[0] if single else labels

    def tag(self, lines: Union[str, Sequence[str]]):
        """A label for each word of a line, or of each of a list."""
        texts, single = _listed(lines)
        found = _in_windows(texts, 32, self._inner.tag)
        words = [[Word(*each) for each in line] for window in found for line in window]
        return words[0] if single else words

    def answer(self, question: str, context: str, *, top_k: int = 1) -> list[Answer]:
        """The likeliest passages of the context that answer a question."""
        found = self._inner.answer(_text("question", question), _text("context", context), _whole("top_k", top_k))
        return [Answer(*each) for each in found]

    def fill(self, lines: Union[str, Sequence[str]], *, top_k: int = 5):
        """For each mask of a line the likeliest tokens."""
        texts, single = _listed(lines)
        top_k = _whole("top_k", top_k)
        found = _in_windows(texts, 32, lambda window: self._inner.fill(window, top_k))
        tokens = [[[Token(*each) for each in mask] for mask in line] for window in found for line in window]
        return tokens[0] if single else tokens

    def embed(
        self,
        lines: Any,
        *,
        pooling: str | None = None,
        normalize: bool | None = None,
        prompt_name: str | None = None,
        batch: int = 32,
        max_pixels: int = 0,
    ) -> npt.NDArray[np.float32]:
        """[width] of a text, [texts, width] of a list; of images (uint8 [H, W, 3]) too.

        A sentence-transformers folder decides the pooling, normalization and default prompt; arguments override it.
        """
        how, prompt = _text("pooling", pooling or ""), _text("prompt_name", prompt_name or "")
        length_one, batch = None if normalize is None else bool(normalize), _whole("batch", batch)
        looks, given = _are_images(lines)
        if looks:
            self._of_images("embed")
            images, single = _images(given)
            vectors = self._inner.embed_images(
                images, bool(length_one), _whole("max_pixels", max_pixels, least=0)
            )
        else:
            texts, single = _listed(given)
            if texts or not self._inner.looks:
                self._of_texts("embed")
                found = _in_windows(texts, batch, lambda part: self._inner.embed(part, how, length_one, prompt, batch))
                vectors = found[0] if len(found) == 1 else np.concatenate(found)
            else:
                vectors = self._inner.embed_images([], bool(length_one), 0)
        return vectors[0] if single else vectors

    def detect(self, images, *, threshold: float = 0.7, max_pixels: int = 0):
        """What is in an image (uint8 [H, W, 3]), or in each of a list."""
        several, single = _images(images)
        found = self._inner.detect(several, _number("threshold", threshold), _whole("max_pixels", max_pixels, least=0))
        boxes = [[Box(*each) for each in image] for image in found]
        return boxes[0] if single else boxes

    def describe(self, images, *, beams: int | None = None, max_pixels: int = 0):
        """A sentence about an image (uint8 [H, W, 3]), or about each of a list."""
        several, single = _images(images)
        most = _whole("max_pixels", max_pixels, least=0)
        texts = [text for text, _ in self._inner.describe(several, _beams(beams), most)]
        return texts[0] if single else texts

    def draw(self, count: int = 1, *, label: str = "", seed: int = 1) -> npt.NDArray[np.uint8]:
        """[count, H, W, 3], of the class of this name, or of all in turn."""
        count = _whole("count", count, least=0)
        return self._inner.draw(_text("label", label), count, _seed(seed))

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 100,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
    ) -> Iterator[str]:
        """Pieces of the text as it grows; joined they are the whole. Leaving the loop ends the text."""
        if self.task != "generate":
            raise Error(f"generate: this model does {self.task}")
        prompt, max_tokens, top_k = _text("prompt", prompt), _whole("max_tokens", max_tokens), _whole("top_k", top_k)
        temperature, top_p, seed = _number("temperature", temperature), _number("top_p", top_p), _seed(seed)
        pieces: queue.Queue[Any] = queue.Queue()
        stopped = threading.Event()

        def heard(piece: str) -> bool:
            pieces.put(piece)
            return stopped.is_set()

        def work() -> None:
            try:
                self._inner.generate(prompt, heard, max_tokens, temperature, top_k, top_p, seed)
                pieces.put(None)
            except Exception as error:  # raised where the text is read
                pieces.put(error)

        def read() -> Iterator[str]:
            writer = threading.Thread(target=work, daemon=True)
            _writers[writer] = stopped
            writer.start()
            try:
                while (piece := pieces.get()) is not None:
                    if isinstance(piece, Exception):
                        raise piece
                    yield piece
            finally:
                stopped.set()
                writer.join()

        return read()

    def tokenize(self, text: str) -> npt.NDArray[np.int32]:
        """The ids of a text, [tokens]."""
        return self._inner.tokenize(_text("text", text))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The token of each id."""
        return self._inner.tokens(_ids(ids))

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of ids [tokens]."""
        return self._inner.detokenize(_ids(ids))


def load(
    path_or_name: Union[str, os.PathLike[str]],
    *,
    task: str = "",
    device: str = "cpu",
    weights: str = "",
    threads: int = 0,
) -> Model:
    """A model's folder, or the name of one that came with attend. task="embed" reads a model without its head; weights
    (f32, bf16, int8) is how the CPU keeps them; threads 0 takes every core."""
    path = os.fsencode(path_or_name)
    if b"\0" in path:
        raise ValueError("a null character in the name of a folder")
    task, device, weights = _text("task", task), _text("device", device), _text("weights", weights)
    threads = _whole("threads", threads, most=2**31 - 1, least=-(2**31))
    return Model(_attend.open(path, task, device, weights, threads), os.fsdecode(path))


def _plain(value: Any) -> Any:
    """Paths and NumPy's numbers, for a recipe."""
    return value.item() if isinstance(value, np.generic) else os.fspath(value)


def train(
    settings: dict[str, Any],
    *,
    on_message: Union[Callable[[str], None], None] = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Model:
    """Trains as `attend train` does, with the keys of its recipes, and loads the model. on_message hears every line that
    the program would print; what it raises ends the run, and so does Ctrl-C: it is saved, and resume=True goes on."""
    if on_message is not None and not callable(on_message):
        raise TypeError(f"on_message is {type(on_message).__name__}, which cannot be called")
    _attend.train(json.dumps(settings, default=_plain, allow_nan=False), on_message, bool(resume), bool(overwrite))
    return load(settings["out"])
