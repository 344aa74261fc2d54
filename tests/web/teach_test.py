#!/usr/bin/env python3
"""What the page teaches, in a real browser: tests/web/teach_test.py BUILD/attend. Every stop of the tour, the end of the
walk with its sliders, positions, three networks side by side, models and sentences to choose. Numbers on the page are held
against what the library computes. Leaves with 77, "skipped", where Chromium is absent."""
import base64
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
from urllib.parse import quote_plus

from browser import Browser, find_chromium, look
from look_test import ask, cells, check, check_quietly, check_sizes, click, link, text_of

SENTENCE = "I am a student of music."
THREE = ("reverse-rnn-plain", "reverse-rnn-attention", "reverse-transformer")


def numbers(browser, selector):
    return browser.js(f"[...document.querySelectorAll({json.dumps(selector)})].map(node => Number(node.textContent))")


def near(shown, values, most=6e-5):
    return len(shown) == len(values) and all(abs(a - b) < most for a, b in zip(shown, values))


def test_tour(browser, address):
    browser.size(1280, 900)
    browser.open(address)
    click(browser, "#tour")
    seen, views = [], []
    while True:
        title = browser.js("document.querySelector('.tour strong').textContent")
        stop = browser.js("document.querySelector('.tour .quiet').textContent")
        check_quietly(browser.js("document.querySelector('.tour p').textContent.length") > 60, f"{title} says something")
        check_quietly(title == "One sentence, from end to end" or browser.js("document.querySelectorAll('#view .pointed').length") == 1,
                      f"{title} points at a part of the page")
        # What it points at is on the screen, over the tour's own card.
        if browser.js("!!document.querySelector('.pointed')"):
            check_quietly(browser.js("document.querySelector('.pointed').getBoundingClientRect().top < document.querySelector('.tour').getBoundingClientRect().top"),
                          f"{title}: what it points at is seen")
        seen.append(title)
        views.append(browser.js("document.querySelector('#tabs [aria-current]').textContent"))
        count = int(stop.split(" of ")[1])
        here = link(browser, f"tour={len(seen)}")
        if len(seen) == count:
            break
        click(browser, "#next")
    check(len(seen) == count == len(set(seen)) and 13 <= count <= 18, f"the tour has {count} stops, every one is reached")
    check(views[0] == "Map" and {"Map", "Heads", "Step by step", "Positions", "Generate", "Ablate"} == set(views), "it uses the page's own views")
    browser.open(here)
    check(browser.js("document.querySelector('.tour strong').textContent") == seen[-1], "a link restores a stop")
    browser.open(f"{address}#tour=5")
    check(browser.js("document.querySelector('.tour strong').textContent") == seen[4] and text_of(browser, "tabs") != "" and
          browser.js("document.querySelector('#tabs [aria-current]').textContent") == views[4], "so does its number alone")
    # The number in the words of a stop is the engine's.
    answer = ask(address, "api/inspect", {"text": SENTENCE})
    place = browser.js("import('look/state').then(({ state }) => [state.stack, state.kind, state.layer, state.head, state.focus])")
    layer = next(a for a in answer["attention"] if [a["stack"], a["kind"], a["layer"]] == place[:3])
    row = layer["weights"][place[3]][place[4]]
    check(f"{max(row):.2f}" in browser.js("document.querySelector('.tour p').textContent"), "its numbers are the engine's")
    click(browser, "#skip")
    check(browser.js("document.querySelector('.tour').hidden"), "and it can be skipped")
    for width in (390, 1280):
        browser.size(width, 844, width == 390)
        for n in range(1, count + 1):
            browser.open(f"{address}#tour={n}")
            wider = browser.js("document.documentElement.scrollWidth") - width
            check_quietly(wider <= 0, f"stop {n} is {wider} pixels wider than {width}")
    check(True, "all stops fit 390 and 1280 pixels")
    browser.size(1280, 900)


