"""Exercises that check themselves: lab.py list | start NAME | check FILE. `attend lab` runs this program.

A lab is a folder beside this file:
  lab.json       title, lecture, and the functions that a student writes
  page.md        the explanation
  solution.py, solution.cpp   right answers; `start` hands them out with what is between the marks "hole" and "end" removed
  reference.py   cases(random) yields (function, arguments); a function of the same name computes the right answer, and each
                 function marked with @mistake computes what a known mistake makes of the same arguments
A student's program is run on those cases. Its numbers are compared with the right ones and with those of every known mistake:
the mistake whose numbers agree is named. The source of the program is never read.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 20  # for a student's program
TOLERANCE = 2e-4  # relative; a program may compute in f32
sys.dont_write_bytecode = True


class LabError(Exception):
    """What a student or teacher has to know; printed without a traceback."""


# ---- Known mistakes, as reference.py declares them.
MISTAKES = []


def mistake(function, name, why):
    """Marks what a mistake computes: @mistake("softmax", "softmax over the wrong axis", "Each row ..")."""
    def mark(compute):
        MISTAKES.append({"function": function, "name": name, "why": why, "compute": compute})
        return compute
    return mark


def telling(function, right, candidates, least, most=200):
    """At least `least` of the candidates (lists of arguments), and more until each known mistake of the function differs from the
    right answer and from every other mistake. For functions whose mistakes show in few cases."""
    computes = [right] + [known["compute"] for known in MISTAKES if known["function"] == function]
    alike = {(i, j) for j in range(len(computes)) for i in range(j)}
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


# ---- Small matrices as lists of rows, for references. They need no NumPy.
def matmul(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def transpose(a):
    return [list(column) for column in zip(*a)]


def add(a, b):
    return [[x + y for x, y in zip(one, other)] for one, other in zip(a, b)]


def scaled(a, factor):
    return [[x * factor for x in row] for row in a]


def softmax_row(row):
    top = max(row)
    powers = [math.exp(x - top) for x in row]
    total = sum(powers)
    return [x / total for x in powers]


def softmax(rows):
    return [softmax_row(row) for row in rows]


def matrix(rng, rows, columns, spread=1.0):
    return [[rng.gauss(0, spread) for _ in range(columns)] for _ in range(rows)]


def vector(rng, count, spread=1.0):
    return [rng.gauss(0, spread) for _ in range(count)]


# ---- Values: a text, a list of texts, or numbers with a shape.
def flat(value):
    """(kind, shape, items) of a value; kind is 'text', 'texts' or 'numbers'."""
    if isinstance(value, str):
        return "text", (), [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return "texts", (len(value),), list(value)
    if isinstance(value, dict):  # from a C++ program
        return value["kind"], tuple(value["shape"]), value["items"]
    shape, items = [], [value]
    while items and isinstance(items[0], (list, tuple)):
        if any(not isinstance(item, (list, tuple)) or len(item) != len(items[0]) for item in items):
            return "ragged", (), []
        shape.append(len(items[0]))
        items = [inner for item in items for inner in item]
    try:
        return "numbers", tuple(shape), [float(item) for item in items]
    except (TypeError, ValueError):
        return "unknown", (), []


def written(value):
    """A value as words for a C++ program (lab.h)."""
    kind, shape, items = flat(value)
    if kind in ("text", "texts"):
        return " ".join([kind, str(len(items))] + ["%" + item.encode().hex() for item in items])
    return " ".join([kind, str(len(shape)), *map(str, shape), *(repr(item) for item in items)])


def read(line):
    words = line.split()
    kind, count = words[0], int(words[1])
    if kind in ("text", "texts"):
        items = [bytes.fromhex(word[1:]).decode(errors="replace") for word in words[2:2 + count]]
        return items[0] if kind == "text" else {"kind": "texts", "shape": [count], "items": items}
    shape = [int(word) for word in words[2:2 + count]]
    return {"kind": "numbers", "shape": shape, "items": [float(word) for word in words[2 + count:]]}


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
    sys.modules["lab"] = sys.modules[__name__]
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


# ---- Students' programs.
def start(path, language, folder):
    """Copies the files that a student works on; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name, suffix = name_of(path), {"python": ".py", "c++": ".cpp"}[language]
    source = (path / f"solution{suffix}").read_text(encoding="utf-8")
    mark = "#" if suffix == ".py" else "//"
    hole = re.compile(rf"^( *){mark} hole\n.*?^ *{mark} end\n", re.M | re.S)
    empty = {".py": 'raise NotImplementedError("your code here")', ".cpp": "lab::missing();  // your code here"}[suffix]
    files = {folder / f"{name}{suffix}": hole.sub(lambda match: f"{match[1]}{empty}\n", source),
             folder / f"{name}.md": (path / "page.md").read_text(encoding="utf-8")}
    if suffix == ".cpp":
        files[folder / "lab.h"] = (HERE / "lab.h").read_text(encoding="utf-8")
    if (folder / f"{name}{suffix}").exists():
        raise LabError(f"{folder / (name + suffix)} exists; --out names another folder")
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    return list(files)


