"""The site of tools/site from a plain file server, under a path of its own. Tests of it are skipped where missing() names something."""
import contextlib
import functools
import http.server
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "web"))
from browser import find_chromium  # noqa: E402

PATH = "a/path/of/its own"


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked = []
    added = ""  # JavaScript behind attend.js, for faults
    stopped = None  # the end of a path, of whose file only the first half is sent

    def log_message(self, *_):
        self.asked.append(self.path)

    def path_without_query(self):
        return self.path.split("?")[0]

    def do_GET(self):
        if not self.added or not self.path_without_query().endswith("/attend.js"):
            return super().do_GET()
        content = pathlib.Path(self.translate_path(self.path)).read_bytes() + self.added.encode()
        self.send_response(200)
        for name, value in (("Content-Type", "text/javascript"), ("Content-Length", str(len(content))), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def copyfile(self, source, output):
        if not self.stopped or not self.path_without_query().endswith(self.stopped):
            return super().copyfile(source, output)
        content = source.read()
        output.write(content[:len(content) // 2])
        output.flush()
        while self.stopped:
            time.sleep(0.05)


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what, flush=True)


def ready(browser, address, seconds=120):
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=address)
    browser.until("document.body && document.body.dataset.ready", seconds)


def missing(wasm):
    if not find_chromium():
        return "Chromium"
    if subprocess.run(["/usr/bin/python3", "-c", "import markdown"], stderr=subprocess.DEVNULL).returncode:
        return "python3-markdown (tools/setup wasm)"
    if not shutil.which("doxygen"):
        return "doxygen (tools/setup wasm)"
    return None if wasm or shutil.which("em++") else "emscripten (tools/setup wasm)"


@contextlib.contextmanager
def served_site(wasm=None):
    """Yields its address, its folder and the server. wasm: a folder with attend.wasm; None: make wasm builds it."""
    if wasm is None:
        subprocess.run(["make", "--no-print-directory", "wasm"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="attend-site-") as scratch:
        folder = pathlib.Path(scratch) / PATH
        subprocess.run([ROOT / "tools" / "site", wasm or ROOT / "build-wasm", folder], check=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=scratch))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{PATH.replace(' ', '%20')}/", folder, server
        finally:
            server.shutdown()
            server.server_close()
