#!/usr/bin/env python3
"""The page at first sight, in a real browser: tests/web/sight_test.py BUILD/attend. What the first screen shows, labels of
heads, heat over images, samples, tours; no overflow at 360 pixels, contrast of WCAG AA, the keyboard reaches everything.
Leaves screenshots of all views at two sizes in BUILD/screenshots."""
import json
import pathlib
import sys
import time

from browser import Browser, find_chromium, look
from look_test import ask, check, check_quietly, click, text_of

VIEWS = {
    "map": "view=map", "heads": "view=heads", "all-heads": "view=all-heads&off=1", "steps": "view=steps", "positions": "view=positions", "generate": "view=generate",
    "ablate": "view=ablate&heads=decoder+cross+0+0%3D0", "image": "model=vit-cifar10&view=image", "rollout": "model=vit-fashion-mnist&view=rollout",
    "objects": "model=detr-scenes&view=objects", "sentence": "model=flickr8k&view=sentence", "drawings": "model=sagan-cifar10&view=drawings",
    "compare": "model=reverse-transformer&view=compare", "numbers": "view=numbers&worked=dictionary&causal=1", "course": "view=course&course=5",
}
SIZES = ((1280, 800), (390, 844))
MODELS = ("en-fr", "bert", "bert-sst2", "shakespeare", "vit-cifar10", "vit-fashion-mnist", "detr-scenes", "flickr8k", "sagan-cifar10")
LINKED = "The animal did not cross the street because it was too tired."

EDGES = """(selector => { const edge = document.querySelector(selector)?.getBoundingClientRect();
  return edge && [edge.left, edge.top, edge.right, edge.bottom]; })"""

# Text whose contrast with what is behind it is below 4.5 (3 where it is large); what lies on images is left out.
CONTRAST = """(() => {
  const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const behind = node => {
    const stack = [];
    for (let at = node; at && at.nodeType === 1; at = at.parentElement) stack.push(channels(getComputedStyle(at).backgroundColor));
    return stack.reverse().reduce((below, color) => color.length ? over(color, below) : below, [255, 255, 255]);
  };
  const weak = [];
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].filter(child => child.nodeType === 3 && child.data.trim()).map(child => child.data.trim()).join(' ');
    if (!text || !node.checkVisibility({ visibilityProperty: true }) || node.closest('.seen, script, style, option, button:disabled, .sample, .hidden')) continue;
    const style = getComputedStyle(node), svg = node instanceof SVGElement, below = behind(svg ? node.ownerSVGElement.parentElement : node);
    let opacity = 1;
    for (let at = node; at && at.nodeType === 1; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const ink = channels(svg ? style.fill : style.color), color = over([...ink.slice(0, 3), (ink[3] ?? 1) * opacity * (svg ? Number(style.fillOpacity) : 1)], below);
    const [high, low] = [light(color), light(below)].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5) - 0.02) weak.push(`${text.slice(0, 30)} (${node.tagName}.${node.className.baseVal ?? node.className}) ${ratio.toFixed(2)}`);
  }
  return weak;
})()"""


def inside(browser, selector, height):
    edge = browser.js(f"{EDGES}({json.dumps(selector)})")
    return edge is not None and edge[1] >= 0 and edge[3] <= height


def test_first_screen(browser, address):
    for width, height in SIZES:
        browser.size(width, height)
        browser.open(address)
        answer = ask(address, "api/inspect", {"text": browser.js("document.getElementById('text').value")})
        check(text_of(browser, "translation") == answer["text"], f"{width} x {height}: the translation is shown")
        for selector in ("#text", "#translation", ".word-curves", "#head-role"):
            check_quietly(inside(browser, selector, height), f"{selector} is on the first screen of {width} x {height}")
        words = browser.js("[...document.querySelectorAll('.word-curves [data-query]')].map(word => word.textContent)")
        check(words == [piece.strip() for piece in answer["target"]["pieces"]] and browser.js("document.querySelectorAll('.word-curves path').length") >= len(words),
              "attention is drawn between the words")
    browser.size(1280, 800)
    browser.open(address)
    encoder, decoder = (browser.js(f"{EDGES}('.stack.{name}')") for name in ("encoder", "decoder"))
    check(encoder[2] <= decoder[0] and max(encoder[3], decoder[3]) <= 800 and decoder[2] > 1100, "encoder and decoder stand beside each other, and fill the screen")


