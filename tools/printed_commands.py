"""Commands that documents print: finding them in the text and running them as a reader would, in a temporary folder with
links to this tree. tools/check-docs and tools/check-lectures use it."""
import contextlib
import pathlib
import re
import subprocess
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pieces_of(text):
    """(line, code) for every line of a code block and every span of code."""
    lines, block, continued = text.split("\n"), False, None
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            block = not block
            lines[number - 1] = ""
        elif block:
            lines[number - 1] = ""
            start, code = continued or (number, "")
            code += re.sub(r"(^|\s)# .*", "", line)
            continued = (start, code[:-1]) if code.endswith("\\") else None
            if not continued:
                yield start, code, True
    prose = "\n".join(lines)
    for match in re.finditer(r"`([^`]+)`", prose):
        yield prose.count("\n", 0, match.start()) + 1, " ".join(match[1].split()), False


@contextlib.contextmanager
def reader_folder(program):
    """A folder like a checkout whose build is done: commands leave nothing in this tree."""
    with tempfile.TemporaryDirectory(prefix="attend-docs-") as name:
        folder = pathlib.Path(name)
        for entry in ("models", "recipes", "docs", "examples"):
            (folder / entry).symlink_to(ROOT / entry)
        (folder / "build").symlink_to(program.parent)
        yield folder


def is_server(command):
    return re.match(r"(?:build/)?attend (?:look|serve)\b", command) and not re.search(r"--(?:help|export|png|svg)\b", command)


def answers(command, folder, environment=None):
    """Whether a server starts, at any free port, and sends its first page; else the reason."""
    address = "/health" if " serve" in command else "/"
    server = subprocess.Popen(["bash", "-c", f"exec {command} --port 0"], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = server.stdout.readline()
        place = re.search(r"http://[\w.:]+", line)
        if not place:
            return line.strip() or "it printed no address"
        with urllib.request.urlopen(place[0] + address, timeout=20) as answer:
            return "" if answer.status == 200 else f"HTTP {answer.status}"
    except OSError as error:
        return str(error)
    finally:
        server.terminate()
        server.wait(60)


def run(command, folder, environment=None):
    """Runs one command; why it failed, or an empty string."""
    if is_server(command):
        return answers(command, folder, environment)
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=1200)
    except subprocess.TimeoutExpired:
        return "it did not end in time"
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
