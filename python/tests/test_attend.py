"""The Python module against the program, NumPy and, where it is, torch. Run in the source folder: python/tests/run.py."""
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import attend
import numpy as np
import pytest

PROGRAM = os.environ["ATTEND_PROGRAM"]
LINES = ["I am a student.", "", "The house is blue."]


def program(*words, text):
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def translator():
    return attend.load("models/en-fr")


def test_translations_are_the_programs(translator):
    said = program("translate", "--model", "models/en-fr", text="\n".join(LINES) + "\n").splitlines()
    assert translator.translate(LINES) == said
    assert translator.translate(LINES[0]) == said[0]
    best = translator.translations(LINES[0], n_best=3)
    assert best[0][0] == said[0] and len(best) > 1
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)


def test_attention_has_labels_and_adds_up_to_one(translator):
    seen = translator.attention(LINES[0])
    assert seen.text == translator.translate(LINES[0])
    assert seen.weights.shape == (len(seen.target), len(seen.source)) and seen.weights.dtype == np.float32
    np.testing.assert_allclose(seen.weights.sum(axis=1), 1, atol=1e-4)
    assert seen._repr_html_().startswith("<svg")
    assert translator.attention("").weights.size == 0


def test_tokens_are_the_text_again(translator):
    ids = translator.tokenize(LINES[0])
    assert ids.dtype == np.int32 and ids.ndim == 1
    assert translator.detokenize(ids).strip() == LINES[0]
    assert len(translator.tokens(ids)) == len(ids)


def test_classes_add_up_to_one():
    model = attend.load("models/bert-sst2")
    good, bad = model.classify(["a wonderful film", "a terrible film"])
    assert sum(label.score for label in good) == pytest.approx(1, abs=1e-5)
    assert good[0].label != bad[0].label and good[0].score > 0.5
    assert model.classify("a wonderful film", top_k=1) == good[:1]


def test_masks_are_filled():
    tokens = attend.load("models/bert").fill("The capital of [MASK] is large.", top_k=3)
    assert len(tokens) == 1 and len(tokens[0]) == 3 and tokens[0][0].score >= tokens[0][1].score


def test_vectors_are_arrays_without_copies():
    model = attend.load("models/bert", task="embed")
    vectors = model.embed(["one house", "a house", "the sea"], normalize=True)
    assert vectors.shape[0] == 3 and vectors.dtype == np.float32 and not vectors.flags.owndata
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.embed("one house", normalize=True), vectors[0], atol=1e-5)
    assert model.embed([]).shape == (0, vectors.shape[1])


def test_vectors_work_beside_torch():
    torch = pytest.importorskip("torch")
    vectors = attend.load("models/bert", task="embed").embed(["one house", "the sea"])
    both = torch.from_numpy(vectors)
    expected = torch.nn.functional.cosine_similarity(both[0], both[1], dim=0).item()
    a, b = vectors
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) == pytest.approx(expected, abs=1e-5)


def test_text_grows_piece_by_piece():
    model = attend.load("models/shakespeare")
    whole = list(model.generate("ROMEO:", max_tokens=12, top_k=1))
    assert len(whole) > 1
    assert "".join(whole) == "".join(model.generate("ROMEO:", max_tokens=12, top_k=1))
    for piece in model.generate("ROMEO:", max_tokens=200, top_k=1):
        assert piece == whole[0]
        break
    with pytest.raises(attend.Error):
        list(model.generate("ROMEO:", max_tokens=-1))


def test_zeros_are_meant():
    model = attend.load("models/shakespeare")

    def text(**options):
        return "".join(model.generate("ROMEO:", max_tokens=16, **options))

    assert text(temperature=0) == text(top_k=1) != text(seed=1)
    assert text(seed=0) != text(seed=1)


def test_space_around_a_line_changes_nothing():
    model = attend.load("models/reverse-transformer")
    assert model.translate(["tree lamp stone boat", "tree lamp stone boat ", "\ttree lamp stone boat"]) == ["boat stone lamp tree"] * 3