def test_roles(browser, address):
    browser.open(f"{address}#view=map&text=The+black+cat+sleeps.")
    answer = ask(address, "api/inspect", {"text": "The black cat sleeps."})
    labels = browser.js("[...document.querySelectorAll('.stacks [data-head]')].map(button => [button.dataset.head, button.textContent])")
    roles = {f"{a['stack']} {a['kind']} {a['layer']} {head}": one for a in answer["attention"] for head, one in enumerate(a["roles"])}
    check(len(labels) == len(roles) and all(bool(text) and (text == "mixed") == (roles[name]["role"] == "") for name, text in labels), "every head has the label that was measured")
    browser.js("document.querySelector('[data-head=\"encoder self 4 3\"]').dispatchEvent(new MouseEvent('mouseenter'))")
    check("layer 5, head 4" in text_of(browser, "head-title"), "pointing at a head shows it between the words")
    browser.js(f"(() => {{ const s = document.getElementById('telling'); s.value = {json.dumps(LINKED)}; s.dispatchEvent(new Event('change')); }})()")
    browser.until("/‘it’ attends to ‘animal’/.test(document.getElementById('head-role')?.textContent)")
    seen = ask(address, "api/inspect", {"text": LINKED})
    pieces = [piece.strip() for piece in seen["source"]["pieces"]]
    best = max(head[pieces.index("it")][pieces.index("animal")] for a in seen["attention"] if a["stack"] == "encoder" for head in a["weights"])
    check(f"{100 * best:.0f} %" in text_of(browser, "head-role"), "“what is ‘it’?” opens on the head that shows it")


def test_heat(browser, address):
    browser.open(f"{address}#model=vit-cifar10&view=image&head=0&layer=8")
    pixels = "(() => { const of = label => document.querySelector(`canvas[aria-label=\"${label}\"]`); return ['attention over the image', 'what the model sees'].map(label => { const c = of(label); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]; }); })()"
    heated, plain = browser.js(pixels)
    light = lambda data: sum(data[i] * 299 + data[i + 1] * 587 + data[i + 2] * 114 for i in range(0, len(data), 4)) / 250 / len(data)
    check(heated != plain and light(heated) > 0.6 * light(plain), "heat is a colour, not darkness")
    browser.js("(() => { const s = document.querySelector('.heat-slider'); s.value = 0; s.dispatchEvent(new Event('input')); })()")
    heated, plain = browser.js(pixels)
    check(heated == plain, "without opacity the image is itself")


def test_samples(browser, address):
    for model in ("vit-cifar10", "vit-fashion-mnist", "detr-scenes", "flickr8k"):
        names = ask(address, f"models/{model}/api/model", None)["samples"]
        check_quietly(names[-1].startswith("fooled") and len(names) >= 5, f"{model} has samples, and one that fools it")
    browser.open(f"{address}#model=vit-fashion-mnist&view=image")
    check(browser.js("[...document.querySelectorAll('.sample span')].map(one => one.textContent).join()") == "fooled", "one sample is labelled as a mistake")
    browser.open(f"{address}#model=flickr8k&view=sentence")
    words = browser.js("document.querySelectorAll('.words button').length")
    check(browser.js("document.querySelectorAll('.captioned canvas').length") == words + 1, "a caption shows the maps of all its words at once")


