// Elements, colours and figures that several views share.

export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "text", "line", "path", "title", "circle", "image"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

export const dark = () => document.documentElement.dataset.theme === "dark";

// Weight: brightness alone, one hue (reads in grey and to colour-blind eyes). Weak weights are lifted, so that attention
// spread over 40 tokens is seen too; every matrix has its scale below it.
const lifted = w => Math.max(0, Math.min(1, w)) ** 0.7;
const light = [[250, 250, 248], [196, 216, 233], [120, 167, 208], [46, 106, 165], [10, 40, 88]];
const night = [[28, 32, 37], [35, 62, 88], [48, 108, 158], [104, 174, 232], [226, 241, 252]];
function between(stops, x) {
  const at = Math.max(0, Math.min(1, x)) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((a, k) => Math.round(a + (stops[i + 1][k] - a) * (at - i)));
}
const names = new Map();
export function weightColor(w) {
  const stops = dark() ? night : light, at = Math.round(255 * Math.max(0, Math.min(1, w)));
  if (!names.has(stops)) names.set(stops, Array.from({ length: 256 }, (_, i) => `rgb(${between(stops, lifted(i / 255))})`));
  return names.get(stops)[at];
}
// Signed values: blue below zero, orange above (a pair that stays apart for colour-blind eyes).
export function signedColor(x, most) {
  if (x === null) return dark() ? "#3a3f45" : "#d5d7d9";
  const middle = dark() ? [28, 32, 37] : [250, 250, 248], end = x < 0 ? [33, 113, 181] : [230, 119, 20];
  const t = Math.min(1, Math.sqrt(Math.abs(x) / (most || 1)));
  return `rgb(${middle.map((a, k) => Math.round(a + (end[k] - a) * t))})`;
}

// The accent of the theme as [r, g, b].
export function accent() {
  const name = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  return [1, 3, 5].map(at => parseInt(name.slice(at, at + 2), 16));
}

export const shown = piece => piece.replace(/^\s+|\s+$/g, "").replace(/[\n\t]/g, " ") || (piece.includes("\n") ? "⏎" : "␣");
export const short = (piece, most = 14) => { const s = shown(piece); return s.length > most ? s.slice(0, most - 1) + "…" : s; };
// Room that a word takes at 14 pixels; Chinese, Japanese and Korean take twice as much.
export const widthOf = text => [...text].reduce((sum, c) => sum + (c > "\u2e7f" && c < "\ud7ff" ? 15 : "ijl.,'|:;!".includes(c) ? 5 : "mwMW<>@%".includes(c) ? 12.5 : c < "a" ? 10 : 9), 4);

// The colours of 256 weights as pixels: a page of heads has 200,000 cells.
const tables = new Map();
function pixels() {
  const stops = dark() ? night : light;
  if (!tables.has(stops)) tables.set(stops, Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = between(stops, lifted(i / 255));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }));
  return tables.get(stops);
}

// Cells that nobody may look at are neither dark nor bright, but barred: a grey of their own.
const bar = () => dark() ? [74, 69, 62] : [214, 208, 198];
export const barColor = () => `rgb(${bar()})`;

// One pixel a weight; rows from count on stay empty. barred(row, column): that cell is out of sight.
export function paint(canvas, weights, count = weights.length, barred = null) {
  const rows = weights.length, columns = weights[0].length, colors = pixels(), cells = new Uint32Array(rows * columns);
  const [red, green, blue] = bar(), closed = (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
  for (let r = 0, i = 0; r < count; ++r)
    for (let c = 0; c < columns; ++c) cells[i++] = barred?.(r, c) ? closed : colors[Math.min(255, Math.round(255 * weights[r][c]))];
  if (canvas.width !== columns || canvas.height !== rows) canvas.width = columns, canvas.height = rows;
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(cells.buffer), columns, rows), 0, 0);
  return canvas;
}
export const thumbnail = (weights, barred = null) => paint(h("canvas", { width: weights[0].length, height: weights.length }), weights, weights.length, barred);