def test_words(browser, address):
    """A glossary, who reads and who writes, and the head to begin with."""
    browser.open(f"{address}#view=heads")
    title = browser.js("document.querySelector('.card h3').textContent")
    check("(decoder, writing) attends to the source (encoder, reading)" in title, "a title says who reads and who writes")
    answer = ask(address, "api/inspect", {"text": SENTENCE})
    place = browser.js("import('look/state').then(({ state }) => [state.layer, state.head])")
    check(place[1] >= 0 and cells(browser) == next(a for a in answer["attention"] if a["kind"] == "cross" and a["layer"] == place[0])["weights"][place[1]],
          f"it begins at one head, layer {place[0] + 1}, head {place[1] + 1}")
    term = browser.js("(() => { const word = document.querySelector('dfn'); word.focus(); return word.dataset.term; })()")
    meaning = browser.js(f"import('look/glossary').then(({{ glossary }}) => glossary[{json.dumps(term)}])")
    check(meaning in text_of(browser, "tip") and not browser.js("document.getElementById('tip').hidden"), f"the glossary explains '{term}'")


def softmax(logits, temperature, k):
    kept = [math.exp((logit - logits[0]) / temperature) for logit in (logits[:k] if k else logits)]
    return [x / sum(kept) for x in kept]


def slide(browser, name, value):
    browser.js(f"(() => {{ const s = document.querySelector('input[name={name}]'); s.value = {value}; s.dispatchEvent(new Event('input')); }})()")


def test_end_of_walk(browser, address):
    answer = ask(address, "api/inspect", {"text": SENTENCE})
    place = {"stack": "decoder", "kind": "cross", "layer": 1, "head": 1, "token": 2}
    words = "&".join(f"{name}={value}" for name, value in place.items())
    browser.open(f"{address}#view=steps&text={quote_plus(SENTENCE)}&{words}")
    end = ask(address, "api/output", {"text": SENTENCE, "target": answer["target"]["ids"], **place})
    data = base64.b64decode(end["logits"])
    logits = struct.unpack(f"<{len(data) // 4}f", data)
    check(len(logits) == end["count"] and list(logits) == sorted(logits, reverse=True), "there is a logit for every word, the largest first")
    check(near(numbers(browser, '[data-step="logits"] .number')[:10], logits[:10]), "the page shows the engine's logits")
    shown = numbers(browser, "#drawn .number")
    check(near(shown[:8], [c["probability"] for c in answer["steps"][2]["candidates"]], 2e-4), "softmax over words is what Generate shows")
    slide(browser, "temperature", 0.5)
    check(near(numbers(browser, "#drawn .number"), softmax(logits, 0.5, 0)[:10]), "the temperature redraws it")
    slide(browser, "topk", 3)
    check(near(numbers(browser, "#drawn .signed:not(.masked) + .number"), softmax(logits, 0.5, 3)), "top-k cuts the rest off")
    browser.open(link(browser, "topk=3"))
    check(near(numbers(browser, "#drawn .signed:not(.masked) + .number"), softmax(logits, 0.5, 3)), "a link keeps both")
    # Bars go to both sides of zero, in the first head that has both.
    def scores_of(head):
        walk = ask(address, "api/trace", {"text": SENTENCE, "target": answer["target"]["ids"], **first, "head": head})
        return next(step for step in walk["steps"] if step["name"] == "scores")["values"]
    first = {"stack": "encoder", "kind": "self", "layer": 0, "token": 2}
    head = next(head for head in range(4) if min(scores_of(head)) < 0 < max(scores_of(head)))
    scores = scores_of(head)
    browser.open(f"{address}#view=steps&text={quote_plus(SENTENCE)}&stack=encoder&kind=self&layer=0&head={head}&token=2")
    browser.until("document.querySelectorAll('[data-step=\"scores\"] .signed i').length > 0")
    sides = browser.js("[...document.querySelectorAll('[data-step=\"scores\"] .signed i')].map(bar => bar.className)")
    check(sides == ["below" if x < 0 else "above" for x in scores] and len(set(sides)) == 2, "scores are bars around zero")
    browser.open(f"{address}#view=steps&text={quote_plus(SENTENCE)}&stack=decoder&kind=self&layer=0&head=0&token=2")
    after = len(answer["target"]["ids"]) - 3
    check(browser.js("document.querySelectorAll('[data-step=\"masked\"] .signed.masked').length") == after and
          browser.js("document.querySelectorAll('[data-step=\"softmax\"] .signed.masked').length") == after, "what is masked is seen to be")
    # A line of code opens in the page.
    where = browser.js("document.querySelector('[data-step=\"q\"] a.source').dataset.source")
    click(browser, '[data-step="q"] a.source')
    browser.until("!!document.querySelector('#source .here')")
    file, line = where.split(":")
    source = pathlib.Path(file).read_text().split("\n")
    check(browser.js("document.querySelector('#source .here').textContent") == source[int(line) - 1], f"{where} is shown with its line marked")
    browser.js("document.querySelector('#source button').click()")
    browser.until("document.getElementById('source').hidden")
    browser.open(f"{address}#view=steps&stack=encoder&kind=self&layer=0&head=0")
    check("cross-attention" in browser.js("document.querySelector('[data-step=\"what becomes of it\"]').textContent"), "the encoder's walk says where it goes on")


