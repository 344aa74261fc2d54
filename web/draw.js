// Elements, colours and pictures that several views share.

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

export const shown = piece => piece.replace(/^\s+|\s+$/g, "").replace(/[\n\t]/g, " ") || (piece.includes("\n") ? "⏎" : "␣");
export const short = (piece, most = 14) => { const s = shown(piece); return s.length > most ? s.slice(0, most - 1) + "…" : s; };
// Room that a word takes at 14 pixels; Chinese, Japanese and Korean take twice as much.
const widthOf = text => [...text].reduce((sum, c) => sum + (c > "\u2e7f" && c < "\ud7ff" ? 15 : "ijl.,'|:;!".includes(c) ? 5 : "mwMW<>@%".includes(c) ? 12.5 : c < "a" ? 10 : 9), 4);

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

export function paint(canvas, weights) {
  const rows = weights.length, columns = weights[0].length, colors = pixels(), cells = new Uint32Array(rows * columns);
  for (let r = 0, i = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) cells[i++] = colors[Math.min(255, Math.round(255 * weights[r][c]))];
  if (canvas.width !== columns || canvas.height !== rows) canvas.width = columns, canvas.height = rows;
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(cells.buffer), columns, rows), 0, 0);
  return canvas;
}
export const thumbnail = weights => paint(h("canvas", { width: weights[0].length, height: weights.length }), weights);

