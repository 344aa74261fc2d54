#!/usr/bin/env python3
"""The page with a model that looks at images, in a real browser: tests/web/image_test.py BUILD/attend. Leaves with 77,
"skipped", where Chromium is absent."""
import base64
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zlib

from browser import Browser, find_chromium, look
from look_test import ask, check, check_sizes, click, link, text_of
from model_folders import make_vit

VIEWS = ("image", "rollout", "steps", "positions", "ablate")


def png(width, height, colour):
    """An image of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def shares(text):
    data = base64.b64decode(text)
    return [units / 65535 for units in struct.unpack(f"<{len(data) // 2}H", data)]


def packed(values):
    return base64.b64encode(struct.pack(f"<{len(values)}H", *[round(65535 * value) for value in values])).decode()


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 2e-5 for x, y in zip(a, b))


def shown_heat(browser, label="attention over the image"):
    return browser.js(f"[...document.querySelector('canvas[aria-label=\"{label}\"]').heat.weights]")


def test_heads(browser, address):
    browser.size(1280, 900)
    browser.open(address)
    answer = ask(address, "api/inspect", {"image": "cat"})
    check(text_of(browser, "translation") == answer["text"], "the label is shown")
    shown = browser.js("[...document.querySelectorAll('.labels .number')].map(n => Number(n.textContent))")
    check(shown == [label["probability"] for label in answer["labels"]], "with all probabilities")
    click(browser, '[data-head="1 2"]')
    heat = shares(answer["attention"][1]["heat"])
    check(near(shown_heat(browser), heat[2 * 196:3 * 196]), "a head's heat is the engine's")
    browser.open(link(browser, "layer=1"))
    check(near(shown_heat(browser), heat[2 * 196:3 * 196]), "a link restores the view")
    browser.js("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
    browser.until("document.querySelector('[aria-label=head] .on').textContent === '4'")
    check(near(shown_heat(browser), heat[3 * 196:]), "an arrow key goes to the next head")
    # Who is looked at from a patch under the mouse: row 3, column 5 of 14 x 14.
    layer = ask(address, "api/attention", {"image": "cat", "layer": 1})
    row = shares(layer["weights"])[(3 * 197 + 1 + 2 * 14 + 4) * 197:][:197]
    browser.until("""(() => { const canvas = document.querySelector('canvas[aria-label="attention over the image"]'), edge = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: edge.left, clientY: edge.top}));
      canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: edge.left + 4.5 / 14 * edge.width, clientY: edge.top + 2.5 / 14 * edge.height}));
      return document.getElementById('looked').textContent.startsWith('The patch in row 3, column 5'); })()""")
    check(near(shown_heat(browser), row[1:]), "pointing at a patch shows where it looks")
    svg = browser.js("import('look/draw').then(draw => draw.svgText(document.querySelector('.figure .seen')))")
    check(svg.startswith("<svg") and "data:image/png" in svg and "var(" not in svg, "an image stands alone as SVG")


def test_other_views(browser, address):
    answer = ask(address, "api/inspect", {"image": "boat"})
    browser.open(f"{address}#view=rollout&image=boat")
    check(near(shown_heat(browser, "attention rollout"), shares(answer["rollout"]["weights"])), "rollout is the engine's")
    browser.open(f"{address}#view=steps&image=boat&layer=2&head=1&token=30")
    walk = ask(address, "api/trace", {"image": "boat", "layer": 2, "head": 1, "token": 30})
    softmax = next(step for step in walk["steps"] if step["name"] == "softmax")
    check(f"class {softmax['values'][0]:.4f}" in browser.js("document.querySelector('[data-step=softmax]').textContent"), "the walk shows the engine's softmax")
    check("attend/models/vit.cpp:" in browser.js("document.querySelector('[data-step=x]').textContent"), "a step names its line of code")
    browser.open(f"{address}#view=positions&image=boat")
    check(browser.js("document.querySelector('canvas[aria-label=\"likeness of positions\"]').width") == 14 * 15 + 1, "there is a tile for each position")
    browser.open(f"{address}#view=ablate&image=boat")
    click(browser, '[data-head="encoder self 2 0"]')
    browser.js("""(() => { const box = document.querySelector('canvas[aria-label="hide patches"]'), edge = box.getBoundingClientRect();
      box.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: edge.left + 1, clientY: edge.top + 1})); })()""")
    browser.until("location.hash.includes('masked=0')")
    ablation = {"heads": [{"layer": 2, "head": 0}], "masked": [0]}
    changed = ask(address, "api/inspect", {"image": "boat", "ablation": ablation})["labels"]
    browser.until(f"document.querySelector('#ablated .number')?.textContent === '{changed[0]['probability']:.4f}'")
    check(True, "a head is switched off and a patch hidden")


def test_input(browser, address, folder):
    browser.open(address)
    click(browser, '[data-sample="house"]')
    check(text_of(browser, "translation") == ask(address, "api/inspect", {"image": "house"})["text"], "a sample is looked at")
    # As a browser drops it.
    data = png(60, 40, (20, 160, 60))
    drop = """(async () => {
      const bytes = Uint8Array.from(atob(%s), c => c.charCodeAt(0)), transfer = new DataTransfer();
      transfer.items.add(new File([bytes], 'a', {type: %s}));
      dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true}));
    })()"""
    before = browser.js("document.body.dataset.ready")
    browser.js(drop % (json.dumps(base64.b64encode(data).decode()), json.dumps("image/png")))
    browser.until(f"document.body.dataset.ready !== '{before}'")
    request = urllib.request.Request(address + "api/image", data, {"Content-Type": "image/png"})
    name = json.load(urllib.request.urlopen(request))["image"]
    check(text_of(browser, "translation") == ask(address, "api/inspect", {"image": name})["text"], "a dropped image is looked at")
    browser.open(link(browser, "image=" + name))
    check(text_of(browser, "translation") == ask(address, "api/inspect", {"image": name})["text"], "and a link to it works")
    for body, kind, words in ((b"no image", "image/png", "the image"), (b"text", "text/plain", "no PNG")):
        browser.js("document.getElementById('error').hidden = true")
        browser.js(drop % (json.dumps(base64.b64encode(body).decode()), json.dumps(kind)))
        browser.until(f"!document.getElementById('error').hidden && document.getElementById('error').textContent.includes({json.dumps(words)})")
    check(True, "what is no image is refused in words")


def test_files(browser, attend, model, folder):
    image, page = folder / "green.png", folder / "page.html"
    image.write_bytes(png(60, 40, (20, 160, 60)))
    subprocess.run([attend, "look", "--model", model, "--image", image, "--export", page, "--svg", folder / "a.svg",
                    "--png", folder / "a.png"], check=True)
    check((folder / "a.png").read_bytes().startswith(b"\x89PNG") and "head 4" in (folder / "a.svg").read_text(), "all heads are one image")
    browser.open(page.as_uri())
    check("%" in text_of(browser, "translation"), "an exported image opens")
    click(browser, '[data-head="1 2"]')
    check(len(shown_heat(browser)) == 196, "with its heads")
    for view in VIEWS:
        browser.open(page.as_uri() + f"#view={view}")
        check(browser.js("document.querySelector('#view').textContent.length") > 20, f"it shows {view}")


def test_other_models(browser, folder):
    """Swin's windows and a model without attention, as exported files with other numbers in them."""
    page = (folder / "page.html").read_text()
    found = re.search(r'id="data">(.*?)</script>', page, re.S)
    data, source = json.loads(found[1]), random.Random(4)
    data["model"] |= {"positions": "", "unwalked": "windows", "attention": []}
    data["result"]["rollout"] = {"missing": "Here they see windows."}
    data["layers"], data["result"]["attention"] = [], []
    plain = folder / "plain.html"
    plain.write_text(page[:found.start(1)] + json.dumps(data) + page[found.end(1):])
    browser.open(plain.as_uri())
    check("no attention" in text_of(browser, "looked"), "a model without attention says so")
    for layer, shift in ((0, 0), (1, 3)):
        place = {"stack": "encoder", "kind": "self", "layer": layer, "heads": 2, "tokens": 0, "queries": [14, 14], "keys": [14, 14],
                 "window": 7, "shift": shift}
        data["model"]["attention"].append(place)
        data["result"]["attention"].append(place | {"heat": packed([1 / 49] * 392)})
        weights = [source.uniform(0.001, 0.04) for _ in range(4 * 2 * 49 * 49)]
        data["layers"].append(place | {"rows": 49, "columns": 49, "windows": 4, "weights": packed(weights)})
    plain.write_text(page[:found.start(1)] + json.dumps(data) + page[found.end(1):])
    browser.open(plain.as_uri() + "#view=rollout")
    check("see windows" in text_of(browser, "rollout"), "rollout says why it is left out")
    browser.open(plain.as_uri() + "#view=windows&layer=1")
    check(browser.js("document.querySelectorAll('.seen').length") == 2, "windows stand beside those that are shifted")
    # Row 5, column 5 of the shifted layer: the window of rows and columns 4 to 10.
    browser.js("""(() => { const canvas = document.querySelector('canvas[aria-label="windows of layer 2"]'), edge = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: edge.left + 4.5 / 14 * edge.width, clientY: edge.top + 4.5 / 14 * edge.height})); })()""")
    seen = [i for i, weight in enumerate(shown_heat(browser, "windows of layer 2")) if weight > 0]
    check(seen == [14 * y + x for y in range(3, 10) for x in range(3, 10)], "a place sees its own window")