def test_boxes_of_images():
    model = attend.load("models/detr-scenes")
    image = np.zeros((64, 64, 3), np.uint8)
    assert isinstance(model.detect(image), list)
    assert len(model.detect([image, image[:32]])) == 2
    with pytest.raises(attend.Error, match="64 x 64 is too large: at most 4095 pixels"):
        model.detect(image, max_pixels=4095)
    assert model.detect(image, max_pixels=4096) == model.detect(image)
    for wrong in (image.astype(np.float32), image[..., 0:1], image[:, :, 0]):
        with pytest.raises(attend.Error, match="uint8"):
            model.detect([wrong])


def test_images_have_vectors_and_labels():
    image = np.arange(32 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(32, 32, 3)
    vectors = attend.load("models/vit-cifar10", task="embed").embed([image, image[::-1]])
    assert vectors.shape[0] == 2 and vectors.dtype == np.float32 and not np.array_equal(vectors[0], vectors[1])
    labels = attend.load("models/vit-cifar10").classify(image)
    assert sum(label.score for label in labels) == pytest.approx(1, abs=1e-5)


def test_images_are_drawn_and_described():
    artist = attend.load("models/sagan-cifar10")
    drawn = artist.draw(2, label="dog", seed=3)
    assert drawn.dtype == np.uint8 and drawn.shape[0] == 2 and drawn.shape[3] == 3 and not drawn.flags.owndata
    assert np.array_equal(drawn, artist.draw(2, label="dog", seed=3)) and artist.draw(0).size == 0
    with pytest.raises(attend.Error, match="unicorn"):
        artist.draw(label="unicorn")
    with pytest.raises(attend.Error, match="most"):
        artist.draw(10**9)
    with pytest.raises(TypeError):
        artist.draw(-1)
    writer = attend.load("models/flickr8k")
    sentence = writer.describe(drawn[0])
    assert len(sentence.split()) > 1 and writer.describe([drawn[0], drawn[1]])[0] == sentence
    huge = np.lib.stride_tricks.as_strided(drawn[0], shape=(1 << 24, 1 << 24, 3), strides=(0, 0, 1))
    with pytest.raises(attend.Error, match="pixels"):
        writer.describe(huge)


def test_texts_and_images_are_told_apart():
    image = np.arange(32 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(32, 32, 3)
    model = attend.load("models/vit-cifar10", task="embed")
    assert np.linalg.norm(model.embed(image, normalize=True)) == pytest.approx(1, abs=1e-5)
    assert model.embed(np.stack([image, image])).shape == model.embed([image, image]).shape
    assert len(model.embed([])) == 0
    with pytest.raises(attend.Error, match="images"):
        model.embed("a text")
    labels = attend.load("models/vit-cifar10")
    assert labels.classify(np.stack([image, image])) == [labels.classify(image)] * 2
    assert labels.classify([]) == [] and labels.classify(each for each in [image]) == [labels.classify(image)]
    reader = attend.load("models/bert-sst2")
    assert reader.classify(np.array(["a wonderful film"])) == [reader.classify("a wonderful film")]
    with pytest.raises(attend.Error, match="texts"):
        reader.classify(image)


def test_many_lines_are_those_of_few():
    model = attend.load("models/bert", task="embed")
    lines = [f"house number {i}" for i in range(40)]
    np.testing.assert_array_equal(model.embed(lines, batch=1)[37], model.embed(lines[32:], batch=1)[5])
    assert model.embed(lines, batch=1).shape[0] == 40


def test_models_are_not_pickled_and_figures_are(translator):
    with pytest.raises(TypeError, match="attend.load"):
        pickle.dumps(translator)
    seen = translator.attention(LINES[0])
    again = pickle.loads(pickle.dumps(seen))
    assert again.source == seen.source and np.array_equal(again.weights, seen.weights)
    assert seen == seen and seen != again and len({seen, again}) == 2


# In a process of its own, because that is what ends.
def script(text, *signals):
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for each in signals:
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(each)
    out, err = process.communicate()
    return process.returncode, out, err


def test_python_ends_while_texts_are_written_and_threads_compute():
    code, out, err = script("""
import attend, threading
text = attend.load("models/shakespeare", threads=1).generate("ROMEO:", max_tokens=800)
next(text)
model = attend.load("models/en-fr", threads=1)
threading.Thread(target=lambda: model.translate(["The house is blue."] * 300), daemon=True).start()
print("end", flush=True)
""")
    assert (code, out, err) == (0, "end\n", "")


def test_interrupts_end_a_translation():
    code, out, _ = script("""
import attend
model = attend.load("models/en-fr", threads=1)
print("begins", flush=True)
try:
    model.translate(["The house is blue."] * 100000, batch=4)
except KeyboardInterrupt:
    print("interrupted", model.translate("The house is blue."))
""", signal.SIGINT)
    assert code == 0 and out.startswith("interrupted La maison")


def test_interrupts_end_a_training_which_goes_on(tmp_path):
    (tmp_path / "text").write_text("one two three four five six seven\n" * 200)
    recipe = {"task": "language-model", "text": [tmp_path / "text"], "valid_text": [tmp_path / "text"], "width": 16,
              "layers": 1, "heads": 2, "block": 16, "batch": np.int64(4), "steps": 10**7, "threads": 1,
              "validate_every": 20, "out": tmp_path / "model"}
    code, out, _ = script(f"""
import attend, signal
from pathlib import PosixPath
before = signal.getsignal(signal.SIGINT)
recipe = {recipe!r}
try:
    attend.train(recipe, on_message=lambda line: print("begins", flush=True) if "steps will" in line else None)
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is before)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("and Python's own handler is back")
""", signal.SIGINT)
    assert code == 0 and out.splitlines()[-2:] == ["interrupted True", "and Python's own handler is back"], out
    saved = attend.train({**recipe, "steps": 1}, resume=True)
    assert saved.task == "generate"


def test_what_is_wrong_is_an_error(translator):
    with pytest.raises(attend.Error, match="no/such/folder"):
        attend.load("no/such/folder")
    with pytest.raises(attend.Error, match="translate"):
        translator.classify("a")
    with pytest.raises(attend.Error, match="beams"):
        translator.translate("a", beams=-1)
    for wrong in ([1], [b"bytes"], ["a", None]):
        with pytest.raises(TypeError, match="not str"):
            translator.translate(wrong)
    with pytest.raises(UnicodeEncodeError):
        translator.translate("half a pair: \ud800")
    with pytest.raises(TypeError):
        translator.detokenize([1.5])
    with pytest.raises(attend.Error, match="task"):
        attend.train({"task": 3})
    with pytest.raises(ValueError):
        attend.train({"learning_rate": float("nan")})
    with pytest.raises(attend.Error):
        translator.generate("a")


def test_arguments_that_are_none_are_named(translator, tmp_path):
    classifier, writer = attend.load("models/bert-sst2"), attend.load("models/shakespeare")
    reader, artist = attend.load("models/bert", task="embed"), attend.load("models/sagan-cifar10")
    finder, image = attend.load("models/detr-scenes"), np.zeros((32, 32, 3), np.uint8)
    for call, name in [
        (lambda: translator.translate("a", beams=2.5), "beams is 2.5, not a whole number"),
        (lambda: translator.translate("a", batch="4"), "batch is '4'"),
        (lambda: translator.translate("a", beams=10**30), f"beams is {10**30}"),
        (lambda: translator.translations("a", n_best=None), "n_best is None"),
        (lambda: translator.translations(["a"]), "line is list, not str"),
        (lambda: translator.attention(3), "line is int, not str"),
        (lambda: translator.tokenize(None), "text is NoneType"),
        (lambda: translator.tokens([1, 2.5]), "id 1 is 2.5"),
        (lambda: translator.detokenize([2**40]), f"id 0 is {2**40}"),
        (lambda: classifier.classify("a", top_k=1.5), "top_k is 1.5"),
        (lambda: reader.embed("a", pooling=3), "pooling is int"),
        (lambda: writer.generate("a", seed=-1), "seed is -1, but must be from 0"),
        (lambda: writer.generate("a", temperature="hot"), "temperature is 'hot', not a number"),
        (lambda: writer.generate(b"a"), "prompt is bytes"),
        (lambda: artist.draw(seed=2**64), f"seed is {2**64}"),
        (lambda: artist.draw(1.0), "count is 1.0"),
        (lambda: artist.draw(label=None), "label is NoneType"),
        (lambda: finder.detect(image, threshold=None), "threshold is None"),
        (lambda: attend.load("models/en-fr", threads="2"), "threads is '2'"),
        (lambda: attend.load("models/en-fr", device=0), "device is int"),
        (lambda: attend.train({"out": str(tmp_path)}, on_message=3), "on_message is int"),
    ]:
        with pytest.raises(TypeError) as wrong:
            call()
        assert str(wrong.value).startswith(name) and len(str(wrong.value)) < 120, str(wrong.value)
    for threshold in (float("nan"), -1, 1.5, float("inf"), np.float32("nan")):
        with pytest.raises(attend.Error, match="threshold"):
            finder.detect(image, threshold=threshold)
    assert translator.translate("a", beams=np.int64(1)) and artist.draw(1, seed=2**64 - 1).shape[0] == 1


def test_names_of_folders_need_not_be_text():
    for name in (b"no\xff", "no\udcff"):
        with pytest.raises(attend.Error, match="no\ufffd"):
            attend.load(name)
    with pytest.raises(ValueError, match="null"):
        attend.load("models/en-fr\0")


def test_arrays_of_any_layout_are_the_same():
    finder = attend.load("models/detr-scenes")
    image = np.arange(48 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(48, 32, 3)
    expected = finder.detect(image, threshold=0)
    wide = np.zeros((96, 64, 6), np.uint8)
    wide[::2, ::2, ::2] = image
    for same in (np.asfortranarray(image), wide[::2, ::2, ::2], image[::-1][::-1], np.ma.array(image)):
        assert finder.detect(same, threshold=0) == expected
    locked = image.copy()
    locked.flags.writeable = False
    assert finder.detect(locked, threshold=0) == expected
    for wrong in (image.astype(np.int8), image.astype(bool), image[..., :2], np.zeros((0, 4, 3), np.uint8),
                  np.zeros((4, 0, 3), np.uint8), image.astype(object), image.view("S1")):
        with pytest.raises(attend.Error):
            finder.detect([wrong])
    assert finder.detect([]) == [] and attend.load("models/flickr8k").describe([]) == []


def test_threads_take_turns_and_python_goes_on(translator):
    alone, answers = translator.translate(LINES[0]), []
    threads = [threading.Thread(target=lambda: answers.append(translator.translate(LINES[0]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [alone] * 4


def test_training_is_heard_and_makes_a_model(tmp_path):
    for name in ("train", "valid"):
        (tmp_path / f"{name}.a").write_text("one two three\nfour five\n" * 20)
        (tmp_path / f"{name}.b").write_text("three two one\nfive four\n" * 20)
    said = []
    model = attend.train({"source": str(tmp_path / "train.a"), "target": str(tmp_path / "train.b"),
                          "valid_source": str(tmp_path / "valid.a"), "valid_target": str(tmp_path / "valid.b"),
                          "out": str(tmp_path / "model"), "preset": "tiny", "vocabulary_size": 280, "steps": 2},
                         on_message=said.append)
    assert said and model.task == "translate"
    assert isinstance(model.translate("one two"), str)
    with pytest.raises(attend.Error, match="out|source"):
        attend.train({"out": str(tmp_path / "other")})


def test_a_run_without_a_model_says_so(tmp_path):
    (tmp_path / "text").write_text("one two three four five six seven\n" * 200)
    recipe = {"task": "language-model", "text": [tmp_path / "text"], "valid_text": [tmp_path / "text"], "width": 16,
              "layers": 1, "heads": 2, "block": 16, "batch": 4, "steps": 40, "validate_every": 40, "save_every": 1,
              "learning_rate": 1e30, "clip_norm": 0, "warmup": 0, "log_every": 1, "out": tmp_path / "model"}
    with pytest.raises(attend.Error, match="not a number"):
        attend.train(recipe)
    with pytest.raises(attend.Error, match="has not been validated.*'steps' must be above"):
        attend.train({**recipe, "steps": 1}, resume=True)


def test_what_a_callback_raises_ends_the_training(tmp_path):
    for name in ("train.a", "train.b"):
        (tmp_path / name).write_text("one two three\nfour five\n" * 20)

    def unhappy(line):
        raise KeyError(line)

    with pytest.raises(KeyError):
        attend.train({"source": str(tmp_path / "train.a"), "target": str(tmp_path / "train.b"),
                      "valid_source": str(tmp_path / "train.a"), "valid_target": str(tmp_path / "train.b"),
                      "out": str(tmp_path / "model"), "preset": "tiny", "vocabulary_size": 280, "steps": 2},
                     on_message=unhappy)