// A matrix with its tokens. count: how many rows are there yet (Generate draws a growing one); onrow hears which row is
// pointed at, onpick which is clicked.
export function matrixPicture({ rows, columns, weights, count = weights.length, active = -1, onrow = () => {}, onpick = onrow }) {
  const down = rows.map(piece => short(piece)), across = columns.map(piece => short(piece));
  const left = 14 + Math.max(30, ...down.map(widthOf)), top = 16 + 0.72 * Math.max(30, ...across.map(widthOf));
  const cell = Math.max(16, Math.min(34, 560 / Math.max(columns.length, 1)));
  const width = Math.max(left + cell * columns.length + 50, left + 160), height = top + cell * rows.length + 30, below = height - 16;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 14, role: "img", "aria-label": "attention matrix" });
  picture.append(h("g", { class: "scale", "font-size": 11, "fill-opacity": 0.7 }, h("text", { x: left, y: below + 10 }, "0"), h("text", { x: left + 118, y: below + 10 }, "1"),
    ...Array.from({ length: 10 }, (_, i) => h("rect", { x: left + 12 + 10 * i, y: below, width: 10.3, height: 10, fill: weightColor(i / 9), "fill-opacity": 1 }))));
  across.forEach((word, c) => {
    const x = left + (c + 0.6) * cell, y = top - 8;
    picture.append(h("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, word));
  });
  rows.forEach((_, r) => {
    const line = h("g", { class: "row", "data-row": r, "shape-rendering": "crispEdges" });
    // As text, which the browser reads five times as fast as it makes elements: a sentence of 40 has 1600 cells.
    if (r < count) line.innerHTML = weights[r].map((w, c) =>
      `<rect x="${left + c * cell}" y="${top + r * cell}" width="${cell + 0.3}" height="${cell + 0.3}" fill="${weightColor(w)}" data-weight="${w}" data-column="${c}"/>`).join("");
    line.prepend(h("text", { x: left - 8, y: top + (r + 0.5) * cell + 5, "text-anchor": "end", "font-weight": r === active ? 700 : 400 },
      r < count ? down[r] : ""));
    picture.append(line);
  });
  if (active >= 0) picture.append(h("rect", { x: left, y: top + active * cell, width: cell * columns.length, height: cell, fill: "none", stroke: "var(--accent)", "stroke-width": 2, "pointer-events": "none" }));
  picture.append(h("rect", { x: left, y: top, width: cell * columns.length, height: cell * rows.length, fill: "none", stroke: "var(--line)", "pointer-events": "none" }));
  const rowOf = event => Number(event.target.closest?.(".row")?.dataset.row ?? -1);
  picture.addEventListener("mouseover", event => {
    const r = rowOf(event), c = event.target.dataset?.column;
    picture.setAttribute("data-tip", r >= 0 && c !== undefined ? `${shown(rows[r])} → ${shown(columns[c])}: ${weights[r][c].toFixed(4)}` : "");
    if (r >= 0) onrow(r, c === undefined ? -1 : Number(c));
  });
  picture.addEventListener("click", event => { const r = rowOf(event); if (r >= 0) onpick(r); });
  // Other weights of the same tokens: only cells that change are touched.
  picture.update = others => {
    picture.querySelectorAll(".row").forEach((line, r) => line.querySelectorAll("rect").forEach((rect, c) => {
      if (weights[r][c] === others[r][c]) return;
      rect.setAttribute("fill", weightColor(others[r][c]));
      rect.setAttribute("data-weight", others[r][c]);
    }));
    weights = others;
  };
  return picture;
}

// Tokens in two columns and lines between them, as thick as the weight. show(row) points at one; -1: all of them. Only
// what changes is touched: this runs at every move of the mouse.
export function linesPicture({ rows, columns, weights, onrow = () => {}, onpick = onrow }) {
  const step = rows.length > 24 || columns.length > 24 ? 22 : 30;
  const x1 = 16 + Math.max(60, ...rows.map(p => widthOf(short(p)))), x2 = x1 + 190;
  const width = x2 + 16 + Math.max(60, ...columns.map(p => widthOf(short(p)))), height = step * Math.max(rows.length, columns.length) + 16;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": step > 24 ? 15 : 13, role: "img", "aria-label": "attention lines" });
  const y = i => 24 + i * step;
  const fans = rows.map(() => h("g", { stroke: "var(--accent)", "stroke-linecap": "round" }));
  const fill = (fan, r) => { fan.innerHTML = weights[r].map((w, c) => w < 0.02 ? "" :
    `<line x1="${x1 + 6}" y1="${y(r) - 5}" x2="${x2 - 6}" y2="${y(c) - 5}" stroke-width="${(1 + 4 * w).toFixed(2)}" stroke-opacity="${(0.05 + 0.85 * w).toFixed(3)}"/>`).join(""); };
  fans.forEach(fill);
  const left = rows.map((piece, r) => h("text", { x: x1, y: y(r), "text-anchor": "end", style: "cursor:pointer", "data-row": r }, short(piece)));
  const right = columns.map((piece, c) => h("text", { x: x2, y: y(c) }, short(piece)));
  picture.append(...fans, ...left, ...right);
  const rowOf = event => Number(event.target.dataset?.row ?? -1);
  picture.addEventListener("mouseover", event => { if (rowOf(event) >= 0) onrow(rowOf(event)); });
  picture.addEventListener("click", event => { if (rowOf(event) >= 0) onpick(rowOf(event)); });
  picture.update = others => { weights = others; fans.forEach(fill); };
  picture.show = active => {
    fans.forEach((fan, r) => fan.setAttribute("display", active < 0 || r === active ? "inline" : "none"));
    left.forEach((word, r) => word.setAttribute("font-weight", r === active ? 700 : 400));
    right.forEach((word, c) => word.setAttribute("fill-opacity", active < 0 ? 1 : (0.35 + 0.65 * Math.min(1, 2 * weights[active][c])).toFixed(3)));
  };
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

// Thumbnails as one SVG, for saving: their pixels become images in it.
export function thumbnailsPicture(entries, columns) {
  const side = 96, gap = 12, rows = Math.ceil(entries.length / columns), width = columns * (side + gap) + gap, height = rows * (side + gap + 18) + gap;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 11 });
  entries.forEach(([title, canvas], i) => {
    const x = gap + (i % columns) * (side + gap), y = gap + Math.floor(i / columns) * (side + gap + 18);
    picture.append(h("text", { x, y: y + 10 }, title), h("image", { x, y: y + 16, width: side, height: side, href: canvas.toDataURL(), preserveAspectRatio: "none", style: "image-rendering:pixelated" }),
      h("rect", { x, y: y + 16, width: side, height: side, fill: "none", stroke: "var(--line)" }));
  });
  return picture;
}

function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The picture as a file of its own: colours that the page's style gives are written into it.
export function svgText(picture) {
  const copy = picture.cloneNode(true), style = getComputedStyle(document.documentElement);
  copy.removeAttribute("data-tip");
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

// The two buttons under a picture. Both the name and the picture may be functions that make them when they are wanted.
export function saves(name, picture) {
  const made = thing => typeof thing === "function" ? thing() : thing;
  return h("div", { class: "saves" },
    h("button", { class: "plain", onclick: () => download(made(name) + ".svg", new Blob([svgText(made(picture))], { type: "image/svg+xml" })) }, "Save SVG"),
    h("button", { class: "plain", onclick: () => savePng(made(name), made(picture)) }, "Save PNG"));
}
export const figure = (name, picture) => h("div", {}, h("div", { class: "figure" }, picture), saves(name, picture));

// A row of small buttons of which one is on.
export function choice(name, values, now, pick) {
  return h("div", { class: "group", role: "group", "aria-label": name }, ...values.map(([value, text]) =>
    h("button", { type: "button", class: value === now ? "on" : "", "aria-pressed": String(value === now), onclick: () => pick(value) }, text)));
}