def compiled(file, folder):
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise LabError("there is no C++ compiler here (c++, g++ or clang++)")
    program = folder / "program"
    result = subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(HERE), str(file), "-o", str(program)],
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise LabError(f"{file} does not compile:\n{result.stderr[:3000]}")
    return [str(program)]


def results_of(file, cases, folder):
    """What the student's program makes of each case: {"value"} or {"error"}."""
    if file.suffix == ".py":
        command, text = [sys.executable, str(HERE / "run.py"), str(file)], json.dumps(
            [{"function": case["function"], "arguments": case["arguments"]} for case in cases])
    elif file.suffix in (".cpp", ".cc", ".cxx"):
        command = compiled(file, folder)
        text = "".join(f"{case['function']} {len(case['arguments'])}\n"
                       + "".join(written(value) + "\n" for value in case["arguments"]) for case in cases)
    else:
        raise LabError(f"{file}: a lab is a .py or a .cpp file")
    try:
        result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{file} did not end within {SECONDS} s; is there a loop without an end?") from error
    lines = [line[4:] for line in result.stdout.splitlines() if line.startswith("lab ")]
    if result.returncode and not lines:
        raise LabError(f"{file} failed:\n{(result.stderr or result.stdout)[-2000:]}")
    found = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "error":
            found.append({"error": bytes.fromhex(rest).decode(errors="replace")})
        else:
            found.append({"value": json.loads(rest) if word == "json" else read(rest)})
    last = result.stderr.strip().splitlines()[-1:] or [f"exit code {result.returncode}"]
    return found + [{"error": f"the program ended before this case: {last[0]}"}] * (len(cases) - len(found))


# ---- What is wrong, by the numbers.
def place(shape, index):
    places = []
    for size in reversed(shape):
        places.append(index % size)
        index //= size
    return "".join(f"[{at}]" for at in reversed(places))


def shown(value):
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def shape_text(value):
    kind, shape, items = flat(value)
    if kind == "text":
        return repr(items[0])
    if kind == "texts":
        return f"{len(items)} texts"
    return "[" + ", ".join(map(str, shape)) + "]" if shape else shown(items[0]) if items else kind


def difference(got, right):
    """The first number or text that differs, in words."""
    kind, shape, items = flat(got)
    right_kind, right_shape, wanted = flat(right)
    if kind in ("ragged", "unknown") or (kind != right_kind and items and wanted):
        return f"the result is {kind}, but should be {right_kind} {shape_text(right)}"
    if shape != right_shape:
        detail = f": {items} instead of {wanted}" if kind == "texts" or right_kind == "texts" else ""
        return f"the result has the shape {list(shape)}, but should have {list(right_shape)}{detail}"
    compare = same_number if kind == "numbers" else (lambda a, b: a == b)
    wrong = [i for i, (a, b) in enumerate(zip(items, wanted)) if not compare(a, b)]
    first = wrong[0]
    return (f"result{place(shape, first)} is {shown(items[first])}, but should be {shown(wanted[first])}"
            f" (the first of {len(wrong)} of {len(items)} that differ)")


def pattern(gots, rights):
    """A mistake that no reference lists, but that shows in the numbers: a factor, a sign, an offset, a transposed result."""
    pairs = []
    for got, right in zip(gots, rights):
        kind, shape, items = flat(got)
        right_kind, right_shape, wanted = flat(right)
        if kind != "numbers" or right_kind != "numbers":
            return None
        if any(math.isnan(x) or math.isinf(x) for x in items):
            return ("numbers that are not finite", "There is nan or inf in the result: a division by 0, the log of 0, or exp of a large"
                    " number. Subtract the largest number before exp.")
        if len(shape) == 2 and shape == right_shape[::-1] and shape != right_shape:
            columns = [wanted[r * right_shape[1] + c] for c in range(right_shape[1]) for r in range(right_shape[0])]
            if all(map(same_number, items, columns)):
                return ("the result is transposed", "Its rows are the columns of the right one.")
        if shape != right_shape:
            return None
        pairs += zip(items, wanted)
    large = [(a, b) for a, b in pairs if abs(b) > 1e-3]
    if not large:
        return None
    factor = large[0][0] / large[0][1]
    if all(abs(a - factor * b) <= TOLERANCE * max(1.0, abs(a)) for a, b in pairs):
        if abs(factor) < 1e-9:
            return ("all numbers are 0", "Is the result ever written?")
        return ("a constant factor", f"Every number is {factor:.6g} times the right one.")
    offset = pairs[0][0] - pairs[0][1]
    if all(same_number(a - offset, b) for a, b in pairs):
        return ("a constant offset", f"Every number is {offset:.6g} too large.")
    return None


