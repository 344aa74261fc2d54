#!/usr/bin/env python3
"""The site in a real browser, from a plain file server and under a path of its own: tests/wasm/site_test.py BUILD/attend
[BUILD-WASM]. The page's answers are compared with the program's. Leaves with 77, "skipped", where emscripten, Chromium or
python3-markdown is absent."""
import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "web"))
from browser import Browser, find_chromium, look  # noqa: E402

PATH = "a/path/of/its own"
SENTENCE = "Where is the station?"


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what, flush=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked = []

    def log_message(self, *_):
        self.asked.append(self.path)


def ask(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def ready(browser, address, seconds=120):
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=address)
    browser.until("document.body && document.body.dataset.ready", seconds)


def foreign(browser):
    """Requests of the page to other sites."""
    return browser.js("performance.getEntriesByType('resource').map(one => one.name).filter(name => !name.startsWith(location.origin) && !name.startsWith('data:') && !name.startsWith('blob:'))")


def test_page(browser, site, program):
    start = time.monotonic()
    ready(browser, f"{site}look/#model=en-fr&text={SENTENCE.replace(' ', '%20')}")
    print(f"first answer after {time.monotonic() - start:.1f} s")
    wanted = ask(program, "api/inspect", {"text": SENTENCE})
    check(browser.js("document.getElementById('translation').textContent") == wanted["text"], "the page translates without a server")
    start = time.monotonic()
    ready(browser, f"{site}look/#model=en-fr&text={SENTENCE.replace(' ', '%20')}&view=map")
    print(f"again, from what the browser keeps, after {time.monotonic() - start:.1f} s")
    check(not any("model.safetensors" in path for path in Quiet.asked[-12:]), "a model is fetched once")
    heads = "&view=heads&stack=decoder&kind=cross&layer=1&head=2"
    ready(browser, f"{site}look/#model=en-fr&text={SENTENCE.replace(' ', '%20')}{heads}")
    layer = next(a for a in wanted["attention"] if (a["stack"], a["kind"], a["layer"]) == ("decoder", "cross", 1))["weights"][2]
    shown = browser.js("[...document.querySelectorAll('canvas[aria-label=\"attention matrix\"]')].pop().weights")
    check(max(abs(x - y) for row, other in zip(shown, layer) for x, y in zip(row, other)) < 1e-4, "a head has the program's weights")
    for model, view in (("bert", "generate"), ("bert-sst2", "generate"), ("shakespeare", "map"), ("reverse-transformer", "compare"), ("en-fr", "numbers"),
                        ("en-fr", "steps"), ("en-fr", "positions"), ("en-fr", "course")):
        ready(browser, f"{site}look/#model={model}&view={view}")
        browser.until("document.getElementById('error').hidden && document.querySelector('#view').children.length > 0", 60)
    check(not foreign(browser), "nothing is asked of other sites")
    for model, selector in (("vit-cifar10", "canvas"), ("vit-fashion-mnist", "canvas"), ("detr-scenes", "svg, canvas"), ("flickr8k", "svg, canvas"), ("sagan-cifar10", "img, canvas")):
        ready(browser, f"{site}look/#model={model}")
        browser.until(f"document.getElementById('error').hidden && document.querySelector('#view').querySelectorAll('{selector}').length > 0", 60)
    check(True, "all kinds of models are shown")


def test_own_image(browser, site):
    ready(browser, f"{site}look/#model=vit-cifar10")
    before = browser.js("document.body.dataset.ready")
    browser.js("""new Promise(done => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 }), context = canvas.getContext('2d');
      context.fillStyle = 'steelblue', context.fillRect(0, 0, 64, 48), context.fillStyle = 'white', context.fillRect(10, 20, 40, 12);
      canvas.toBlob(blob => {
        const data = new DataTransfer();
        data.items.add(new File([blob], 'own.jpg', { type: 'image/jpeg' }));
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        done(true);
      }, 'image/jpeg');
    })""")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)} && document.getElementById('translation').textContent", 30)
    check(browser.js("document.getElementById('error').hidden"), "an own JPEG is decoded by the browser and classified")


