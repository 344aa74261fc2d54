#!/usr/bin/env python3
"""Whether attend.wasm says what the program says: tests/wasm/equal_test.py BUILD/attend [BUILD-WASM]. 500 sentences by en-fr, greedy, and 100
images each by vit-cifar10 and detr-scenes, with the bundled int8 weights and with the same weights as f32.

With f32 all must be equal. With int8 a difference in the last bit, which the missing fused multiply-add of WebAssembly makes, may round one
activation to its other neighbour among 255. So a sentence may differ where two tokens are nearly as likely: the program's own gap between
their logits is printed, and must be below GAP. Leaves with 77, "skipped", where emscripten or node is absent."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_test import ROOT, Program, Wasm, folder_of, lines_of, pictures, ppm_of, scene  # noqa: E402
from browser import look  # noqa: E402

GAP = 0.2  # nats
SENTENCES, IMAGES = 500, 100


def first_difference(ours, theirs):
    """Where two token sequences part, and the logit gap of the two tokens there for the program; None when they are equal."""
    a, b = ours["target"]["ids"], theirs["target"]["ids"]
    if a == b:
        return None
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    chances = {one["id"]: one["probability"] for one in theirs["steps"][at]["candidates"]}
    other = chances.get(a[at], 0)
    return at, math.log(chances[b[at]] / other) if other > 0 else math.inf


def sentences(wasm, program):
    gaps = []
    for line in lines_of(SENTENCES):
        body = json.dumps({"text": line, "beams": 1}).encode()
        ours, theirs = (one.ask("POST", "/api/inspect", body=body)[1] for one in (wasm, program))
        if "error" not in theirs and (found := first_difference(ours, theirs)):
            gaps.append(found[1])
            print(f"   token {found[0] + 1}, gap {found[1]:.3f}: {ours['text']} | {theirs['text']}", flush=True)
    return gaps


SHOWN, NEARLY = 0.5, 0.05  # the score from which a page shows a box, and how near to it is undecided


def found_in(box, boxes):
    """The same thing at the same place, to a fiftieth of the image, that is shown or nearly."""
    return any(box["text"] == other["text"] and other["score"] > SHOWN - NEARLY and max(abs(x - y) for x, y in zip(box["box"], other["box"])) <= 0.02
               for other in boxes)


def same(ours, theirs):
    """The same label, or each box that is surely shown by one is found by the other."""
    if "boxes" not in ours:
        return ours["labels"][0]["text"] == theirs["labels"][0]["text"]
    return all(found_in(box, others) for boxes, others in ((ours["boxes"], theirs["boxes"]), (theirs["boxes"], ours["boxes"]))
               for box in boxes if box["score"] > SHOWN + NEARLY)


def images(wasm, program, model):
    source = list(pictures(model))[:IMAGES]
    source += [scene(number) for number in range(IMAGES - len(source))]
    others = 0
    for rows in source:
        said = []
        for one in (wasm, program):
            name = one.ask("POST", f"/models/{model}/api/image", "image/png", ppm_of(rows))[1]["image"]
            said.append(one.ask("POST", f"/models/{model}/api/inspect", body=json.dumps({"image": name}).encode())[1])
        if not same(*said):
            others += 1
            print("  ", *([(box["text"], round(box["score"], 2)) for box in one["boxes"] if box["score"] > 0.3] if "boxes" in one else one["labels"][:2] for one in said))
    return others


def compare(attend, folder, home, weights):
    wasm, wrong = Wasm(folder, f"{home}/models", "en-fr"), []
    with look(attend, "--model", "en-fr", folder=home) as address:
        program = Program(address)
        gaps = sentences(wasm, program)
        print(f"{weights}: {SENTENCES - len(gaps)} of {SENTENCES} sentences are equal" + (f", the largest gap is {max(gaps):.3f}" if gaps else ""), flush=True)
        if any(gap > (0 if weights == "f32" else GAP) for gap in gaps):
            wrong.append("sentences")
        for model in ("vit-cifar10", "detr-scenes"):
            others = images(wasm, program, model)
            print(f"{weights}: {IMAGES - others} of {IMAGES} images are equal, {model}", flush=True)
            if others > (0 if weights == "f32" else IMAGES // 50):
                wrong.append(model)
    wasm.close()
    return wrong


def main():
    attend, folder = str(pathlib.Path(sys.argv[1]).resolve()), folder_of(sys.argv)
    if not folder:
        return 77
    wrong = compare(attend, folder, ROOT, "int8")
    with tempfile.TemporaryDirectory(prefix="attend-wasm-") as scratch:
        for model in ("en-fr", "vit-cifar10", "detr-scenes"):
            subprocess.run([attend, "convert", ROOT / "models" / model, "--dtype", "f32", "--out", f"{scratch}/models/{model}"], check=True, stdout=subprocess.DEVNULL)
        wrong += compare(attend, folder, scratch, "f32")
    print("differ:" if wrong else "ok", *wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
