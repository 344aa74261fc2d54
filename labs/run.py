"""Runs a student's Python file on the cases of stdin: run.py FILE LAB. The file may import files beside it and helpers of the lab.
Arguments are NumPy arrays if there is NumPy, else lists. Each result is one line that begins with "lab"."""
import importlib.util
import json
import pathlib
import sys

try:
    import numpy
except ImportError:
    numpy = None


def given(value):
    if numpy is not None and isinstance(value, list) and value and not isinstance(value[0], str):
        return numpy.array(value)
    return value


def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def number(value):
    """Numbers that JSON does not know: fractions, NumPy's long double."""
    if not hasattr(value, "__float__"):
        raise TypeError(f"a result holds {type(value).__name__}, not numbers")
    return float(value)


def main():
    out, sys.stdout = sys.stdout, sys.stderr  # what the student prints stays apart
    sys.dont_write_bytecode = True
    cases = json.load(sys.stdin)
    sys.path[:0] = [str(pathlib.Path(sys.argv[1]).resolve().parent), sys.argv[2]]
    spec = importlib.util.spec_from_file_location("student", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for case in cases:
        try:
            function = getattr(module, case["function"], None)
            if function is None:
                raise NotImplementedError(f"the file has no function {case['function']}")
            result = function(*[given(value) for value in case["arguments"]])
            line = "json " + json.dumps(plain(result), default=number)
        except Exception as error:  # pylint: disable=broad-except
            line = "error " + f"{type(error).__name__}: {error}".encode(errors="replace").hex()
        print("\nlab", line, file=out, flush=True)  # on a line of its own, and kept if a later case crashes


if __name__ == "__main__":
    main()
