// Elements, colours and pictures that several views share.

export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "text", "line", "path", "title", "circle"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

export const dark = () => document.documentElement.dataset.theme === "dark";

// Weight: brightness alone, one hue (reads in grey and to colour-blind eyes).
const light = [[250, 250, 248], [196, 216, 233], [120, 167, 208], [46, 106, 165], [10, 40, 88]];
const night = [[28, 32, 37], [35, 62, 88], [48, 108, 158], [104, 174, 232], [226, 241, 252]];
function between(stops, x) {
  const at = Math.max(0, Math.min(1, x)) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((a, k) => Math.round(a + (stops[i + 1][k] - a) * (at - i)));
}
export const weightColor = w => `rgb(${between(dark() ? night : light, w)})`;
// Signed values: blue below zero, orange above (a pair that stays apart for colour-blind eyes).
export function signedColor(x, most) {
  if (x === null) return dark() ? "#3a3f45" : "#d5d7d9";
  const middle = dark() ? [28, 32, 37] : [250, 250, 248], end = x < 0 ? [33, 113, 181] : [230, 119, 20];
  const t = Math.min(1, Math.sqrt(Math.abs(x) / (most || 1)));
  return `rgb(${middle.map((a, k) => Math.round(a + (end[k] - a) * t))})`;
}

export const shown = piece => piece.replace(/^\s+|\s+$/g, "").replace(/[\n\t]/g, " ") || "␣";
export const short = (piece, most = 14) => { const s = shown(piece); return s.length > most ? s.slice(0, most - 1) + "…" : s; };
const widthOf = text => 8.2 * text.length;

export function thumbnail(weights) {
  const rows = weights.length, columns = weights[0].length;
  const canvas = h("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d"), image = pen.createImageData(columns, rows), stops = dark() ? night : light;
  for (let r = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) image.data.set([...between(stops, weights[r][c]), 255], 4 * (r * columns + c));
  pen.putImageData(image, 0, 0);
  return canvas;
}

// A matrix with its tokens. count: how many rows are there yet (Generate draws a growing one).
export function matrixPicture({ rows, columns, weights, count = weights.length, active = -1, onrow = () => {} }) {
  const down = rows.map(piece => short(piece)), across = columns.map(piece => short(piece));
  const left = 14 + Math.max(30, ...down.map(widthOf)), top = 16 + 0.72 * Math.max(30, ...across.map(widthOf));
  const cell = Math.max(16, Math.min(34, 560 / Math.max(columns.length, 1)));
  const width = left + cell * columns.length + 50, height = top + cell * rows.length + 8;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 14, role: "img", "aria-label": "attention matrix" });
  across.forEach((word, c) => {
    const x = left + (c + 0.6) * cell, y = top - 8;
    picture.append(h("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, word));
  });
  rows.forEach((_, r) => {
    const line = h("g", { class: "row", onmouseenter: () => onrow(r), onclick: () => onrow(r) });
    line.append(h("text", { x: left - 8, y: top + (r + 0.5) * cell + 5, "text-anchor": "end", "font-weight": r === active ? 700 : 400 },
      r < count ? down[r] : ""));
    if (r < count) weights[r].forEach((w, c) => line.append(
      h("rect", { x: left + c * cell, y: top + r * cell, width: cell + 0.3, height: cell + 0.3, fill: weightColor(w), "data-weight": w, "shape-rendering": "crispEdges" },
        h("title", {}, `${shown(rows[r])} → ${shown(columns[c])}: ${w.toFixed(4)}`))));
    picture.append(line);
  });
  if (active >= 0) picture.append(h("rect", { x: left, y: top + active * cell, width: cell * columns.length, height: cell, fill: "none", stroke: "var(--accent)", "stroke-width": 2 }));
  picture.append(h("rect", { x: left, y: top, width: cell * columns.length, height: cell * rows.length, fill: "none", stroke: "var(--line)" }));
  return picture;
}

// Tokens in two columns and lines between them, as thick as the weight.
export function linesPicture({ rows, columns, weights, active = -1, onrow = () => {} }) {
  const step = 30, x1 = 16 + Math.max(60, ...rows.map(p => widthOf(short(p)))), x2 = x1 + 190;
  const width = x2 + 16 + Math.max(60, ...columns.map(p => widthOf(short(p)))), height = step * Math.max(rows.length, columns.length) + 16;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 15, role: "img", "aria-label": "attention lines" });
  const y = i => 24 + i * step;
  rows.forEach((_, r) => weights[r].forEach((w, c) => {
    if (w < 0.02 || (active >= 0 && r !== active)) return;
    picture.append(h("line", { x1: x1 + 6, y1: y(r) - 5, x2: x2 - 6, y2: y(c) - 5, stroke: "var(--accent)", "stroke-width": 1 + 4 * w,
      "stroke-opacity": (active >= 0 ? 0.15 : 0.05) + 0.85 * w, "stroke-linecap": "round" }));
  }));
  rows.forEach((piece, r) => picture.append(h("text", { x: x1, y: y(r), "text-anchor": "end", "font-weight": r === active ? 700 : 400, style: "cursor:pointer",
    onmouseenter: () => onrow(r), onclick: () => onrow(r) }, short(piece))));
  columns.forEach((piece, c) => picture.append(h("text", { x: x2, y: y(c), "fill-opacity": active < 0 ? 1 : 0.35 + 0.65 * Math.min(1, 2 * weights[active][c]) }, short(piece))));
  return picture;
}

// A vector or matrix as a strip of coloured cells, one pixel a number.
export function strip(values, columns, most) {
  const rows = values.length / columns, canvas = h("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  values.forEach((x, i) => { pen.fillStyle = signedColor(x, most); pen.fillRect(i % columns, Math.floor(i / columns), 1, 1); });
  canvas.style.height = Math.max(rows * 14, 22) + "px";
  return canvas;
}

function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The picture as a file of its own: colours that the page's style gives are written into it.
export function svgText(picture) {
  const copy = picture.cloneNode(true), style = getComputedStyle(document.documentElement);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "Helvetica, Arial, 'DejaVu Sans', sans-serif");
  copy.prepend(h("rect", { width: "100%", height: "100%", fill: style.getPropertyValue("--card").trim() }));
  for (const text of copy.querySelectorAll("text")) if (!text.hasAttribute("fill")) text.setAttribute("fill", style.getPropertyValue("--ink").trim());
  return new XMLSerializer().serializeToString(copy).replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

async function savePng(name, picture) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(picture));
  await image.decode();
  const box = picture.viewBox.baseVal, canvas = h("canvas", { width: 2 * box.width, height: 2 * box.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob(blob => download(name + ".png", blob));
}

// A picture with its two buttons.
export function figure(name, picture) {
  return h("div", {}, h("div", { class: "figure" }, picture), h("div", { class: "saves" }, "",
    h("button", { class: "plain", onclick: () => download(name + ".svg", new Blob([svgText(picture)], { type: "image/svg+xml" })) }, "Save SVG"),
    h("button", { class: "plain", onclick: () => savePng(name, picture) }, "Save PNG")));
}

// A row of small buttons of which one is on.
export function choice(name, values, now, pick) {
  return h("div", { class: "group", role: "group", "aria-label": name }, ...values.map(([value, text]) =>
    h("button", { type: "button", class: value === now ? "on" : "", "aria-pressed": String(value === now), onclick: () => pick(value) }, text)));
}
