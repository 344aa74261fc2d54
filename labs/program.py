"""Students' programs: the files that they begin with, and what their functions return."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from lab import HERE, LabError, manifest, name_of
from values import read, written

SECONDS = 20  # for a student's program


def helpers(path, suffix):
    """Files that a lab builds on, from its own folder or from beside lab.py."""
    for name in manifest(path).get("helpers", []):
        own = path / (name + suffix)
        yield own if own.is_file() else HERE / (name + suffix)


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
    for file in helpers(path, suffix) if suffix == ".py" else [HERE / "lab.h", *helpers(path, ".h")]:
        files[folder / file.name] = file.read_text(encoding="utf-8")
    if (folder / f"{name}{suffix}").exists():
        raise LabError(f"{folder / (name + suffix)} exists; --out names another folder")
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    return list(files)


def compiled(path, file, folder):
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise LabError("there is no C++ compiler here (c++, g++ or clang++)")
    program = folder / "program"
    result = subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(path), "-I", str(HERE), str(file), "-o", str(program)],
                            capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        raise LabError(f"{file} does not compile:\n{result.stderr[:3000]}")
    return [str(program)]


def results_of(path, file, cases):
    """What the student's program makes of each case: {"value"} or {"error"}."""
    if file.suffix == ".py":
        text = json.dumps([{"function": case["function"], "arguments": case["arguments"]} for case in cases])
        return answers([sys.executable, str(HERE / "run.py"), str(file), str(path)], text, file, len(cases))
    if file.suffix not in (".cpp", ".cc", ".cxx"):
        raise LabError(f"{file}: a lab is a .py or a .cpp file")
    text = "".join(f"{case['function']} {len(case['arguments'])}\n"
                   + "".join(written(value) + "\n" for value in case["arguments"]) for case in cases)
    with tempfile.TemporaryDirectory() as folder:
        return answers(compiled(path, file, pathlib.Path(folder)), text, file, len(cases))


def answers(command, text, file, count):
    """Runs a program on cases, and reads the lines that begin with "lab"."""
    try:
        result = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{file} did not end within {SECONDS} s; is there a loop without an end?") from error
    ended = f"signal {-result.returncode}" if result.returncode < 0 else f"exit code {result.returncode}"
    lines = [line[4:] for line in result.stdout.splitlines() if line.startswith("lab ")]
    if result.returncode and not lines:
        raise LabError(f"{file} failed: {ended}\n{(result.stderr or result.stdout)[-2000:]}".rstrip())
    found = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "error":
            found.append({"error": bytes.fromhex(rest).decode(errors="replace")})
        else:
            found.append({"value": json.loads(rest) if word == "json" else read(rest)})
    last = result.stderr.strip().splitlines()[-1:] or [ended]
    return found + [{"error": f"the program ended before this case: {last[0]}"}] * (count - len(found))