def test_positions(browser, address):
    for name in ("dates", "grammar"):
        browser.open(f"{address}#model={name}&view=positions")
        check(browser.js("document.getElementById('unordered').className") == "broken", f"{name} opens with a text that needs its order")
    for name, text in (("dates", "12/08/1956"), ("grammar", "the cat sees the dog .")):
        browser.open(f"{address}#model={name}&view=positions&text={quote_plus(text)}")
        moved = ask(address, f"models/{name}/api/states", {"text": text, "order": []})
        check(moved["without"]["difference"] < 1e-4 * moved["without"]["largest"] and moved["with"]["difference"] > 0.01 * moved["with"]["largest"],
              f"{name}: without positions the encoder is permutation equivariant, with them it is not")
        for side in ("with", "without"):
            check(abs(float(text_of(browser, "difference-" + side)) - moved[side]["difference"]) <= 0.06 * moved[side]["difference"], f"the page says how much, {side}")
        same = browser.js("[...document.querySelectorAll('[data-order]')].map(cell => [cell.dataset.order.split('-')[0], Number(cell.dataset.same)])")
        check(len(same) >= 4 and all(is_same == (which == "without") for which, is_same in same), "order decides with positions, and is lost without")
        plain = ask(address, f"models/{name}/api/inspect", {"text": text, "ablation": {"positions": False}})
        check(text_of(browser, "unordered") == plain["text"], "without positions the answer is the engine's")
    for text in ("12/08/1956", "21.03.1945"):
        browser.open(f"{address}#model=dates&view=positions&text={quote_plus(text)}")
        check(text_of(browser, "unordered") != text_of(browser, "translation"), f"and {text} breaks")


def test_three(browser, address):
    text = "apple boat cloud door earth fire grass hill ink jar"
    browser.open(f"{address}#model={THREE[2]}&view=compare")
    wrong = [browser.js(f"document.querySelectorAll('[data-network=\"{name}\"] .word.wrong').length") for name in THREE]
    check(wrong[0] > 0 and wrong[1:] == [0, 0], "it opens with words that one vector does not hold")
    browser.open(f"{address}#model={THREE[2]}&view=compare&text={quote_plus(text)}")
    for name in THREE:
        answer = ask(address, f"models/{name}/api/inspect", {"text": text})
        shown = browser.js(f"[...document.querySelectorAll('[data-network=\"{name}\"] .word')].map(word => word.textContent).join(' ')")
        check(shown == answer["text"], f"{name} says “{answer['text']}”")
        check((answer["text"].split() == text.split()[::-1]) == (name != THREE[0]), "right with attention, wrong without")
    states = ask(address, f"models/{THREE[0]}/api/states", {"text": text})
    check(f"{len(states['summary'])} numbers" in browser.js(f"document.querySelector('[data-network=\"{THREE[0]}\"]').textContent") and
          browser.js(f"document.querySelectorAll('[data-network=\"{THREE[0]}\"] canvas').length") == 1, "the bottleneck is one vector, drawn")
    browser.until("document.getElementById('told')?.textContent.includes('%')", 60)
    shares = browser.js("[...document.querySelectorAll('[data-share]')].map(dot => Number(dot.dataset.share))")
    curves = [ask(address, f"models/{name}/api/exact", {"language": "reverse", "count": 300}) for name in THREE]
    check(near(shares, [one["right"] / one["count"] for curve in curves for one in curve["lengths"]], 1e-9), "the curves are the engine's")
    first, last = curves[0]["lengths"][0], curves[0]["lengths"][-1]
    check(first["right"] / first["count"] > 0.9 and last["right"] / last["count"] < 0.1 and all(curve["right"] >= 0.97 * curve["count"] for curve in curves[1:]),
          "one vector holds few words; attention holds all")