def drop_model(browser, files):
    """Drops files onto the page: { name: text, or an address to fetch it from }."""
    browser.js(f"""(async () => {{
      const data = new DataTransfer();
      for (const [name, {{ text, address }}] of Object.entries({json.dumps(files)}))
        data.items.add(new File([address ? await (await fetch(address)).blob() : text], name));
      dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }}));
    }})()""")


def test_own_model(browser, site):
    ready(browser, f"{site}look/#model=en-fr")
    browser.js("window.before = true")
    names = ("config.json", "tokenizer.json", "model.safetensors")
    config = (ROOT / "models/dates/config.json").read_text()
    drop_model(browser, {name: {"text": config} if name == "config.json" else {"address": f"models/dates/{name}"} for name in names})
    browser.until("!window.before && document.body && document.body.dataset.ready && location.hash.includes('model=own')", 60)
    check(browser.js("import('look/state').then(state => state.model.name)") == "own", "a model of one's own is opened")
    browser.js("window.before = true")
    drop_model(browser, {"config.json": {"text": config}, "tokenizer.json": {"text": "{" * 100000}, "model.safetensors": {"text": "\\0" * 999}})
    browser.until("!window.before && document.body && document.body.dataset.ready && !document.getElementById('error').hidden", 60)
    check("own cannot be opened" in browser.js("document.getElementById('error').textContent"), "a broken one is a message")
    check(browser.js("import('look/state').then(state => state.model.name)") == "en-fr", "and the page goes on")


def test_front(browser, site):
    browser.call("Page.navigate", url=site)
    browser.until("!!document.getElementById('live')")
    browser.js("document.querySelector('#live button').click()")
    browser.until("document.getElementById('answer').textContent.startsWith('→ ')", 120)
    check("chat" in browser.js("document.getElementById('answer').textContent"), "the front page translates a sentence")
    browser.js("document.getElementById('query').value = 'beam search'; document.getElementById('query').dispatchEvent(new Event('input'))")
    browser.until("document.querySelectorAll('#found a').length > 0")
    target = browser.js("document.querySelector('#found a').href")
    browser.call("Page.navigate", url=target)
    browser.until("!!document.querySelector('main h1')")
    check(True, "the search box finds a page of the documentation")
    for page in ("docs/gallery.html", "docs/lectures.html", "docs/index.html"):
        browser.call("Page.navigate", url=site + page)
        browser.until("document.readyState === 'complete' && !!document.querySelector('main h1')")
        broken = browser.js("[...document.images].filter(image => !image.naturalWidth).map(image => image.src)")
        check(not broken and not foreign(browser), f"{page}: all images are there, and none of another site {broken}")


def links_of(folder):
    """Links between pages that lead nowhere."""
    import re
    for page in folder.rglob("*.html"):
        for address in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            if re.match(r"[a-z]+:|#|$", address):
                continue
            target = (page.parent / address.split("#")[0]).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                yield f"{page.relative_to(folder)}: {address}"


def main():
    chromium = find_chromium()
    if subprocess.run(["/usr/bin/python3", "-c", "import markdown"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: there is no python3-markdown here (tools/setup wasm)")
        return 77
    if not chromium or len(sys.argv) < 3 and not shutil.which("em++"):
        print("skipped: there is no", "emscripten (tools/setup wasm)" if chromium else "Chromium", "here")
        return 77
    wasm = sys.argv[2] if len(sys.argv) > 2 else ROOT / "build-wasm"
    if len(sys.argv) < 3:
        subprocess.run(["make", "--no-print-directory", "wasm"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="attend-site-") as scratch:
        folder = pathlib.Path(scratch) / PATH
        subprocess.run([ROOT / "tools" / "site", wasm, folder], check=True)
        check(not list(links_of(folder)), f"every link leads somewhere {list(links_of(folder))[:5]}")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=scratch))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_port}/{PATH.replace(' ', '%20')}/"
        with look(str(pathlib.Path(sys.argv[1]).resolve()), folder=ROOT) as program, Browser(chromium) as browser:
            browser.size(1280, 900)
            test_page(browser, site, program)
            test_own_image(browser, site)
            test_own_model(browser, site)
            test_front(browser, site)
            check(not browser.problems, f"no error in the console {browser.problems}")
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
