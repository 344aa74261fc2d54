#!/usr/bin/env python3
"""The site for keyboards, screen readers and weak eyes: tests/wasm/access_test.py BUILD/attend [BUILD-WASM]. Every page and view in light and dark, on
a screen and on a phone (tests/web/accessibility.py). Leaves with 77, "skipped", where something is missing."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from served_site import missing, served_site  # noqa: E402
from accessibility import problems  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402

PAGES = ("", "docs/index.html", "docs/lectures.html", "docs/gallery.html", "docs/results.html", "api/index.html", "api/python.html", "api/attend-c.html")
VIEWS = ("en-fr&view=map", "en-fr&view=heads", "en-fr&view=all-heads", "en-fr&view=steps", "en-fr&view=positions", "en-fr&view=generate", "en-fr&view=ablate",
         "en-fr&view=numbers", "en-fr&view=train", "en-fr&view=course", "en-fr&tour=3", "reverse-transformer&view=compare", "bert&view=generate", "shakespeare&view=map",
         "vit-cifar10&view=image", "vit-cifar10&view=rollout", "vit-cifar10&view=ablate", "detr-scenes", "flickr8k", "sagan-cifar10")


def main():
    wasm = sys.argv[2] if len(sys.argv) > 2 else None
    if what := missing(wasm):
        print("skipped: there is no", what, "here")
        return 77
    found = 0
    with served_site(wasm) as (site, _, _), Browser(find_chromium()) as browser:
        for width, dark in ((1280, False), (1280, True), (390, False)):
            browser.size(width, 900, dark)
            for page in PAGES:
                browser.call("Page.navigate", url=site + page)
                browser.until("document.readyState === 'complete' && !!document.querySelector('main')")
                found += told(f"{page or 'front page'}, {width} pixels{', dark' if dark else ''}", problems(browser))
            for view in VIEWS:
                browser.call("Page.navigate", url="about:blank")
                browser.call("Page.navigate", url=f"{site}look/#model={view}")
                browser.until("document.body && document.body.dataset.ready", 120)
                found += told(f"look/#model={view}, {width} pixels{', dark' if dark else ''}", problems(browser))
    print(found, "problems")
    return 1 if found else 0


def told(where, wrong):
    print("ok:" if not wrong else "WRONG:", where, flush=True)
    for one in wrong:
        print("   ", one, flush=True)
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
