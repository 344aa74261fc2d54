#!/usr/bin/env python3
"""A model trained in the page: tests/wasm/training_test.py BUILD/attend [BUILD-WASM]. One training is cancelled, one is left, and one runs to
its end: its model then answers in the page, and the program opens the same files and gives the same answers. Leaves with 77, "skipped", where
something is missing."""
import base64
import json
import pathlib
import re
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from served_site import check, missing, ready, served_site  # noqa: E402
from browser import Browser, find_chromium, look  # noqa: E402

STATUS = "document.getElementById('training-status').textContent"
ERROR = "document.getElementById('error')"


def test_cancelling(browser, site):
    ready(browser, f"{site}look/#model=dates&view=train")
    browser.js("document.querySelector('[data-task=reverse]').click()")
    browser.until(f"{STATUS}.startsWith('Step')", 120)
    browser.until("document.querySelectorAll('canvas[aria-label=\"attention matrix\"]').length > 0", 60)
    start, before = time.monotonic(), int(re.search(r"Step (\d+)", browser.js(STATUS))[1])
    browser.until(f"parseInt({STATUS}.slice(5)) >= {before + 20}", 120)
    print(f"20 steps take {time.monotonic() - start:.1f} s:", browser.js(STATUS))
    check(browser.js("document.querySelectorAll('#view svg path').length") > 0, "there is a curve")
    browser.js("document.getElementById('cancel-training').click()")
    browser.until(f"{STATUS}.startsWith('Cancelled')", 20)
    browser.js("document.querySelector('[data-task=dates]').click()")
    browser.until(f"{STATUS}.startsWith('Step')", 120)
    ready(browser, f"{site}look/#model=dates&view=map")
    check(browser.js(f"{ERROR}.hidden"), "leaving in the middle of a training is harmless")


def answer(browser, text):
    before = browser.js("document.body.dataset.ready")
    browser.js(f"document.getElementById('text').value = {json.dumps(text)}, document.getElementById('form').requestSubmit()")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)}", 30)
    return browser.js("document.getElementById('translation').textContent")


def kept_files(browser, name):
    """The files that the browser keeps of a model, by name."""
    found = browser.js(f"""(async () => {{
      const cache = await caches.open('attend-own'), files = {{}};
      for (const request of await cache.keys()) {{
        const [, model, file] = /\\/own\\/([^/]+)\\/(.+)$/.exec(request.url);
        if (model !== {json.dumps(name)}) continue;
        const bytes = new Uint8Array(await (await cache.match(request)).arrayBuffer());
        files[file] = btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));
      }}
      return files;
    }})()""")
    return {file: base64.b64decode(text) for file, text in found.items()}


SENTENCES = ("apple music fish", "door hill sea night", "bread pearl glass chair fire", "sea night music fire hill door")


def test_end(browser, site, attend):
    """Six hundred steps, which take some minutes."""
    ready(browser, f"{site}look/#model=dates&view=train")
    start = time.monotonic()
    browser.js("document.querySelector('[data-task=reverse]').click()")
    browser.until(f"/^(Trained|The training ended)/.test({STATUS})", 3600)
    right, of = map(int, re.match(r"Trained: (\d+) of (\d+) lines", browser.js(STATUS)).groups())
    print(f"trained in {time.monotonic() - start:.0f} s")
    check(right >= 0.85 * of, f"a model is trained to its end: {browser.js(STATUS)}")
    browser.js("window.before = true, document.getElementById('open-trained').click()")
    browser.until("!window.before && document.body && document.body.dataset.ready", 60)
    check(browser.js("import('look/state').then(state => state.model.name)") == "trained-reverse" and browser.js(f"{ERROR}.hidden"), "it is opened")
    said = {text: answer(browser, text) for text in SENTENCES}
    reversed_ = sum(said[text].split() == text.split()[::-1] for text in SENTENCES)
    with tempfile.TemporaryDirectory(prefix="attend-trained-") as scratch:
        for name, content in kept_files(browser, "trained-reverse").items():
            (pathlib.Path(scratch) / name).write_bytes(content)
        with look(attend, "--model", scratch) as program:
            for text in SENTENCES:
                request = urllib.request.Request(program + "api/inspect", json.dumps({"text": text}).encode(), {"Content-Type": "application/json"})
                check(json.load(urllib.request.urlopen(request))["text"] == said[text], f"page and program read it alike: {text} → {said[text]}")
    check(reversed_ > len(SENTENCES) / 2, f"it reverses {reversed_} of {len(SENTENCES)}")
    ready(browser, f"{site}look/#model=trained-reverse&view=heads")
    check(browser.js("document.querySelectorAll('canvas[aria-label=\"attention matrix\"]').length > 0"), "a later visit finds it")


def main():
    attend, wasm = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else None
    if what := missing(wasm):
        print("skipped: there is no", what, "here")
        return 77
    with served_site(wasm) as (site, _, _), Browser(find_chromium()) as browser:
        browser.size(1280, 900)
        test_cancelling(browser, site)
        test_end(browser, site, attend)
        check(not browser.problems, f"no error in the console {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