def test_choices(browser, address):
    browser.open(address)
    names = browser.js("[...document.querySelectorAll('#switch option')].map(option => option.value)")
    check({"en-fr", "bert", "shakespeare", "dates", "grammar", *THREE} <= set(names), "shipped models can be chosen")
    for name in names:
        before = browser.js("performance.timeOrigin")
        browser.js(f"(() => {{ const s = document.getElementById('switch'); s.value = {json.dumps(name)}; s.dispatchEvent(new Event('change')); }})()")
        browser.until(f"performance.timeOrigin !== {before} && document.body.dataset.ready && document.getElementById('switch').value === {json.dumps(name)}")
        check_quietly(browser.js("document.getElementById('error').hidden"), f"{name} opens")
        check_quietly(browser.js("import('look/state').then(({ model }) => model.name)") == name, f"{name} is shown")
    check(True, "each of them opens")
    browser.open(f"{address}#model=dates")
    texts = browser.js("[...document.querySelectorAll('#telling option')].map(option => option.value).filter(Boolean)")
    before = browser.js("document.body.dataset.ready")
    browser.js(f"(() => {{ const s = document.getElementById('telling'); s.value = {json.dumps(texts[1])}; s.dispatchEvent(new Event('change')); }})()")
    browser.until(f"document.body.dataset.ready !== '{before}'")
    check(text_of(browser, "translation") == ask(address, "models/dates/api/inspect", {"text": texts[1]})["text"], "a telling sentence is picked")
    for text in texts:
        ask(address, "models/dates/api/inspect", {"text": text})


def test_broken_model(browser, attend):
    """A model that cannot be opened is said to be, and the page goes on with the first."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "models/broken").mkdir(parents=True)
        (folder / "models/broken/config.json").write_text('{"model_type": "transformer"}')
        with look(attend, "--model", str(pathlib.Path("models/dates").resolve()), folder=folder) as address:
            browser.open(f"{address}#model=broken")
            browser.until("document.getElementById('error').textContent.startsWith('broken cannot be opened')")
            check(text_of(browser, "translation") == "1987-03-03", "a broken model is said to be")


def test_small_things(browser, address):
    long = "The animal did not cross the street because it was too tired and the old man who reads a book in the garden told us that we are going to see him."
    for width in (390, 1280):
        browser.size(width, 900)
        browser.open(f"{address}#view=generate&step=99&text={quote_plus(long)}")
        kept = ask(address, "api/inspect", {"text": long})["beam"]
        check(browser.js("document.querySelectorAll('[data-node]').length") == len(kept) and
              browser.js("(() => { const f = document.querySelector('.wide .figure'); return f.scrollWidth - f.clientWidth; })()") <= 1, f"a long beam tree is whole at {width}")
    browser.open(f"{address}#view=heads")
    used = browser.js("(() => { const card = document.querySelector('.card').getBoundingClientRect(), v = document.querySelector('.values').getBoundingClientRect(); return (card.right - v.right) / card.width; })()")
    check(used < 0.1, "there is no empty third in Heads")
    said = browser.js("import('look/percent').then(({ percent }) => [0.9965, 0.99999, 1, 0.5, 0.00001].map(percent))")
    check(said == ["99.7 %", "over 99.9 %", "100 %", "50 %", "under 0.1 %"], "99.65 % is not 100 %")
    browser.size(390, 844)
    browser.open(f"{address}#view=map")
    browser.until("document.querySelector('nav').className === 'more-right'")
    check(True, "what can be scrolled says so")
    browser.size(1280, 900)


def test_export(browser, attend):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        subprocess.run([attend, "look", "--text", SENTENCE, "--export", path], check=True)
        browser.open(path.as_uri() + "#view=steps")
        check(browser.js("document.querySelectorAll('#drawn .signed').length") > 5, "an exported walk goes on to the end")
        slide(browser, "temperature", 1.5)
        check(len(numbers(browser, "#drawn .number")) > 5 and browser.js("document.querySelector('a.source') === null"), "its sliders work without a server")


def main():
    attend, chromium = str(pathlib.Path(sys.argv[1]).resolve()), find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with look(attend) as address, Browser(chromium) as browser:
        test_tour(browser, address)
        test_words(browser, address)
        test_end_of_walk(browser, address)
        test_positions(browser, address)
        test_three(browser, address)
        test_choices(browser, address)
        test_broken_model(browser, attend)
        test_small_things(browser, address)
        test_export(browser, attend)
        check_sizes(browser, address, ("compare",), f"model={THREE[0]}&")
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
