"""Exercises that check themselves: python3 labs list | start NAME | check FILE. `attend lab` runs this program.

A student's program is run on the cases of a lab. Its numbers are compared with the right ones and with those of every known
mistake: the mistake whose numbers agree is named. The source of the program is never read.
"""
import argparse
import pathlib
import random
import sys

from judge import judged
from lab import HERE, LabError, find_lab, labs, manifest, name_of, reference
from program import results_of, start

def check(path, file, seed):
    """The cases of a lab, and what is wrong with a file's answers to them."""
    cases, why = reference(path, seed)
    return cases, judged(cases, results_of(path, file, cases), why)


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
