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

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "web"))
from browser import find_chromium  # noqa: E402

PATH = "a/path/of/its own"


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked = []

    def log_message(self, *_):
        self.asked.append(self.path)


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
