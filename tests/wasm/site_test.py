#!/usr/bin/env python3
"""The site in a real browser, from a plain file server and under a path of its own: tests/wasm/site_test.py BUILD/attend
[BUILD-WASM]. The page's answers are compared with the program's. Leaves with 77, "skipped", where emscripten, Chromium or
python3-markdown is absent."""
import gzip
import json
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from served_site import ROOT, Quiet, check, missing, ready, served_site  # noqa: E402
from browser import Browser, find_chromium, look  # noqa: E402

SENTENCE = "Where is the station?"


def ask(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


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


def test_first_view(browser, site):
    """Bytes of the first view, as a server that compresses sends them."""
    Quiet.asked.clear()
    ready(browser, f"{site}look/#model=en-fr")
    files = {urllib.parse.unquote(path.split("?")[0]).split("/its own/")[-1] for path in Quiet.asked}
    sizes = {file: len(gzip.compress(urllib.request.urlopen(site + urllib.parse.quote(file)).read(), 6)) for file in files if "/models/" not in file}
    core = sizes.pop("look/attend.wasm")
    print(f"first view: {sum(sizes.values()) / 1e6:.2f} MB in {len(sizes)} files, attend.wasm {core / 1e6:.2f} MB")
    check(sum(sizes.values()) <= 1.5e6 and core <= 3e6, f"the first view is small: {sorted(sizes.items(), key=lambda item: -item[1])[:3]}")


def test_figures(browser, site):
    """What Save SVG and Save PNG make is caught where a browser would store it."""
    ready(browser, f"{site}look/#model=en-fr&text=I%20am%20a%20student.&view=heads&stack=decoder&kind=cross&layer=1&head=2")
    browser.js("""window.saved = []; HTMLAnchorElement.prototype.click = function () { if (this.download) fetch(this.href).then(r => r.blob()).then(async b => saved.push([this.download, b.type, b.size, (await b.text()).slice(0, 200)])); }""")
    for kind in ("SVG", "PNG"):
        browser.js(f"[...document.querySelectorAll('button, a')].find(e => e.textContent.trim() === 'Save {kind}').click()")
    browser.until("saved.length === 2", 20)
    (svg, png) = sorted(browser.js("saved"), key=lambda one: one[0].endswith(".png"))
    check(svg[0].endswith(".svg") and "<svg" in svg[3] and png[0].endswith(".png") and png[2] > 2000, f"figures can be saved: {svg[0]}, {png[0]}")
    address = browser.js("location.href")
    ready(browser, address)
    check(browser.js("import('look/state').then(({ state }) => [state.view, state.layer, state.head, state.text].join())") == "heads,1,2,I am a student.", "an address restores its view")


def test_offline(browser, site, server):
    """After a visit the page works without the server."""
    browser.call("Page.navigate", url=site)
    browser.until("navigator.serviceWorker?.controller ? 1 : 0", 20)
    with Browser(find_chromium()) as other:  # which has seen one view only
        ready(other, f"{site}look/#model=en-fr&text=Good%20morning.")
        other.until("navigator.serviceWorker.getRegistration().then(one => one?.active?.state === 'activated')", 60)
        server.shutdown(), server.server_close()
        other.call("Network.clearBrowserCache")
        ready(other, f"{site}look/#model=en-fr&text=Good%20night.&view=heads")
        check(other.js("document.getElementById('translation').textContent") != "" and other.js("document.getElementById('error').hidden"), "the page works without a network")
    browser.call("Page.navigate", url=site + "docs/index.html")
    browser.until("!!document.querySelector('main h1')")
    check("Documentation" in browser.js("document.body.textContent"), "so do pages that were visited")


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
    browser.until("!!document.querySelector('#live button:enabled')")
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
    for page in folder.rglob("*.html"):
        for address in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            if re.match(r"[a-z]+:|#|$", address):
                continue
            target = (page.parent / address.split("#")[0]).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                yield f"{page.relative_to(folder)}: {address}"


def main():
    wasm = sys.argv[2] if len(sys.argv) > 2 else None
    if what := missing(wasm):
        print("skipped: there is no", what, "here")
        return 77
    with served_site(wasm) as (site, folder, server):
        check(not list(links_of(folder)), f"every link leads somewhere {list(links_of(folder))[:5]}")
        with look(str(pathlib.Path(sys.argv[1]).resolve()), folder=ROOT) as program, Browser(find_chromium()) as browser:
            browser.size(1280, 900)
            test_first_view(browser, site)
            test_page(browser, site, program)
            test_own_image(browser, site)
            test_own_model(browser, site)
            test_figures(browser, site)
            test_front(browser, site)
            test_offline(browser, site, server)
            check(not browser.problems, f"no error in the console {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
