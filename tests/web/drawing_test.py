#!/usr/bin/env python3
"""The page with a model that draws, in a real browser: tests/web/drawing_test.py BUILD/attend. Leaves with 77, "skipped", where
Chromium is absent."""
import base64
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

from browser import Browser, find_chromium, look
from look_test import ask, check

CONFIG = '{"noise_size": 8, "generator_widths": [8, 8, 8], "discriminator_widths": [8, 8]}'


def png(path, colour, size=16):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(colour) * size for _ in range(size))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def train(attend, folder, name, stage):
    subprocess.run([attend, "train", "--task", "draw", "--train", folder / "images", "--out", folder / name, "--steps", "4",
                    "--validate-every", "2", "--image-size", "16", "--batch", "4", "--attention-stage", stage, "--config", CONFIG,
                    "--look", "--port", "0", "--threads", "1"], check=True, capture_output=True)


def test_drawings(browser, address):
    browser.size(1280, 900)
    browser.open(address + "#view=drawings&seed=4")
    grid = ask(address, "api/inspect", {"what": "grid", "seed": 4, "columns": 8})["drawings"]
    shown = browser.js("[...document.querySelectorAll('.drawing-row img')].map(image => image.src)")
    check(shown == [one for row in grid for one in row], "the grid is the engine's drawings")
    browser.js("document.querySelectorAll('.drawing-row button')[9].click()")
    browser.until("location.hash.includes('view=where')")
    browser.until("document.querySelector('canvas[aria-label=\"where a place of the drawing looks\"]')")
    check(browser.js("document.querySelector('main h2').textContent").endswith("green, seed 4, drawing 2"), "a click opens it")


def test_where(browser, address):
    browser.open(address + "#view=where&class=1&seed=4&row=1&query=10")
    layer = ask(address, "api/inspect", {"class": 1, "seed": 4, "row": 1})["attention"][0]
    data = base64.b64decode(layer["weights"])
    weights = [units / 65535 for units in struct.unpack(f"<{len(data) // 2}H", data)]
    heat = browser.js("[...document.querySelector('canvas[aria-label=\"where a place of the drawing looks\"]').heat.weights]")
    check(all(abs(a - b) < 2e-5 for a, b in zip(heat, weights[10 * layer["columns"]:11 * layer["columns"]])), "a place's heat is the engine's")


def test_walk(browser, address):
    browser.open(address + "#view=walk&class=0&toclass=2&seed=1&toseed=9")
    frames = ask(address, "api/inspect", {"what": "walk", "class": 0, "seed": 1, "to_class": 0, "to_seed": 9, "frames": 25})["drawings"]
    large = "document.querySelectorAll('img.large')[0].src"
    check(browser.js(large) == frames[0], "a walk begins with the first seed's drawing")
    browser.js("{ const slider = document.querySelector('input[type=range]'); slider.value = 24; slider.dispatchEvent(new Event('input')); }")
    check(browser.js(large) == frames[24], "and ends with the other's")


def test_film(browser, address):
    browser.open(address + "#view=run")
    browser.until("document.querySelectorAll('.film img').length === 3")
    last = browser.js("document.querySelector('.film img').src")
    browser.js("{ const slider = document.querySelector('input[type=range]'); slider.value = 0; slider.dispatchEvent(new Event('input')); }")
    check(browser.js("document.querySelector('.film img').src") != last, "the film goes back to the beginning")


def test_beside(browser, address):
    browser.open(address + "#view=beside&seed=2")
    other = ask(address, "api/inspect", {"what": "grid", "seed": 2, "columns": 4, "beside": 1})["drawings"]
    shown = browser.js("[...document.querySelectorAll('.columns > .card:last-child .drawing-row img')].map(image => image.src)")
    check(shown == [one for row in other for one in row], "the second model's drawings stand beside")


def main():
    chromium = find_chromium()
    if not chromium:
        print("skipped: no Chromium")
        return 77
    attend = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary, Browser(chromium) as browser:
        folder = pathlib.Path(temporary)
        for name, colour in (("blue", (30, 40, 220)), ("green", (40, 200, 60)), ("red", (220, 40, 30))):
            for i in range(6):
                png(folder / "images" / name / f"{i}.png", [value + i for value in colour])
        train(attend, folder, "with", "1")
        train(attend, folder, "without", "0")
        with look(attend, "--run", str(folder / "with"), "--beside", str(folder / "without")) as address:
            for test in (test_drawings, test_where, test_walk, test_film, test_beside):
                test(browser, address)
            for view in ("run", "drawings", "where", "walk", "beside"):
                for width in (1280, 390):
                    browser.size(width, 900)
                    browser.open(f"{address}#view={view}")
                    check(browser.js("document.documentElement.scrollWidth") <= width, f"{view} fits {width} pixels")
        check(not browser.problems, f"no exceptions: {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
