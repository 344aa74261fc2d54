#!/usr/bin/env python3
"""attend.wasm under node against the program: tests/wasm/page_test.py BUILD/attend [BUILD-WASM]. The same requests go to both;
tokens, words and labels must be equal, and of f32 models numbers within 1e-4. Builds attend.wasm where no folder is given. Leaves with 77,
"skipped", where emscripten or node is absent."""
import base64
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "web"))
from browser import look  # noqa: E402

CLOSE = 1.01e-4  # answers have four digits behind the point


class Wasm:
    """attend.wasm in a node that answers requests."""

    def __init__(self, folder, models, first):
        self.process = subprocess.Popen(["node", ROOT / "tests/wasm/ask.js", folder, models, first],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, method, path, kind="application/json", body=b""):
        words = {"method": method, "path": path, "type": kind, "body": base64.b64encode(body).decode()}
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["status"], json.loads(answer["body"])

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Program:
    """The same of `attend look`."""

    def __init__(self, address):
        self.address = address

    def ask(self, method, path, kind="application/json", body=b""):
        request = urllib.request.Request(self.address + path[1:], body if method == "POST" else None, {"Content-Type": kind})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def unpacked(text, code):
    data = base64.b64decode(text)
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def differ(a, b, where=""):
    """The first place where two answers differ; None when they do not."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next((found for key in a if (found := differ(a[key], b[key], f"{where}.{key}"))), None)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return next((found for i, (x, y) in enumerate(zip(a, b)) if (found := differ(x, y, f"{where}[{i}]"))), None)
    if a == b:
        return None
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= CLOSE * max(1, abs(a)):
        return None
    if isinstance(a, str) and a.startswith("data:image/"):  # packed in another way
        return None
    if where.endswith(".logits"):
        return differ(unpacked(a, "f"), unpacked(b, "f"), where + " ")
    if re.search(r"\.(heat|weights)(\[\d+\])?$", where):  # shares of 65535
        return differ(*([number / 65535 for number in unpacked(one, "H")] for one in (a, b)), where + " ")
    return f"{where}: {str(a)[:80]} and {str(b)[:80]}"


def answer_of(inspection):
    """What a model says, without its numbers."""
    said = {name: inspection[name] for name in ("source", "target", "tokens", "error") if name in inspection}
    return said | {"text": re.sub(r" \d+ %", "", inspection.get("text", ""))}


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what, flush=True)


class Pair:
    """attend.wasm and the program, asked the same. exact: numbers count, too."""

    def __init__(self, wasm, program, exact):
        self.both, self.exact = (wasm, program), exact

    def ask(self, path, body, kind="application/json"):
        ours, theirs = (one.ask("POST", path, kind, body) for one in self.both)
        found = differ(*(one[1] if self.exact or "error" in one[1] or not path.endswith("inspect") else answer_of(one[1]) for one in (ours, theirs)))
        if found or ours[0] != theirs[0]:
            raise AssertionError(f"{path} {body[:80]}: {ours[0]} {theirs[0]} {found}")
        return ours[1]

    def same(self, path, questions, what):
        others = []
        for body in questions:
            try:
                self.ask(path, json.dumps(body).encode())
            except AssertionError as error:
                others.append(error)
        if len(others) > (0 if self.exact else len(questions) // 30):  # two words as likely as each other
            raise others[0]
        print(f"ok: {len(questions)} {what}", f"but for {len(others)}" if others else "", flush=True)

    def same_images(self, model, images, what):
        count = 0
        for rows in images:
            name = self.ask(f"/models/{model}/api/image", ppm_of(rows), "image/png")["image"]
            self.ask(f"/models/{model}/api/inspect", json.dumps({"image": name}).encode())
            count += 1
        check(count > 0, f"{count} {what}")


def pixels_of(path):
    """Rows of RGB of a PNG with 8 bits a channel, not interlaced: ISO/IEC 15948, sections 7 and 9."""
    data = path.read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    channels = {0: 1, 2: 3}[colour]
    at, packed = 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    raw, step, rows, above = zlib.decompress(packed), width * channels, [], bytes(width * channels)
    for y in range(height):
        kind, row = raw[y * (step + 1)], bytearray(raw[y * (step + 1) + 1:(y + 1) * (step + 1)])
        for i in range(step):
            left, up = row[i - channels] if i >= channels else 0, above[i]
            corner = above[i - channels] if i >= channels else 0
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        above = bytes(row)
        rows.append([tuple(row[i:i + 3]) if channels == 3 else (row[i],) * 3 for i in range(0, step, channels)])
    return rows


def ppm_of(rows):
    return f"P6\n{len(rows[0])} {len(rows)} 255\n".encode() + bytes(value for row in rows for pixel in row for value in pixel)


def pictures(model):
    """The sample images of a model, and mirrored, turned over and darkened."""
    for path in sorted((ROOT / "models" / model / "samples").glob("*.png")):
        rows = pixels_of(path)
        yield from (rows, [row[::-1] for row in rows], rows[::-1], [[tuple(value // 2 for value in pixel) for pixel in row] for row in rows])


def scene(number):
    """A picture of boxes on a gradient, 96 x 96."""
    boxes = [((number * 37 + i * 29) % 64, (number * 53 + i * 41) % 64, 14 + (number + i * 7) % 18) for i in range(3)]
    colours = [(230, 40, 40), (40, 90, 230), (30, 200, 60)]

    def pixel(x, y):
        for (left, top, size), colour in zip(boxes, colours):
            if left <= x < left + size and top <= y < top + size:
                return colour
        return (200 - x, 200 - y, 160)

    return [[pixel(x, y) for x in range(96)] for y in range(96)]


def lines_of(count):
    """Sentences that no model was trained on: made of words that en-fr knows, and long and odd ones."""
    who = ["My sister", "The old man", "Nobody", "Tom's neighbour", "She", "Your friend from Boston"]
    does = ["has lost", "is looking for", "did not buy", "wants to sell", "has forgotten", "will never find"]
    what = ["the red car", "three books", "a letter in French", "his umbrella", "their house by the sea"]
    why = ["because it was raining.", "before the train left.", "yesterday evening.", "although it is late!", "and then went home?"]
    made = [f"{a} {b} {c} {d}" for a in who for b in does for c in what for d in why]
    odd = ["", "a", "Où est la gare ?", "42", "Why???", "The cat " * 12, "naïve café — “quoted”", "\U0001f600 smile"]
    return odd + made[::max(1, len(made) // count)][:count - len(odd)]


def compare(attend, folder, home, exact):
    wasm, lines = Wasm(folder, f"{home}/models", "en-fr"), lines_of(100)
    with look(attend, "--model", "en-fr", folder=home) as address:
        program = Program(address)
        pair = Pair(wasm, program, exact)
        check(wasm.ask("GET", "/api/model") == program.ask("GET", "/api/model"), "the model is described alike")
        check(wasm.ask("GET", "/api/models") == program.ask("GET", "/api/models"), "the same models are offered")
        check(wasm.ask("POST", "/api/inspect", body=b"{")[0] == 400, "a broken request is refused")
        pair.same("/api/inspect", [{"text": line, "beams": 1} for line in lines], "greedy translations")
        pair.same("/api/inspect", [{"text": line, "beams": 4} for line in lines[8:20]], "translations with 4 beams")
        masked = [{"text": f"{who} [MASK] {what}."} for who in ("The dog", "She", "We all") for what in ("in the garden", "to the old house", "her letter")]
        pair.same("/models/bert/api/inspect", masked, "masks filled by bert")
        texts = ("A dull film.", "Moving, funny and short.", "I left before the end.")
        pair.same("/models/bert-sst2/api/inspect", [{"text": text} for text in texts], "texts classified by bert-sst2")
        pair.same("/models/shakespeare/api/inspect", [{"text": text, "tokens": 24} for text in ("To be or", "My lord,", "O Romeo")], "texts continued by shakespeare")
        for model, text in (("dates", "March 3rd, 1999"), ("grammar", "the cats sees"), ("reverse-transformer", "one two three"),
                            ("reverse-rnn-attention", "one two three"), ("reverse-rnn-plain", "one two three"),
                            ("pronouns", "The trophy does not fit because it is too big.")):
            pair.same(f"/models/{model}/api/inspect", [{"text": text}], f"answer of {model}")
        for model in ("vit-cifar10", "vit-fashion-mnist"):
            pair.same_images(model, pictures(model), f"images classified by {model}")
        pair.same_images("detr-scenes", map(scene, range(4)), "images with objects found by detr-scenes")
        pair.same_images("flickr8k", map(scene, range(2)), "images described by flickr8k")
        pair.same("/models/sagan-cifar10/api/inspect", [{"what": "one", "class": 3, "seed": 5, "row": 0}], "image generated by sagan-cifar10")
        pair.same("/api/worked", [{"example": "slide"}], "worked example")
        if exact:
            target = pair.ask("/api/inspect", json.dumps({"text": lines[20], "beams": 1}).encode())["target"]["ids"]
            where = [{"text": lines[20], "target": target, "stack": stack, "kind": kind, "layer": 1, "head": 2, "token": 1}
                     for stack, kind in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross"))]
            pair.same("/api/trace", where, "walks step by step")
            pair.same("/api/output", where[1:], "outputs of a walk")
            pair.same("/api/positions", [{}], "table of positions")
    wasm.close()


def folder_of(arguments):
    """The folder of attend.wasm: the one that was named, or the one that make wasm builds; None, and why, where neither can be."""
    if not shutil.which("node"):
        print("skipped: there is no node here")
    elif len(arguments) > 2:
        return arguments[2]
    elif shutil.which("em++"):
        subprocess.run(["make", "--no-print-directory", "wasm"], cwd=ROOT, check=True)
        return ROOT / "build-wasm"
    else:
        print("skipped: there is no emscripten here (tools/setup wasm)")
    return None


def main():
    attend = str(pathlib.Path(sys.argv[1]).resolve())
    folder = folder_of(sys.argv)
    if not folder:
        return 77
    # The models as they are: integer products, where a last bit may decide between two neighbours as numbers are rounded
    # to eight bits. So what is said must be the same here, and with the same weights as f32 each number too.
    compare(attend, folder, ROOT, exact=False)
    with tempfile.TemporaryDirectory(prefix="attend-wasm-") as scratch:
        for model in sorted((ROOT / "models").iterdir()):
            subprocess.run([attend, "convert", model, "--dtype", "f32", "--out", f"{scratch}/models/{model.name}"], check=True, stdout=subprocess.DEVNULL)
        compare(attend, folder, scratch, exact=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