def matching(cases, results, why):
    """Names of the known mistakes whose results agree with all that the student's program returned, best first."""
    names = []
    for name in why:
        told = False
        for case, result in zip(cases, results):
            if name not in case["wrong"]:
                continue
            wrong = case["wrong"][name]
            if "error" in result or not finite(result["value"]):  # NumPy has nan where Python has an exception
                agrees = wrong is None
            else:
                agrees = wrong is not None and same(result["value"], wrong)
            if not agrees:
                break
            told |= wrong is None or not same(wrong, case["right"])
        else:
            if told:
                names.append(name)
    return names


def judged(cases, results, why):
    """One entry per function that is wrong: {function, where, name, why}."""
    findings = []
    for function in dict.fromkeys(case["function"] for case in cases):
        own = [i for i, case in enumerate(cases) if case["function"] == function]
        bad = [i for i in own if "error" in results[i] or not same(results[i]["value"], cases[i]["right"])]
        if not bad:
            continue
        first = cases[bad[0]]
        inputs = ", ".join(shape_text(value) for value in first["arguments"])
        result = results[bad[0]]
        where = f"{function}({inputs}): " + (result["error"] if "error" in result else difference(result["value"], first["right"]))
        mine, answers = [cases[i] for i in own], [results[i] for i in own]
        names = matching(mine, answers, why)
        if names:
            name, reason = names[0], why[names[0]]
        elif all("value" in answer for answer in answers):
            found = pattern([answer["value"] for answer in answers], [case["right"] for case in mine])
            name, reason = found or (None, None)
        else:
            name, reason = None, None
        findings.append({"function": function, "where": where, "name": name, "why": reason, "bad": len(bad), "of": len(own)})
    return findings


def check(path, file, seed):
    cases, why = reference(path, seed)
    with tempfile.TemporaryDirectory() as folder:
        return cases, judged(cases, results_of(file, cases, pathlib.Path(folder)), why)


# ---- Commands.
def command_list(options):
    for path in labs(options.labs):
        about = manifest(path)
        print(f"{name_of(path):<12} {about['title']}\n{'':<12} {about['lecture']}")
    print("\nattend lab start softmax          # a Python file with holes, and a page that explains"
          "\nattend lab start softmax --cpp    # the same in C++\nattend lab check softmax.py")


def command_start(options):
    path = find_lab(options.name, options.labs)
    files = start(path, "c++" if options.cpp else "python", pathlib.Path(options.out))
    print("wrote " + ", ".join(map(str, files)))
    print(f"Read {files[1]}, fill the holes in {files[0]}, then run: attend lab check {files[0]}")


def command_check(options):
    file = pathlib.Path(options.file)
    if not file.is_file():
        raise LabError(f"there is no file {file}")
    path = find_lab(options.lab or file.stem, options.labs)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 10000)
    cases, findings = check(path, file, seed)
    if not findings:
        functions = ", ".join(dict.fromkeys(case["function"] for case in cases))
        print(f"passed: {functions} on {len(cases)} random cases")
        return 0
    for finding in findings:
        print(f"not right yet: {finding['bad']} of {finding['of']} cases of {finding['function']}")
        print(f"  {finding['where']}")
        if finding["name"]:
            print(f"  mistake: {finding['name']}. {finding['why']}")
    print(f"repeat with: attend lab check {file} --seed {seed}")
    return 1


def main():
    parser = argparse.ArgumentParser(prog="attend lab", description="Exercises that check themselves.")
    parser.add_argument("--labs", type=pathlib.Path, default=HERE, help="the folder with the labs")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list").set_defaults(run=command_list)
    begin = commands.add_parser("start")
    begin.add_argument("name")
    begin.add_argument("--cpp", action="store_true")
    begin.add_argument("--out", default=".")
    begin.set_defaults(run=command_start)
    judge = commands.add_parser("check")
    judge.add_argument("file")
    judge.add_argument("--lab")
    judge.add_argument("--seed", type=int)
    judge.set_defaults(run=command_check)
    options = parser.parse_args()
    try:
        return options.run(options) or 0
    except BrokenPipeError:  # the reader has closed, as head does
        sys.stderr.close()
        return 1
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
