#!/usr/bin/env python3
"""Starts attend serve and asks it with the npm clients of package-lock.json: run.py PROGRAM

`npm ci` in this folder fetches them (tests never do). Without node or without them it says so and exits with 77: skipped."""
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ["en-fr", "bert", "bert-sst2", "shakespeare", "vit-cifar10"]


def png():
    """32 x 32 pixels of colour."""
    rows = b"".join(b"\0" + bytes((x * 8, y * 8, (x + y) * 4)[c] for x in range(32) for c in range(3)) for y in range(32))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    if not shutil.which("node"):
        print("serve_clients: SKIPPED, there is no node here")
        return 77
    if not (HERE / "node_modules").is_dir():
        print("serve_clients: SKIPPED, the clients are not here: run npm ci in tests/serve_clients")
        return 77
    command = [sys.argv[1], "serve", "--port", "0", "--access-log", "none"]
    for model in MODELS:
        command += ["--model", str(ROOT / "models" / model)]
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder) / "image.png"
        image.write_bytes(png())
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = re.search(r"http://\S+?:\d+", server.stdout.readline())[0]
            code = subprocess.run(["node", HERE / "clients_test.mjs", url, image], cwd=HERE, timeout=240).returncode
        finally:
            server.send_signal(signal.SIGTERM)
            ended = server.wait(timeout=40)
    if ended != 0:
        print(f"serve_clients: the server ended with {ended}, not 0")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
