"""Debian's Chromium driven over a pipe (--remote-debugging-pipe: JSON messages that end in a zero byte), and a running
`attend look` to point it at. The standard library is all it needs."""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page. Use as a context manager."""

    def __init__(self, chromium):
        self.profile = tempfile.mkdtemp(prefix="attend-look-")
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()
        # The browser wants its ends as 3 and 4; the shell moves them there.
        script = f'exec "$0" "$@" 3<&{command_read} 4>&{answer_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
             "about:blank"],
            pass_fds=(command_read, answer_write), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.buffer, self.count, self.session = b"", 0, None
        self.problems = []
        self.tab = None
        self.new_tab()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        if self.process.poll() is None:
            self.process.kill()
        shutil.rmtree(self.profile, ignore_errors=True)

    def new_tab(self):
        """In place of the one before, which is closed."""
        self.session, before = None, self.tab
        self.tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.call("Target.closeTarget", targetId=before)
        self.session = self.call("Target.attachToTarget", targetId=self.tab, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")

    def drop(self, *paths):
        """Files or folders of this machine, dropped onto the page by a mouse."""
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=300, y=300, data=data)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                more = os.read(self.answers, 1 << 16)
                if not more:
                    raise RuntimeError("the browser is gone")
                self.buffer += more
            text, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 700)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until("document.body && document.body.dataset.ready")

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(RuntimeError):
                if value := self.js(expression):
                    return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {expression}; {self.problems}")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def look(attend, *arguments, folder=None):
    """The address of a running `attend look`, started in this folder."""
    process = subprocess.Popen([attend, "look", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        yield re.search(r"http://[\d.:]+/", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait(10)