def test_tours(browser, address):
    for model in MODELS:
        for width in (360, 1280):
            browser.size(width, 740)
            browser.open(f"{address}#model={model}")
            click(browser, "#tour")
            count = int(browser.js("document.querySelector('.tour .quiet').textContent").split(" of ")[1])
            for n in range(1, count + 1):
                browser.until(f"document.querySelector('.tour .quiet').textContent === ' {n} of {count}'")
                browser.until("!/is asked/.test(document.querySelector('.tour').textContent)")
                left, top, right, bottom = browser.js(f"{EDGES}('.tour')")
                check_quietly(left >= 0 and right <= width and top >= 0 and bottom <= 740, f"{model}: stop {n} is cropped at {width}")
                check_quietly(browser.js("document.getElementById('error').hidden"), f"{model}: stop {n} has no error")
                if n < count:
                    click(browser, "#next")
        print(f"ok: {model} has a tour of {count} stops")
    browser.size(1280, 800)
    browser.open(f"{address}#tour=3")
    browser.until("/twice/.test(document.querySelector('.proof').textContent)")
    check("Le chien" in browser.js("document.querySelector('.proof').textContent"), "without positions both orders of the words get one translation")
    browser.open(f"{address}#tour=17")
    browser.until("/matters most here/.test(document.querySelector('.proof').textContent)")
    browser.until("document.getElementById('ablated').tagName === 'P' && document.getElementById('original').textContent !== document.getElementById('ablated').textContent")
    check(True, "without one head the translation breaks")


def test_views(browser, address, folder):
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, words in VIEWS.items():
        for width, height in (*SIZES, (360, 740)):
            for dark in (False, True):
                browser.size(width, height, dark)
                browser.open(f"{address}#{words}")
                browser.until("[...document.images].every(image => image.complete)")
                wider = browser.js("document.documentElement.scrollWidth") - width  # innerWidth grows with what overflows
                check_quietly(wider <= 0, f"{name} is {wider} pixels wider than {width}")
                if width == 1280:
                    weak = browser.js(CONTRAST)
                    check_quietly(not weak, f"{name}, {'dark' if dark else 'light'}: weak contrast: {weak[:6]}")
                if not dark and width != 360:
                    time.sleep(0.1)
                    browser.screenshot(folder / f"{name}-{width}.png")
                    count += 1
    check(count == 2 * len(VIEWS), f"{len(VIEWS)} views fit 1280, 390 and 360 pixels with contrast AA; screenshots in {folder}")


def press(browser, name):
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=9)


def test_keyboard(browser, address):
    browser.size(1280, 800)
    for name, words in VIEWS.items():
        browser.open(f"{address}#{words}")
        count = browser.js("""(() => { window.wanted = new Set([...document.querySelectorAll('a[href], button, input, select, [tabindex="0"]')]
          .filter(node => !node.disabled && node.checkVisibility() && node.tabIndex >= 0)); window.reached = new Set(); document.body.focus();
          addEventListener('focusin', event => reached.add(event.target)); return wanted.size; })()""")
        for _ in range(count + 8):
            press(browser, "Tab")
        missed = browser.js("[...wanted].filter(node => node.isConnected && !reached.has(node)).map(node => node.outerHTML.slice(0, 80))")
        check_quietly(not missed, f"{name}: Tab does not reach {missed[:4]}")
        mute = browser.js("[...wanted].filter(node => node.matches('button, a, input, select') && !(node.textContent.trim() || node.getAttribute('aria-label') || node.labels?.length)).map(node => node.outerHTML.slice(0, 80))")
        check_quietly(not mute, f"{name}: controls without a name: {mute[:4]}")
    check(True, "Tab reaches every control of every view, and each has a name")


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with look(attend) as address, Browser(chromium) as browser:
        test_first_screen(browser, address)
        test_roles(browser, address)
        test_heat(browser, address)
        test_samples(browser, address)
        test_views(browser, address, pathlib.Path(attend).resolve().parent / "screenshots")
        test_keyboard(browser, address)
        test_tours(browser, address)
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
