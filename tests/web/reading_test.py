#!/usr/bin/env python3
"""The page with models that find things in images and that write about them, in a real browser, and with runs that learn
to: tests/web/reading_test.py BUILD/attend. Leaves with 77, "skipped", where Chromium is absent."""
import json
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, find_chromium, look
from look_test import ask, check, check_sizes, click, link, text_of
from image_test import near, shares, shown_heat


def train(attend, folder, out, *words):
    subprocess.run([attend, "train", *words, "--out", folder / out, "--steps", "12", "--validate-every", "6", "--batch", "8",
                    "--look", "--port", "0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / out


def make_models(attend, folder):
    """Scenes, and three models that have hardly learned anything about them."""
    subprocess.run([attend, "make-data", "scenes", "--out", folder / "scenes", "--count", "24", "--unseen", "6", "--size", "32",
                    "--objects", "2"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    backbone = {"backbone_config": {"stem": "small", "embedding_size": 8, "depths": [1, 1], "hidden_sizes": [8, 16]}}
    detr = train(attend, folder, "detr", "--task", "detect", "--train", folder / "scenes/instances_train.json", "--valid",
                 folder / "scenes/instances_valid.json", "--image-size", "32", "--width", "16", "--heads", "2", "--hidden", "32",
                 "--encoder-layers", "2", "--decoder-layers", "2", "--queries", "6", "--config", json.dumps(backbone))
    captioners = [train(attend, folder, decoder, "--task", "describe", "--train", folder / "scenes/captions_train.json", "--valid",
                        folder / "scenes/captions_valid.json", "--decoder", decoder, "--decoder-config", '{"width": 16, "hidden": 24}',
                        "--model", "vit", "--image-size", "32", "--patch-size", "8", "--width", "16", "--heads", "2", "--layers", "1",
                        "--crop", "none", "--max-length", "12") for decoder in ("show-attend-tell", "show-tell")]
    return detr, *captioners


def pick(browser, x, y):
    """A click on the image, at parts of its width and height."""
    before = browser.js("document.body.dataset.ready")
    browser.js(f"""(() => {{ const canvas = document.querySelector('canvas[aria-label="what was found"]'), edge = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: edge.left + {x} * edge.width, clientY: edge.top + {y} * edge.height}})); }})()""")
    browser.until(f"document.body.dataset.ready !== '{before}'")


def test_objects(browser, address):
    browser.size(1280, 900)
    browser.open(f"{address}#view=objects&image=shapes&threshold=5")
    answer = ask(address, "api/inspect", {"image": "shapes"})
    found = [box for box in answer["boxes"] if box["score"] >= 0.05]
    shown = browser.js("[...document.querySelectorAll('[data-found]')].map(n => Number(n.dataset.found))")
    check(shown == [box["query"] for box in found], "what is found is listed, best first")
    check(browser.js("document.querySelectorAll('svg [data-query]').length") == len(found), "and has boxes")
    query, (rows, columns) = found[0]["query"], answer["grid"]
    click(browser, f'[data-found="{query}"] button')
    looks = ask(address, "api/attention", {"image": "shapes", "query": query})["layers"][1]
    heads, size = shares(looks["weights"]), rows * columns
    mean = [(heads[i] + heads[size + i]) / 2 for i in range(size)]
    check(near(shown_heat(browser, "what was found"), mean), "a box shows where its query looks")
    click(browser, "[aria-label=head] button:nth-child(3)")
    check(near(shown_heat(browser, "what was found"), heads[size:]), "by each head")
    browser.open(link(browser, "head=1"))
    check(near(shown_heat(browser, "what was found"), heads[size:]), "and a link restores it")
    click(browser, "[aria-label=from] button:nth-child(2)")
    pick(browser, 1.5 / columns, 0.5 / rows)
    place = shares(ask(address, "api/attention", {"image": "shapes", "place": 1})["layers"][1]["weights"])
    check(near(shown_heat(browser, "what was found"), [(place[i] + place[size + i]) / 2 for i in range(size)]), "a point shows where the encoder looks from it")
    browser.js("const s = document.getElementById('threshold'); s.value = 95; s.dispatchEvent(new Event('input'))")
    left = sum(box["score"] >= 0.95 for box in answer["boxes"])
    check(browser.js("document.querySelectorAll('[data-found]').length") == left, "the slider leaves the surest")


def test_sentence(browser, address, without):
    browser.open(f"{address}#view=sentence&image=dog")
    answer = ask(address, "api/inspect", {"image": "dog"})
    words = browser.js("[...document.querySelectorAll('[data-writer] [data-word]')].map(n => n.textContent)")
    first, second = answer["tokens"], answer["beside"]["tokens"]
    check(words == [word.strip() for word in first + second], "two models write two sentences")
    size = answer["grid"][0] * answer["grid"][1]
    browser.js("document.querySelector('[data-word=\"1\"]').dispatchEvent(new MouseEvent('mouseenter'))")
    check(near(shown_heat(browser, "where a word looked"), shares(answer["attention"][0]["weights"])[size:2 * size]), "a word under the mouse shows where it looked")
    shown = browser.js("[...document.querySelector('.others').querySelectorAll('.number')].map(n => Number(n.textContent))")
    check(shown == [one["probability"] for one in answer["steps"][1]["candidates"]], "and what else it might have been")
    check(browser.js("document.querySelectorAll('[data-writer] [data-tile]').length") == len(first), "every word has a small image")
    check(browser.js("document.querySelector('#start canvas').width") == len(answer["beside"]["start"]) == 16, "the other has one vector")
    check("no attention" in browser.js(f"document.querySelector('[data-writer=\"{without.name}\"]').textContent"), "and says so")


def test_files(browser, attend, folder, detr, writer):
    image = next((folder / "scenes/valid").iterdir())
    for model, view in ((detr, "objects"), (writer, "sentence")):
        page = folder / f"{view}.html"
        subprocess.run([attend, "look", "--model", model, "--image", image, "--export", page, "--png", folder / "a.png"], check=True)
        check((folder / "a.png").read_bytes().startswith(b"\x89PNG"), f"an image of {view} without a browser")
        browser.open(page.as_uri() + f"#view={view}&threshold=5")
        check(browser.js("document.querySelectorAll('#view canvas').length") > 1, f"an exported page of {view} opens")


def test_runs(browser, attend, detr, writer):
    with look(attend, "--run", detr) as address:
        browser.open(f"{address}#view=run")
        examples = [line["examples"] for line in map(json.loads, (detr / "look.jsonl").read_text().splitlines())]
        browser.until("document.querySelectorAll('#matching tr').length > 0")
        queries = browser.js("[...document.querySelectorAll('[data-match]')].map(n => Number(n.dataset.match))")
        check(queries == [one["query"] for one in examples[-1][0]["truth"]], "a run shows its matching")
        browser.js("const s = document.querySelector('input[type=range]'); s.value = 0; s.dispatchEvent(new Event('input'))")
        browser.until("document.getElementById('at').textContent === 'step 0'")
        browser.until("document.querySelectorAll('#matching tr').length > 0")
        queries = browser.js("[...document.querySelectorAll('[data-match]')].map(n => Number(n.dataset.match))")
        check(queries == [one["query"] for one in examples[0][0]["truth"]], "at every stop of the slider")
    with look(attend, "--run", writer) as address:
        browser.open(f"{address}#view=run")
        last = json.loads((writer / "look.jsonl").read_text().splitlines()[-1])["examples"][0]
        browser.until("!!document.getElementById('sample')")
        check(text_of(browser, "sample") == (last["text"] or "—"), "a run shows the sentence it writes")


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        detr, writer, without = make_models(attend, folder)
        with Browser(chromium) as browser:
            with look(attend, "--model", detr) as address:
                test_objects(browser, address)
                check_sizes(browser, address, ("objects",))
            with look(attend, "--model", writer, "--beside", without) as address:
                test_sentence(browser, address, without)
                check_sizes(browser, address, ("sentence",))
            test_files(browser, attend, folder, detr, writer)
            test_runs(browser, attend, detr, writer)
            check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
