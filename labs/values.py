"""Arguments and results of students' functions: a text, a list of texts, or numbers with a shape."""
import math
from typing import NamedTuple

TOLERANCE = 2e-4  # relative; a program may compute in f32


class Flat(NamedTuple):
    """A value as a list of its items, row after row."""
    kind: str  # text, texts or numbers; ragged and unknown are errors of the student
    shape: tuple = ()
    items: list = []


def number(item):
    try:
        return float(item)
    except OverflowError:  # of an integer
        return math.inf if item > 0 else -math.inf


def flat(value):
    if isinstance(value, Flat):
        return value
    if isinstance(value, str):
        return Flat("text", (), [value])
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return Flat("texts", (len(value),), list(value))
    shape, items = [], [value]
    while items and isinstance(items[0], (list, tuple)):
        if any(not isinstance(item, (list, tuple)) or len(item) != len(items[0]) for item in items):
            return Flat("ragged")
        shape.append(len(items[0]))
        items = [inner for item in items for inner in item]
    if not all(isinstance(item, (bool, int, float)) for item in items):
        return Flat("unknown")
    return Flat("numbers", tuple(shape), [number(item) for item in items])


def written(value):
    """A value as words for a C++ program (lab.h)."""
    kind, shape, items = flat(value)
    if kind in ("text", "texts"):
        return " ".join([kind, str(len(items))] + ["%" + item.encode().hex() for item in items])
    return " ".join([kind, str(len(shape)), *map(str, shape), *(repr(item) for item in items)])


def read(line):
    """A value of a C++ program."""
    words = line.split()
    kind, count = words[0], int(words[1])
    if kind in ("text", "texts"):
        items = [bytes.fromhex(word[1:]).decode(errors="replace") for word in words[2:2 + count]]
        return items[0] if kind == "text" else Flat("texts", (count,), items)
    shape = tuple(int(word) for word in words[2:2 + count])
    return Flat("numbers", shape, [float(word) for word in words[2 + count:]])


def same_number(one, other):
    if math.isnan(one) or math.isnan(other) or math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= TOLERANCE * max(1.0, abs(other))


def finite(value):
    kind, _, items = flat(value)
    return kind != "numbers" or not any(math.isnan(item) or math.isinf(item) for item in items)


def same(one, other):
    kind, shape, items = flat(one)
    other_kind, other_shape, others = flat(other)
    if kind != other_kind and not (not items and not others):
        return False
    if shape != other_shape or len(items) != len(others):
        return False
    compare = same_number if kind == "numbers" else (lambda a, b: a == b)
    return all(compare(a, b) for a, b in zip(items, others))
