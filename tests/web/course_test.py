#!/usr/bin/env python3
"""What the page has for a lecture, in a real browser: tests/web/course_test.py BUILD/attend. All heads in colours, numbers
that a person types, the course. Leaves with 77, "skipped", where Chromium is absent."""
import sys
from urllib.parse import quote_plus

from browser import Browser, find_chromium, look
from look_test import ask, check, check_quietly, click, link, text_of

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


def main():
    attend, chromium = sys.argv[1], find_chromium()
    if not chromium:
        print("skipped: there is no chromium here")
        return 77
    with look(attend) as address, Browser(chromium) as browser:
        test_all_heads(browser, address)
        check(not browser.problems, f"no script failed {browser.problems}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