// A vector or matrix as a strip of coloured cells, one pixel a number.
export function strip(values, columns, most) {
  const rows = values.length / columns, canvas = h("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  values.forEach((x, i) => { pen.fillStyle = signedColor(x, most); pen.fillRect(i % columns, Math.floor(i / columns), 1, 1); });
  canvas.style.height = Math.max(rows * 14, 22) + "px";
  return canvas;
}

// Thumbnails as one SVG, for saving: their pixels become images in it.
export function thumbnailsFigure(entries, columns) {
  const side = 96, gap = 12, rows = Math.ceil(entries.length / columns), width = columns * (side + gap) + gap, height = rows * (side + gap + 18) + gap;
  const drawing = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 11 });
  entries.forEach(([title, canvas], i) => {
    const x = gap + (i % columns) * (side + gap), y = gap + Math.floor(i / columns) * (side + gap + 18);
    const small = Math.min(11, 11 * side / (11 / 14 * widthOf(title)));  // a long title is written smaller, never cut
    drawing.append(h("text", { x, y: y + 10, "font-size": small.toFixed(1) }, title), h("image", { x, y: y + 16, width: side, height: side, href: canvas.toDataURL(), preserveAspectRatio: "none", style: "image-rendering:pixelated" }),
      h("rect", { x, y: y + 16, width: side, height: side, fill: "none", stroke: "var(--line)" }));
  });
  return drawing;
}

function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The figure as a file of its own: under a title that is never cut, with the colours that the page's style gives it.
const wholeOf = drawing => drawing.whole ? drawing.whole() : drawing;
function titleLines(width) {
  const lines = [""], words = document.title.replace(/ · attend look$/, "").split(" ");
  for (const word of words) {
    const longer = (lines[lines.length - 1] + " " + word).trim();
    if (lines[lines.length - 1] && 1.15 * widthOf(longer) > width - 16) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.filter(Boolean);
}
function standalone(drawing) {
  const whole = wholeOf(drawing), box = whole.viewBox.baseVal, style = getComputedStyle(document.documentElement), color = name => style.getPropertyValue(name).trim();
  const lines = titleLines(Math.max(240, box.width)), width = Math.max(box.width, 16 + 1.15 * Math.max(0, ...lines.map(widthOf))), top = 22 * lines.length + 10, height = box.height + top;
  const body = h("g", { transform: `translate(0 ${top})`, ...(whole.hasAttribute("font-size") ? { "font-size": whole.getAttribute("font-size") } : {}) }, ...[...whole.childNodes].map(node => node.cloneNode(true)));
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "Helvetica, Arial, 'DejaVu Sans', sans-serif" },
    h("rect", { width: "100%", height: "100%", fill: color("--card") }), ...lines.map((line, i) => h("text", { x: 8, y: 22 * (i + 1), "font-size": 16, "font-weight": 700 }, line)), body);
  for (const text of svg.querySelectorAll("text")) if (!text.hasAttribute("fill")) text.setAttribute("fill", color("--ink"));
  return { width, height, text: new XMLSerializer().serializeToString(svg).replace(/var\((--\w+)\)/g, (_, name) => color(name)) };
}
export const svgText = drawing => standalone(drawing).text;

async function savePng(name, drawing) {
  const image = new Image(), { width, height, text } = standalone(drawing);
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob(blob => download(name + ".png", blob));
}

// The two buttons under a figure. Both the name and the drawing may be functions that make them when they are wanted.
export function saves(name, drawing) {
  const made = thing => typeof thing === "function" ? thing() : thing;
  return h("div", { class: "saves" },
    h("button", { class: "plain", onclick: () => download(made(name) + ".svg", new Blob([svgText(made(drawing))], { type: "image/svg+xml" })) }, "Save SVG"),
    h("button", { class: "plain", onclick: () => savePng(made(name), made(drawing)) }, "Save PNG"));
}
export const figure = (name, drawing) => h("div", {}, h("div", { class: "figure" }, drawing), saves(name, drawing));

// A row of small buttons of which one is on; show(value) says which.
export function choice(name, values, now, pick) {
  const buttons = values.map(([value, text]) => h("button", { type: "button", onclick: () => pick(value) }, text));
  const group = h("div", { class: "group", role: "group", "aria-label": name }, ...buttons);
  let on = null;
  const mark = (button, pressed) => { button.className = pressed ? "on" : ""; button.setAttribute("aria-pressed", String(pressed)); };
  buttons.forEach(button => mark(button, false));
  group.show = value => {
    const next = buttons[values.findIndex(([one]) => one === value)] || null;
    if (next === on) return;
    if (on) mark(on, false);
    if (next) mark(next, true);
    on = next;
  };
  group.show(now);
  return group;
}

// Text that is there already is not put there again: that would lay the page out anew.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
