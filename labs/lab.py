"""What a lab is, and what its reference.py imports.

A lab is a folder beside this file:
  lab.json       title, lecture, the functions that a student writes, and helpers: names of files that a student gets, too
  page.md        the explanation
  solution.py, solution.cpp   right answers; `start` hands them out with what is between the marks "hole" and "end" removed
  reference.py   cases(random) yields (function, arguments); a function of the same name computes the right answer, and each
                 function marked with @mistake computes what a known mistake makes of the same arguments
"""
import importlib.util
import json
import pathlib
import random
import re
import sys

from values import same

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


class LabError(Exception):
    """What a student or teacher has to know; printed without a traceback."""


# ---- For references.
MISTAKES = []


def mistake(function, name, why):
    """Marks what a mistake computes: @mistake("softmax", "softmax over the wrong axis", "Each row ..")."""
    def mark(compute):
        MISTAKES.append({"function": function, "name": name, "why": why, "compute": compute})
        return compute
    return mark


def telling(function, right, candidates, least, most=200, rivals=()):
    """At least `least` of the candidates (lists of arguments), and more until each known mistake of the function differs from the
    right answer and from every other mistake, and the right answer from rivals that have no name. For functions whose mistakes
    show in few cases."""
    computes = [right] + [known["compute"] for known in MISTAKES if known["function"] == function]
    alike = {(i, j) for j in range(len(computes)) for i in range(j)} | {(0, len(computes) + i) for i in range(len(rivals))}
    computes += rivals
    for number, arguments in enumerate(candidates, 1):
        results = [attempted(compute, arguments) for compute in computes]
        apart = {(i, j) for i, j in alike if (results[i] is None) != (results[j] is None)
                 or results[i] is not None and not same(results[i], results[j])}
        if number <= least or apart:
            yield function, arguments
        alike -= apart
        if number >= least and (not alike or number >= most):
            return


def attempted(compute, arguments):
    """What a mistake computes; None if it fails on these arguments."""
    try:
        return compute(*arguments)
    except (ArithmeticError, IndexError, ValueError):
        return None


def matrix(rng, rows, columns, spread=1.0):
    return [[rng.gauss(0, spread) for _ in range(columns)] for _ in range(rows)]


def vector(rng, count, spread=1.0):
    return [rng.gauss(0, spread) for _ in range(count)]


# ---- Labs and their cases.
def labs(folder=HERE):
    found = []
    for path in sorted(folder.iterdir()):
        if (path / "lab.json").is_file():
            found.append(path)
    return found


def name_of(path):
    return re.sub(r"^\d+-", "", path.name)


def find_lab(name, folder=HERE):
    for path in labs(folder):
        if name in (name_of(path), path.name):
            return path
    raise LabError(f"there is no lab '{name}'; `attend lab list` shows them")


def manifest(path):
    try:
        return json.loads((path / "lab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"{path / 'lab.json'}: {error}") from error


def reference(path, seed):
    """[{function, arguments, right, wrong: {mistake: value}}], and {mistake: why}."""
    MISTAKES.clear()
    spec = importlib.util.spec_from_file_location(f"reference_{path.name}", path / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = []
    for function, arguments in module.cases(random.Random(seed)):
        right = getattr(module, function)(*arguments)
        wrong = {}
        for known in MISTAKES:
            if known["function"] == function:
                wrong[known["name"]] = attempted(known["compute"], arguments)
        cases.append({"function": function, "arguments": arguments, "right": right, "wrong": wrong})
    return cases, {known["name"]: known["why"] for known in MISTAKES}
