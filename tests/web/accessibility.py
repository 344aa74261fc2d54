"""What a page must have for keyboards, screen readers and weak eyes (WCAG 2.1 AA), asked of Chromium: names and roles from the
browser's own accessibility tree, contrast and landmarks from the document, focus by pressing Tab. problems(browser) is a list of
sentences; an empty one is a pass."""

NAMED = {"button", "link", "textbox", "searchbox", "combobox", "slider", "checkbox", "radio", "tab", "menuitem", "spinbutton", "img", "image", "switch",
         "progressbar", "Canvas"}

DOCUMENT = r"""(() => {
  const wrong = [], all = [...document.querySelectorAll('body *')];
  const about = e => `<${e.tagName.toLowerCase()}${e.id ? ' id=' + e.id : ''}${e.className?.baseVal ?? e.className ? ' class=' + (e.className?.baseVal ?? e.className) : ''}> ${(e.textContent || '').trim().slice(0, 30)}`;
  const seen = e => e.checkVisibility?.({ checkOpacity: true, checkVisibilityCSS: true }) ?? true;
  if (!document.documentElement.lang) wrong.push('the document has no lang');
  if (!document.title.trim()) wrong.push('the document has no title');
  const mains = [...document.querySelectorAll('main, [role=main]')].filter(seen);
  if (mains.length !== 1) wrong.push(`${mains.length} main landmarks`);
  if (![...document.querySelectorAll('header, [role=banner]')].some(seen)) wrong.push('no banner');
  const count = {};
  for (const e of document.querySelectorAll('[id]')) count[e.id] = (count[e.id] || 0) + 1;
  for (const [id, n] of Object.entries(count)) if (n > 1) wrong.push(`${n} elements have the id ${id}`);
  for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for'])
    for (const e of document.querySelectorAll(`[${name}]`))
      for (const id of e.getAttribute(name).split(/\s+/)) if (id && !document.getElementById(id)) wrong.push(`${about(e)}: ${name} names no element`);
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (!seen(e)) continue;
    const now = Number(e.tagName[1]);
    if (now > level + 1 && level) wrong.push(`${about(e)}: h${now} behind h${level}`);
    level = now;
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) wrong.push(`${about(e)}: a tabindex above 0`);
  for (const e of document.querySelectorAll('img')) if (seen(e) && !e.hasAttribute('alt')) wrong.push(`${about(e)}: an image without alt: ${e.src.slice(-40)}`);
  // Contrast of text against the first background behind it that is not transparent.
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return text.startsWith('color(') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const [r, g, b] = c.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const style = getComputedStyle(at), colour = parse(style.backgroundColor);
      if (style.backgroundImage !== 'none') return null;  // nothing is known
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), document.documentElement.dataset.theme === 'dark' || (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches) ? [0, 0, 0, 1] : [255, 255, 255, 1]);
  };
  const told = new Set();
  for (const e of all) {
    if (e.closest('svg, canvas, script, style, option') || !seen(e)) continue;
    if (![...e.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    if (e.closest('[disabled], [aria-disabled=true]')) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700, under = ground(e);
    if (!under || e.getBoundingClientRect().width < 2) continue;
    const ink = over(parse(style.color), under), [a, b] = [light(ink), light(under)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const least = size >= 24 || bold && size >= 18.66 ? 3 : 4.5, key = style.color + under;
    if (ratio < least - 0.01 && !told.has(key)) told.add(key), wrong.push(`${about(e)}: contrast ${ratio.toFixed(2)} (${style.color} on ${under.slice(0, 3).map(Math.round)}), at least ${least}`);
  }
  return wrong;
})()"""

FOCUS = """(() => { const e = document.activeElement; if (!e || e === document.body) return null;
  window.tabStops ??= new Map(); if (!window.tabStops.has(e)) window.tabStops.set(e, window.tabStops.size);
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const before = window.tabBefore; window.tabBefore = e;
  return { stop: window.tabStops.get(e), name: e.outerHTML.slice(0, 90), marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none',
    shown: box.width > 0 && box.height > 0, back: Boolean(before?.isConnected && before !== e && before.compareDocumentPosition(e) & 2) }; })()"""


def named(browser):
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    browser.call("Accessibility.disable")
    for node in nodes:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in NAMED or node.get("name", {}).get("value", "").strip():
            continue
        node_id = node.get("backendDOMNodeId")
        shown = ""
        if node_id:
            shown = browser.call("DOM.getOuterHTML", backendNodeId=node_id)["outerHTML"][:100]
        yield f"a {role} without a name: {shown}"


def focused(browser, most=60):
    """Tab goes through the page in the order of the document, each stop is seen and marked, and none is a trap."""
    browser.js("document.activeElement?.blur(); window.tabStops = window.tabBefore = undefined; scrollTo(0, 0)")
    last = None
    for _ in range(most):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        at = browser.js(FOCUS)
        if at is None or at["stop"] == 0 and last is not None:
            return  # around
        if at["stop"] == last:
            yield f"Tab does not leave {at['name']}"
            return
        if not at["shown"]:
            yield f"Tab reaches what is not shown: {at['name']}"
        elif not at["marked"]:
            yield f"no mark of the focus: {at['name']}"
        if at["back"]:
            yield f"Tab goes back to {at['name']}"
        last = at["stop"]


def problems(browser):
    return [*browser.js(DOCUMENT), *named(browser), *focused(browser)]
