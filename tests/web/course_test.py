#!/usr/bin/env python3
"""What the page has for a lecture, in a real browser: tests/web/course_test.py BUILD/attend. All heads in colours, numbers
that a person types, the course. Leaves with 77, "skipped", where Chromium is absent."""
import json
import pathlib
import re
import sys
from urllib.parse import quote_plus

from browser import Browser, find_chromium, look
from look_test import ask, check, check_quietly, click, link, text_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTENCE = "I did not buy the car because it was too expensive."


def curves(browser, head=""):
    """Lines that are seen, of one head or of all."""
    return browser.js(f"[...document.querySelectorAll('[data-curve{head}]')].filter(line => Number(line.getAttribute('stroke-opacity')) > 0).length")


def test_all_heads(browser, address):
    browser.size(1280, 800)
    browser.open(f"{address}#view=all-heads&stack=encoder&kind=self&layer=4&head=0&text={quote_plus(SENTENCE)}")
    layer = next(a for a in ask(address, "api/inspect", {"text": SENTENCE})["attention"] if a["stack"] == "encoder" and a["layer"] == 4)
    drawn = [sum(w >= 0.03 for row in head for w in row) for head in layer["weights"]]
    check([curves(browser, f'="{i}"') for i in range(len(drawn))] == drawn, "every head has its lines")
    colors = browser.js("[...new Set([...document.querySelectorAll('[data-curve]')].map(line => getComputedStyle(line).stroke))].length")
    check(colors == len(drawn), "and a colour of its own")
    click(browser, '[data-color="1"]')
    check(curves(browser, '="1"') == 0 and curves(browser) == sum(drawn) - drawn[1], "a click on its colour switches a head off")
    browser.open(link(browser, "off=1"))
    check(curves(browser, '="1"') == 0, "a link restores it")
    click(browser, '[data-color="1"]')
    browser.js("document.querySelector('[data-query=\"7\"]').dispatchEvent(new MouseEvent('mouseenter'))")
    check(curves(browser) == sum(w >= 0.03 for head in layer["weights"] for w in head[7]), "pointing at a word leaves its own lines")
    check(text_of(browser, "word-role") == "‘it’ attends most to:", "and says where it attends")
    tops = browser.js("[...document.querySelectorAll('.head-tops .number')].map(node => node.textContent)")
    check(tops == [f"{max(head[7]):.2f}" for head in layer["weights"]], "head by head")


def table(browser, name):
    return browser.js(f"[...document.querySelectorAll('[data-worked={name}] tr')].map(row => [...row.querySelectorAll('td.number')].map(cell => cell.textContent)).filter(row => row.length)")


def type_into(browser, selector, value, event="input"):
    browser.js(f"(() => {{ const box = document.querySelector({json.dumps(selector)}); box.value = {json.dumps(value)}; box.dispatchEvent(new Event('{event}')); }})()")


def test_numbers(browser, address):
    browser.open(f"{address}#view=numbers")
    shown = [table(browser, name) for name in ("scores", "scaled", "weights", "output")]
    check(shown == [[["112", "96"]], [["14", "12"]], [["0.88", "0.12"]], [["0.88", "0.12", "5.00"]]], "the slide: 112 and 96, 14 and 12, 0.88 and 0.12, the weighted sum")
    type_into(browser, '[aria-label="Thinking, all columns"]', "2")
    browser.until("document.querySelector('[data-worked=scores] td.number').textContent === '224'")
    check(table(browser, "scaled") == [["28", "24"]], "a number that is typed changes every step at once")
    browser.open(link(browser, "q="))
    check(table(browser, "scores") == [["224", "192"]], "a link restores the numbers")
    # Dragging a cell to the right makes its number larger.
    x, y = browser.js("(edge => [edge.left + 20, edge.top + 10])(document.querySelector('[data-matrix=v] .cell').getBoundingClientRect())")
    for kind, at, buttons in (("mousePressed", x, 1), ("mouseMoved", x + 12, 1), ("mouseMoved", x + 24, 1), ("mouseReleased", x + 24, 0)):
        browser.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=buttons, clickCount=1)
    browser.until("document.querySelector('[data-matrix=v] .cell').value === '2'")
    browser.until("document.querySelector('[data-worked=output] td.number').textContent === '1.96'")
    check(True, "a number that is dragged, too")
    type_into(browser, "[data-matrix=k] textarea", "a 1 2\nb 1")
    browser.until("document.querySelector('.wrong').textContent")
    check("row 2 has 1 numbers, row 1 has 2" in browser.js("document.querySelector('.wrong').textContent"), "ragged rows are refused in words")
    click(browser, '[aria-label="example"] button:nth-child(2)')
    check("artist → 0.49 étudiant + 0.49 tableau" in text_of(browser, "mixture"), "a query between two keys gets both values")
    click(browser, ".flip:not(.on)")
    check(table(browser, "weights")[0] == ["–", "–", "–"] and "--example dictionary --mask causal" in text_of(browser, "worked-command"), "a mask hides later keys, and the command says so")
    same = ask(address, "api/worked", {"example": "dictionary"})
    check(same["steps"][2]["formula"] == "weights = softmax of each row" and len(same["weights"]) == 4, "the API has the same steps")


def test_course(browser, address):
    browser.open(f"{address}#view=course")
    browser.until("document.querySelectorAll('.course-list li').length > 15")
    titles = browser.js("[...document.querySelectorAll('.course-list li button')].map(button => button.firstChild.textContent)")
    page = (ROOT / "docs/lectures.md").read_text()
    check(titles == [title for title in re.findall(r"^## (.*)", page, re.M) if title != "Not here"], f"the course has the {len(titles)} topics of docs/lectures.md")
    for n in range(1, len(titles)):
        check_quietly(browser.js("document.querySelector('article h2').textContent") == titles[n - 1], f"stop {n} is {titles[n - 1]}")
        for selector in (".commands code", '[data-mark="Try this"]', '[data-mark="What to expect"]', '[data-mark="In the code"] a.source', "#stop-page"):
            check_quietly(browser.js(f"!!document.querySelector('article {selector}')"), f"{titles[n - 1]} has {selector}")
        browser.until("[...document.querySelectorAll('article img')].every(image => image.complete && image.naturalWidth > 0)")
        click(browser, "#stop-next")
    check(True, "every stop has a command, something to try, what to expect, a line of code and a view")
    browser.open(f"{address}#view=course")
    check(browser.js("document.querySelector('article h2').textContent") == titles[-1], "the browser remembers where one is")
    browser.open(f"{address}#view=course&course={titles.index('Attention with numbers') + 1}")
    click(browser, '[data-mark="In the code"] a.source')
    browser.until("!!document.querySelector('#source .here')")
    check("softmax_of" in browser.js("document.querySelector('#source .here').textContent"), "a link shows the line of code")
    it = 'What is "it"?'
    browser.open(f"{address}#view=course&course={titles.index(it) + 1}")
    browser.js("document.querySelector('#stop-page').click()")
    browser.until("document.body.dataset.ready && document.querySelector('#switch').value === 'pronouns' && !document.querySelector('.tour').hidden")
    check(browser.js("document.querySelector('.tour strong').textContent") == it and browser.js("document.querySelector('#tabs [aria-current]').textContent") == "Map", "“see it here” opens the view, with the stop beside it")
    click(browser, "#back")
    check(browser.js("document.querySelector('article h2').textContent") == it, "and back")


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with look(attend) as address, Browser(chromium) as browser:
        test_all_heads(browser, address)
        test_numbers(browser, address)
        test_course(browser, address)
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
