"""Debian's Firefox without a screen, driven by Marionette: JSON messages with their length in front, over a local socket. It has the
calls of browser.Browser that tests of both use."""
import base64
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time


def find_firefox():
    return next((path for name in ("firefox-esr", "firefox") if (path := shutil.which(name))), None)


class Firefox:
    """One page. Use as a context manager."""

    def __init__(self, program):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="attend-firefox-"))
        settings = {"marionette.port": 0, "datareporting.policy.dataSubmissionEnabled": False, "browser.shell.checkDefaultBrowser": False,
                    "app.update.disabledForTesting": True, "network.captive-portal-service.enabled": False,
                    "network.connectivity-service.enabled": False, "toolkit.telemetry.enabled": False}
        (self.profile / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()))
        self.process = subprocess.Popen([program, "--headless", "--marionette", "--no-remote", "--profile", self.profile, "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket, self.buffer, self.count, self.problems = self.connect(), b"", 0, []
        self.message()  # it greets
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        self.call("WebDriver:SetTimeouts", script=600000, pageLoad=120000)

    def connect(self, seconds=90):
        port, end = self.profile / "MarionetteActivePort", time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                return socket.create_connection(("127.0.0.1", int(port.read_text())))
            time.sleep(0.1)
        self.process.kill()
        raise RuntimeError("Firefox does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call("Marionette:Quit", flags=["eForceQuit"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
        self.socket.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while True:
            length, colon, rest = self.buffer.partition(b":")
            if colon and len(rest) >= int(length):
                self.buffer = rest[int(length):]
                return json.loads(rest[:int(length)])
            more = self.socket.recv(1 << 16)
            if not more:
                raise RuntimeError("the browser is gone")
            self.buffer += more

    def call(self, method, **params):
        self.count += 1
        text = json.dumps([0, self.count, method, params]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self.message()
        if error:
            raise RuntimeError(f"{method}: {error['message']}")
        return result

    def size(self, width, height, dark=False):
        del dark  # as the system has it
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def go(self, address):
        self.call("WebDriver:Navigate", url=address)

    def js(self, expression):
        script = ("const done = arguments[1]; window.eval(`(async () => JSON.stringify(await (${arguments[0]})) ?? 'null')()`)"
                  ".then(text => done({ text }), error => done({ error: String(error) }))")
        answer = self.call("WebDriver:ExecuteAsyncScript", script=script, args=[expression])["value"]
        if "error" in answer:
            raise RuntimeError(f"{expression}: {answer['error']}")
        return json.loads(answer["text"])

    def until(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(RuntimeError):
                if value := self.js(expression):
                    return value
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}")

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))
