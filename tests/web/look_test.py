#!/usr/bin/env python3
"""The page in a real browser: tests/web/look_test.py BUILD/attend. Leaves with 77, "skipped", where Chromium is absent."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

from browser import Browser, find_chromium, look

SENTENCE = "Where is the station?"


def ask(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what)


def click(browser, selector):
    before = browser.js("document.body.dataset.ready")
    browser.until(f"!!document.querySelector({json.dumps(selector)})")
    browser.js(f"document.querySelector({json.dumps(selector)}).click()")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)}")


def text_of(browser, name):
    return browser.js(f"document.getElementById('{name}').textContent")


def cells(browser):
    """The numbers of the last matrix on the page."""
    return browser.js("""[...[...document.querySelectorAll('svg[aria-label="attention matrix"]')].pop().querySelectorAll('.row')]
        .map(row => [...row.querySelectorAll('rect')].map(cell => Number(cell.dataset.weight)))""")


def test_page(browser, address):
    browser.size(1280, 900)
    start = time.monotonic()
    browser.open(address)
    print(f"drawn {time.monotonic() - start:.2f} s after it was asked for")
    before = browser.js("document.body.dataset.ready")
    browser.js(f"document.getElementById('text').value = {json.dumps(SENTENCE)}; document.getElementById('go').click()")
    browser.until(f"document.body.dataset.ready !== '{before}'")
    answer = ask(address, "api/inspect", {"text": SENTENCE})
    check(text_of(browser, "translation") == answer["text"], "the translation is shown")

    click(browser, '[data-head="decoder cross 1 2"]')
    layer = next(a for a in answer["attention"] if (a["stack"], a["kind"], a["layer"]) == ("decoder", "cross", 1))
    check(cells(browser) == layer["weights"][2], "the numbers of a head are the engine's")
    link = browser.js("location.href")
    browser.open(link)
    check(cells(browser) == layer["weights"][2], "a link restores the view")
    browser.js("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
    browser.until("document.querySelector('[aria-label=head] .on').textContent === '4'")
    check(cells(browser) == layer["weights"][3], "an arrow key goes to the next head")
    svg = browser.js("import('look/draw').then(draw => draw.svgText(document.querySelector('.figure svg')))")
    check(svg.startswith("<svg") and "var(" not in svg, "a picture stands alone as SVG")


def test_steps(browser, address):
    place = {"stack": "encoder", "kind": "self", "layer": 1, "head": 2, "token": 1}
    words = "&".join(f"{name}={value}" for name, value in place.items())
    browser.open(f"{address}#view=steps&text={SENTENCE.replace(' ', '+')}&{words}")
    trace = ask(address, "api/trace", {"text": SENTENCE, **place})
    softmax = next(step for step in trace["steps"] if step["name"] == "softmax")
    shown = browser.js("""[...document.querySelectorAll('[data-step="softmax"] .number')]
        .map(number => Number(number.textContent))""")
    check(all(abs(a - b) < 6e-5 for a, b in zip(shown, softmax["values"])) and len(shown) == len(softmax["values"]),
          "the walk shows the engine's softmax")


def test_other_ways(browser, address):
    browser.open(f"{address}#view=ablate&text={SENTENCE.replace(' ', '+')}")
    click(browser, '[data-head="decoder cross 2 0"]')
    ablation = {"heads": [{"stack": "decoder", "kind": "cross", "layer": 2, "head": 0, "scale": 0}]}
    answer = ask(address, "api/inspect", {"text": SENTENCE, "ablation": ablation})
    check(text_of(browser, "ablated") == answer["text"], "a head is switched off")

    browser.open(f"{address}#view=generate&text={SENTENCE.replace(' ', '+')}")
    click(browser, ".candidates tr:nth-child(2) button")
    plain = ask(address, "api/inspect", {"text": SENTENCE})
    other = ask(address, "api/inspect", {"text": SENTENCE, "prefix": [plain["steps"][0]["candidates"][1]["id"]]})
    check(text_of(browser, "continued") == other["text"], "another candidate goes on")

    browser.open(f"{address}#view=positions&text={SENTENCE.replace(' ', '+')}")
    plain = ask(address, "api/inspect", {"text": SENTENCE, "ablation": {"positions": False}})
    check(text_of(browser, "unordered") == plain["text"], "positions can be switched off")


def test_export(browser, address, attend):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        subprocess.run([attend, "look", "--text", SENTENCE, "--export", path], check=True)
        browser.open(path.as_uri())
        answer = ask(address, "api/inspect", {"text": SENTENCE})
        check(text_of(browser, "translation") == answer["text"], "an exported file opens")
        click(browser, '[data-head="encoder self 0 1"]')
        check(cells(browser) == answer["attention"][0]["weights"][1], "with the same numbers")
        for view in ("steps", "positions", "generate", "ablate"):
            browser.open(path.as_uri() + f"#view={view}")
            check(browser.js("document.querySelector('#view').textContent.length") > 20, f"it shows {view}")


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with look(attend) as address, Browser(chromium) as browser:
        test_page(browser, address)
        test_steps(browser, address)
        test_other_ways(browser, address)
        test_export(browser, address, attend)
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
