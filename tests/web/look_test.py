#!/usr/bin/env python3
"""The page in a real browser: tests/web/look_test.py BUILD/attend. Leaves with 77, "skipped", where Chromium is absent."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from urllib.parse import quote_plus

from browser import Browser, find_chromium, look
from model_folders import make_bert, make_gpt2

SENTENCE = "Where is the station?"


def ask(address, path, body):
    data = None if body is None else json.dumps(body).encode()  # without a body it is a GET
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def check_quietly(condition, what):
    if not condition:
        raise AssertionError(what)


def check(condition, what):
    check_quietly(condition, what)
    print("ok:", what)


def click(browser, selector):
    before = browser.js("document.body.dataset.ready")
    browser.until(f"!!document.querySelector({json.dumps(selector)})")
    browser.js(f"document.querySelector({json.dumps(selector)}).click()")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)}")


def link(browser, words):
    """The address, once it says so: it is written a moment after the page."""
    return browser.until(f"location.hash.includes({json.dumps(words)}) && location.href")


def text_of(browser, name):
    return browser.js(f"document.getElementById('{name}').textContent")


def cells(browser):
    """The numbers of the last matrix on the page; its pixels have their colours, and what is barred has that one."""
    numbers, wrong = browser.js("""import('look/draw').then(draw => {
      const canvas = [...document.querySelectorAll('canvas[aria-label="attention matrix"]')].pop();
      const seen = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, wrong = [];
      const color = (w, i) => canvas.barred?.(Math.floor(i / canvas.width), i % canvas.width) ? draw.barColor() : draw.weightColor(w);
      canvas.weights.flat().forEach((w, i) => { if (`rgb(${seen.slice(4 * i, 4 * i + 3)})` !== color(w, i)) wrong.push(i); });
      return [canvas.weights, wrong.length + Math.abs(canvas.weights.flat().length - canvas.width * canvas.height)];
    })""")
    check_quietly(wrong == 0, f"{wrong} cells have another colour than their number")
    return numbers


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
    browser.open(link(browser, "view=heads"))
    check(cells(browser) == layer["weights"][2], "a link restores the view")
    browser.js("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
    browser.until("document.querySelector('[aria-label=head] .on').textContent === '4'")
    check(cells(browser) == layer["weights"][3], "an arrow key goes to the next head")
    svg = browser.js("import('look/draw').then(draw => draw.svgText([...document.querySelectorAll('.figure .image')].pop()))")
    check(svg.startswith("<svg") and "var(" not in svg and svg.count("<rect") > len(layer["weights"][3]) * len(layer["weights"][3][0]),
          "an image stands alone as SVG, with its cells")
    title = "".join(re.findall(r'font-weight="700"[^>]*>([^<]*)<', svg)).replace(" ", "")
    check(answer["text"].replace(" ", "") in title, "under its whole title")
    # What a token under the mouse looks at is said in words.
    browser.js("""const box = [...document.querySelectorAll('.image')].pop(), cell = box.querySelector('canvas').getBoundingClientRect();
      box.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: cell.left + 1, clientY: cell.bottom - 1}))""")
    check(f"{layer['weights'][3][-1][0]:.4f}" in browser.js("document.querySelector('.values-title').textContent"), "pointing at a cell says its number")


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
    click(browser, '[data-head="decoder cross 1 0"]')
    ablation = {"heads": [{"stack": "decoder", "kind": "cross", "layer": 1, "head": 0, "scale": 0}]}
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


def test_window(browser, address):
    browser.open(f"{address}#view=heads&stack=decoder&kind=self&layer=1&head=0&text={quote_plus(SENTENCE)}&window=2")
    browser.until("!!document.getElementById('window')")
    numbers = cells(browser)
    out = [w for r, row in enumerate(numbers) for c, w in enumerate(row) if c > r or c < r - 2]
    check(out and not any(out), "a window of 2 bars what comes later and what is further back")
    barred = browser.js("(() => { const m = [...document.querySelectorAll('canvas[aria-label=\"attention matrix\"]')].pop(); return m.weights.map((row, r) => row.map((_, c) => m.barred(r, c))); })()")
    check(all(bar == (c > r or c < r - 2) for r, row in enumerate(barred) for c, bar in enumerate(row)), "and the page draws just that as barred")
    before = browser.js("document.body.dataset.ready")
    browser.js("(() => { const s = document.getElementById('window'); s.value = s.max; s.dispatchEvent(new Event('change')); })()")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)}")
    check(any(w > 0 for r, row in enumerate(cells(browser)) for c, w in enumerate(row) if c < r - 2), "the slider opens it again")


def test_tree(browser, address):
    plain = ask(address, "api/inspect", {"text": SENTENCE})
    browser.open(f"{address}#view=generate&step=2&text={SENTENCE.replace(' ', '+')}")
    kept = [node for node in plain["beam"] if node["step"] <= 2]
    check(browser.js("document.querySelectorAll('[data-node]').length") == len(kept), "the tree shows what the beam kept so far")
    scores = [node["score"] for node in plain["beam"] if node["ended"]]
    check(abs(max(scores) - plain["score"]) < 1e-6, "its best end is the translation")


def test_language_model(browser, attend, folder):
    with look(attend, "--model", folder) as address:
        text = "The old man reads"
        browser.open(f"{address}#text={text.replace(' ', '+')}")
        answer = ask(address, "api/inspect", {"text": text})
        check(text_of(browser, "translation") == text + answer["text"], "GPT-2 goes on")
        click(browser, '[data-head="decoder self 1 2"]')
        check(cells(browser) == answer["attention"][1]["weights"][2], "with its attention")
        browser.open(f"{address}#view=generate&step=1&text={text.replace(' ', '+')}")
        click(browser, ".candidates tr:nth-child(3) button")
        ids = [answer["target"]["ids"][0], answer["steps"][1]["candidates"][2]["id"]]
        other = ask(address, "api/inspect", {"text": text, "prefix": ids})
        check(text_of(browser, "continued") == other["text"], "and on from another candidate")
        for view, selector in (("steps", "[data-step='softmax']"), ("positions", "[data-value]"), ("ablate", "#ablated")):
            browser.open(f"{address}#view={view}&text={text.replace(' ', '+')}")
            check(browser.js(f"!!document.querySelector(\"{selector}\")"), f"it has {view}")
        browser.open(f"{address}#view=steps")
        line = browser.js("document.querySelector('[data-step=\"W_O\"]').textContent")
        check("attend/nn/attention.h:" in line, "a step names its line of code")


def test_encoder(browser, attend, folder):
    with look(attend, "--model", folder) as address:
        text = "a [MASK] of the [MASK]"
        answer = ask(address, "api/inspect", {"text": text})
        browser.open(f"{address}#view=generate&text={text.replace(' ', '+')}")
        shown = browser.js("[...document.querySelectorAll('.candidates .number')].map(n => Number(n.textContent))")
        check(shown == [c["probability"] for c in answer["steps"][0]["candidates"]], "BERT fills a mask")
        click(browser, ".candidates tr:nth-child(2) button")
        other = ask(address, "api/inspect", {"text": text, "prefix": [answer["steps"][0]["candidates"][1]["id"]]})
        check(text_of(browser, "continued") == other["text"], "another word, and the other mask is asked again")
        browser.open(f"{address}#view=map&text={text.replace(' ', '+')}")
        click(browser, '[data-head="encoder self 0 1"]')
        check(cells(browser) == answer["attention"][0]["weights"][1], "with its attention")


def test_heads_of_an_encoder(browser, attend, tagger, answerer):
    with look(attend, "--model", tagger) as address:
        text = "a w\u00f6rd of the book"
        steps = ask(address, "api/inspect", {"text": text})["steps"]
        browser.open(f"{address}#view=generate&step=1&text={quote_plus(text)}")
        check(browser.js("[...document.querySelectorAll('.tokens .tag')].map(tag => tag.textContent)") ==
              [step["candidates"][0]["text"] for step in steps], "a tag stands under every word")
        check(browser.js("[...document.querySelectorAll('#translation ruby')].map(word => word.firstChild.data)") ==
              text.split(), "over the views too, with words as they were written")
    with look(attend, "--model", answerer) as address:
        text = "where is the b\u00f6ok? the man reads a book of the house"
        answer = ask(address, "api/inspect", {"text": text})["steps"][0]["candidates"]
        browser.open(f"{address}#view=generate&text={quote_plus(text)}")
        check(browser.js("document.querySelector('#translation .answer').textContent") == answer[0]["text"], "the answer is marked in the text")
        click(browser, ".candidates tr:nth-child(3) button")
        marked = browser.js("document.querySelector('.passage .answer').textContent")
        check(marked == answer[2]["text"] == text[slice(*answer[2]["span"])], "and so is another one")


def training(attend, folder, steps, *flags):
    """The words of an `attend train --look` that learns eight words."""
    for name, line in (("a", "one two three four five six seven eight"), ("b", "un deux trois quatre cinq six sept huit")):
        (folder / name).write_text((line + "\n") * 40)
    return [attend, "train", "--source", folder / "a", "--target", folder / "b", "--valid-source", folder / "a",
            "--valid-target", folder / "b", "--out", folder / "run", "--overwrite", "--vocabulary-size", "300", "--width", "32",
            "--hidden", "32", "--steps", str(steps), "--validate-every", "10", "--log-every", "5", "--tokens", "256",
            "--threads", "1", "--look", "--port", "0", *flags]


def test_live(browser, attend, folder):
    process = subprocess.Popen(training(attend, folder, 1000000, "--heads", "4"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    try:
        address = re.search(r"http://[\d.:]+/", process.stderr.readline())[0]
        browser.open(address)
        # Its curves go on, and there is an image. The next one may take a while where the first was slow.
        browser.until("/Step [1-9]/.test(document.getElementById('status')?.textContent)")
        browser.until("document.getElementById('at')?.textContent.startsWith('step ')")
        tabs = browser.js("[...document.querySelectorAll('#tabs a')].map(tab => tab.textContent).join()")
        check(tabs == "Training" and browser.js("document.getElementById('form').offsetHeight") == 0, "a run is watched while it trains")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_run(browser, attend, folder):
    subprocess.run(training(attend, folder, 20, "--model", "rnn-attention"), check=True, capture_output=True)
    run = folder / "run"
    with look(attend, "--run", run) as address:
        browser.size(1280, 900)
        browser.open(address)
        lines = ask(address, "api/run", {})
        check(browser.js("document.querySelectorAll('.charts svg').length") >= 4, "a run has its curves")
        check(text_of(browser, "at") == "step 20", "the slider is at the end")
        browser.js("const s = document.querySelector('input[type=range]'); s.value = 0; s.dispatchEvent(new Event('input'))")
        check(text_of(browser, "at") == "step 0", "and goes back to the beginning")
        check(text_of(browser, "sample") in (lines["look"][0]["examples"][0]["text"], "—"), "with what it wrote then")
        sums = [sum(row) for row in cells(browser)]
        check(all(abs(total - 1) < 0.05 for total in sums), "and where it looked")
        browser.open(link(browser, "at=0"))
        check(text_of(browser, "at") == "step 0", "a link restores the step")
        browser.open(f"{address}#view=map&text=one+two")
        check(browser.js("document.querySelectorAll('[data-head]').length") == 1, "its model, an RNN, has one attention")
    other = shutil.copytree(run, folder / "other")
    with look(attend, "--run", run, "--run", other) as address:
        browser.open(address)
        browser.until("document.querySelectorAll('#runs tr').length === 3")
        names = browser.js("[...document.querySelectorAll('#runs td:first-child')].map(cell => cell.textContent).join()")
        check(names == "run,other", "two runs stand in one table")
        lines = browser.js("document.querySelector('.charts svg').querySelectorAll('path').length")
        check(lines == 2, "and in one chart")


def test_run_without_attention(browser, attend, folder):
    subprocess.run(training(attend, folder, 10, "--model", "rnn-plain"), check=True, capture_output=True)
    with look(attend, "--run", folder / "run") as address:
        browser.size(1280, 900)
        browser.open(address)
        check(text_of(browser, "at") == "step 10", "a run without attention has its slider")
        check(browser.js("document.querySelectorAll('.charts svg').length") >= 4, "and its curves")
        check("has no attention" in text_of(browser, "no-attention"), "and says that there is no attention")
        words = browser.js("[...document.querySelectorAll('#view h3')].map(title => title.textContent).join()")
        check("reads" in words and "should say" in words, "beside what it read and wrote")
        for view in ("generate", "ablate"):
            browser.open(f"{address}#view={view}&text=one+two")
            check(browser.js("document.querySelector('#view .card') !== null && document.getElementById('error').hidden"), f"{view} works")


def check_sizes(browser, address, views, words=""):
    for width in (390, 1280):
        for dark in (False, True):
            browser.size(width, 900, dark)
            for view in views:
                browser.open(f"{address}#{words}view={view}")
                wider = browser.js("document.documentElement.scrollWidth") - width
                if wider > 0:
                    raise AssertionError(f"{view} is {wider} pixels wider than {width}")
    print("ok: every view fits 390 and 1280 pixels, light and dark")
    browser.size(1280, 900)


def test_sizes(browser, address):
    check_sizes(browser, address, ("map", "heads", "steps", "positions", "generate", "ablate"))
    # Both ways of saving, as files the browser would download.
    saved = browser.js("""(async () => {
      const made = [], make = URL.createObjectURL;
      URL.createObjectURL = blob => { made.push(blob.type); return make(blob); };
      for (const button of document.querySelectorAll('.saves button')) button.click();
      for (let i = 0; i < 100 && made.length < document.querySelectorAll('.saves button').length; ++i) await new Promise(r => setTimeout(r, 50));
      return made;
    })()""")
    check("image/svg+xml" in saved and "image/png" in saved, "images are saved as SVG and as PNG")


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
        test_window(browser, address)
        test_tree(browser, address)
        test_export(browser, address, attend)
        test_sizes(browser, address)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            test_language_model(browser, attend, make_gpt2(folder / "gpt2"))
            test_encoder(browser, attend, make_bert(folder / "bert"))
            test_heads_of_an_encoder(browser, attend, make_bert(folder / "tagger", head="TokenClassification"),
                                     make_bert(folder / "answerer", head="QuestionAnswering"))
            test_live(browser, attend, folder)
            test_run(browser, attend, folder)
            test_run_without_attention(browser, attend, folder)
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
