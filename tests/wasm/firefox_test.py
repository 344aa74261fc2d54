#!/usr/bin/env python3
"""The site in Firefox: tests/wasm/firefox_test.py BUILD/attend [BUILD-WASM]. Leaves with 77, "skipped", where something is missing."""
import json
import pathlib
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from served_site import ROOT, missing, served_site  # noqa: E402
from browser import look  # noqa: E402
from firefox import Firefox, find_firefox  # noqa: E402

SENTENCE = "Where is the station?"


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what, flush=True)


def opened(browser, address):
    browser.go("about:blank")
    browser.go(address)
    browser.until("document.body && document.body.dataset.ready", 120)


def main():
    wasm = sys.argv[2] if len(sys.argv) > 2 else None
    what = missing(wasm) or (None if find_firefox() else "Firefox (apt-get install firefox-esr)")
    if what:
        print("skipped: there is no", what, "here")
        return 77
    with served_site(wasm) as (site, _, _), look(str(pathlib.Path(sys.argv[1]).resolve()), folder=ROOT) as program, Firefox(find_firefox()) as browser:
        browser.size(1280, 900)
        start = time.monotonic()
        opened(browser, f"{site}look/#model=en-fr&text={SENTENCE.replace(' ', '%20')}")
        print(f"first answer after {time.monotonic() - start:.1f} s")
        request = urllib.request.Request(program + "api/inspect", json.dumps({"text": SENTENCE}).encode(), {"Content-Type": "application/json"})
        wanted = json.load(urllib.request.urlopen(request))
        check(browser.js("document.getElementById('translation').textContent") == wanted["text"], "the page translates as the program does")
        for model in ("bert", "vit-cifar10", "detr-scenes", "flickr8k", "sagan-cifar10"):
            opened(browser, f"{site}look/#model={model}")
            check(browser.js("document.getElementById('error').hidden && document.querySelector('#view').children.length > 0"), f"{model} is shown")
        opened(browser, f"{site}look/#model=dates&view=train")
        status = "document.getElementById('training-status').textContent"
        browser.js("document.querySelector('[data-task=reverse]').click()")
        browser.until(f"parseInt({status}.slice(5)) >= 20", 180)
        browser.until("document.querySelectorAll('canvas[aria-label=\"attention matrix\"]').length > 0", 60)
        check(True, f"a model learns in the page: {browser.js(status)}")
        if len(sys.argv) > 3:
            browser.screenshot(sys.argv[3])
        browser.js("document.getElementById('cancel-training').click()")
        browser.until(f"{status}.startsWith('Cancelled')", 20)
        browser.go(site)
        browser.until("!!document.querySelector('#live button:enabled')", 20)
        browser.js("document.querySelector('#live button').click()")
        browser.until("document.getElementById('answer').textContent.startsWith('→ ')", 120)
        check("chat" in browser.js("document.getElementById('answer').textContent"), "the front page translates a sentence")
    return 0


if __name__ == "__main__":
    sys.exit(main())