def test_run(browser, attend, model, address, folder):
    run = shutil.copytree(model, folder / "run")
    (run / "log.jsonl").write_text("".join(json.dumps({"step": step, "loss": 2 / step, "seconds": step}) + "\n" for step in (1, 2, 4)))
    examples = [ask(address, "api/inspect", {"image": name}) | {"source": {"pieces": []}, "target": {"pieces": [], "text": name}}
                for name in ("cat", "boat")]
    (run / "look.jsonl").write_text("".join(json.dumps({"step": step, "seconds": step, "examples": order}) + "\n"
                                            for step, order in ((0, examples[::-1]), (4, examples))))
    with look(attend, "--run", run) as there:
        browser.open(there)
        browser.until("document.getElementById('at')?.textContent === 'step 4'")
        check(text_of(browser, "sample") == examples[0]["text"], "a run shows its images")
        heat = shares(examples[0]["attention"][3]["heat"])
        check(near(shown_heat(browser), [sum(heat[k::196]) / 4 for k in range(196)]), "by the light of the last layer")
        browser.js("const s = document.querySelector('input[type=range]'); s.value = 0; s.dispatchEvent(new Event('input'))")
        browser.until("document.getElementById('at').textContent === 'step 0'")
        check(text_of(browser, "sample") == examples[1]["text"], "at every stop of the slider")
        browser.open(f"{there}#view=image")
        check(text_of(browser, "translation") == examples[0]["text"], "beside its model")


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = make_vit(folder / "vit")
        with look(attend, "--model", model) as address, Browser(chromium) as browser:
            test_heads(browser, address)
            test_other_views(browser, address)
            test_input(browser, address, folder)
            check_sizes(browser, address, VIEWS)
            test_files(browser, attend, model, folder)
            test_other_models(browser, folder)
            test_run(browser, attend, model, address, folder)
            check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
