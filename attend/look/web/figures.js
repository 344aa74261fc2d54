// The two images of one attention: a matrix, and lines between its tokens. What changes from head to head are pixels of
// a canvas, the words around it are SVG and stay: with 38 tokens and every cell an element a change of head took 70 ms of
// processor time, this way 24 (docs/look.md). whole() makes one SVG of both, for saving.
import { accent, barColor, h, paint, short, weightColor, widthOf } from "look/draw";

function overlaid(size, canvas, place, words) {
  canvas.style.cssText = `left:${100 * place.x / size.width}%; top:${100 * place.y / size.height}%; width:${100 * place.width / size.width}%; height:${100 * place.height / size.height}%`;
  // Narrower than half of it nobody could read the words: it is scrolled then.
  return h("div", { class: "image", style: `width:${size.width}px; min-width:${0.55 * size.width}px` }, canvas, words);
}

// Calls back with what is under the mouse, once a change; find(x, y) has the image's own units.
function follow(box, width, { find, point, pick }) {
  let last = "";
  const under = event => { const edge = box.getBoundingClientRect(), scale = width / edge.width; return find((event.clientX - edge.left) * scale, (event.clientY - edge.top) * scale); };
  box.addEventListener("mousemove", event => { const found = under(event); if (found && String(found) !== last) { last = String(found); point(...found); } });
  box.addEventListener("mouseleave", () => { last = ""; });
  box.addEventListener("click", event => { const found = under(event); if (found) pick(found[0]); });
}

// A matrix with its tokens. count: how many rows are there yet (Generate draws a growing one); onrow hears which row is
// pointed at, onpick which is clicked. update(weights, barred) shows others of the same tokens.
export function matrixFigure({ rows, columns, weights, count = weights.length, active = -1, onrow = () => {}, onpick = onrow }) {
  const down = rows.map(piece => short(piece)), across = columns.map(piece => short(piece));
  const left = 14 + Math.max(30, ...down.map(widthOf)), top = 16 + 0.72 * Math.max(30, ...across.map(widthOf));
  const cell = Math.max(16, Math.min(34, 560 / Math.max(columns.length, 1)));
  const width = Math.max(left + cell * columns.length + 50, left + 160), height = top + cell * rows.length + 30, below = height - 16;
  const words = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 14, "aria-hidden": "true" });
  words.append(h("g", { class: "scale", "font-size": 11, "fill-opacity": 0.7 }, h("text", { x: left, y: below + 10 }, "0"), h("text", { x: left + 118, y: below + 10 }, "1"),
    ...Array.from({ length: 10 }, (_, i) => h("rect", { x: left + 12 + 10 * i, y: below, width: 10.3, height: 10, fill: weightColor(i / 9), "fill-opacity": 1 }))));
  across.forEach((word, c) => {
    const x = left + (c + 0.6) * cell, y = top - 8;
    words.append(h("text", { x, y, transform: `rotate(-45 ${x} ${y})` }, word));
  });
  down.slice(0, count).forEach((word, r) => words.append(
    h("text", { x: left - 8, y: top + (r + 0.5) * cell + 5, "text-anchor": "end", "font-weight": r === active ? 700 : 400 }, word)));
  if (active >= 0) words.append(h("rect", { x: left, y: top + active * cell, width: cell * columns.length, height: cell, fill: "none", stroke: "var(--accent)", "stroke-width": 2 }));
  words.append(h("rect", { x: left, y: top, width: cell * columns.length, height: cell * rows.length, fill: "none", stroke: "var(--line)" }));

  const canvas = h("canvas", { role: "img", "aria-label": "attention matrix", width: columns.length, height: rows.length });
  const box = overlaid({ width, height }, canvas, { x: left, y: top, width: cell * columns.length, height: cell * rows.length }, words);
  follow(box, width, { find: (x, y) => {
    const r = Math.floor((y - top) / cell), c = Math.floor((x - left) / cell);
    return r >= 0 && r < count && c < columns.length ? [r, Math.max(c, -1)] : null;
  }, point: onrow, pick: onpick });
  let barred = null;
  box.update = (others, closed = null) => { canvas.weights = weights = others, canvas.barred = barred = closed; paint(canvas, weights, count, barred); };
  box.whole = () => {
    const svg = words.cloneNode(true), cells = h("g", { "shape-rendering": "crispEdges" });
    cells.innerHTML = weights.slice(0, count).map((row, r) => row.map((w, c) =>
      `<rect x="${left + c * cell}" y="${top + r * cell}" width="${cell + 0.3}" height="${cell + 0.3}" fill="${barred?.(r, c) ? barColor() : weightColor(w)}"/>`).join("")).join("");
    svg.prepend(cells);
    return svg;
  };
  box.update(weights);
  return box;
}

const weakest = 0.02, widthAt = w => 1 + 4 * w, strengthAt = w => 0.05 + 0.85 * w;

// Straight lines of one colour from the left edge to the right one, each {from, to, width, strength}: what several let
// through together is the product of what each lets through. By hand, because 700 lines that cross take a browser without
// a GPU 20 ms and this 2. A pixel is covered by its distance from the middle of the line.
function strokes(canvas, lines, color) {
  const { width, height } = canvas, through = new Float32Array(width * height).fill(1);
  for (const { from, to, width: thick, strength } of lines) {
    const slope = (to - from) / width, long = Math.hypot(1, slope), edge = thick / 2 + 0.5, reach = edge * long;
    for (let x = 0; x < width; ++x) {
      const middle = from + slope * (x + 0.5) - 0.5, end = Math.min(height - 1, Math.floor(middle + reach));
      for (let y = Math.max(0, Math.ceil(middle - reach)); y <= end; ++y)
        through[y * width + x] *= 1 - strength * Math.min(1, edge - Math.abs(y - middle) / long);
    }
  }
  const [r, g, b] = color, ink = b << 16 | g << 8 | r, pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; ++i) if (through[i] < 1) pixels[i] = ink | Math.round(255 * (1 - through[i])) << 24;
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
}

// Tokens in two columns and lines between them, as thick as the weight. show(row) points at one; -1: all of them. Only
// what changes is touched: this runs at every move of the mouse.
export function linesFigure({ rows, columns, weights, onrow = () => {}, onpick = onrow }) {
  const step = rows.length > 24 || columns.length > 24 ? 22 : 30, gap = 178;
  const x1 = 16 + Math.max(60, ...rows.map(p => widthOf(short(p)))), x2 = x1 + gap + 12;
  const width = x2 + 16 + Math.max(60, ...columns.map(p => widthOf(short(p)))), height = step * Math.max(rows.length, columns.length) + 16;
  const y = i => 24 + i * step, sharp = Math.min(2, devicePixelRatio || 1), color = accent();
  const left = rows.map((piece, r) => h("text", { x: x1, y: y(r), "text-anchor": "end" }, short(piece)));
  const right = columns.map((piece, c) => h("text", { x: x2, y: y(c) }, short(piece)));
  const words = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": step > 24 ? 15 : 13, "aria-hidden": "true" }, ...left, ...right);
  const canvas = h("canvas", { role: "img", "aria-label": "attention lines", width: Math.round(gap * sharp), height: Math.round(height * sharp) });
  const box = overlaid({ width, height }, canvas, { x: x1 + 6, y: 0, width: gap, height }, words);
  follow(box, width, { find: (x, at) => {
    const r = Math.round((at - 19) / step);
    return x < x1 + 6 && r >= 0 && r < rows.length ? [r] : null;
  }, point: onrow, pick: onpick });
  let pointed = -1, shown = "";
  const chosen = () => weights.flatMap((row, r) => pointed >= 0 && r !== pointed ? [] : row.flatMap((w, c) => w < weakest ? [] : [[r, c, w]]));
  const draw = () => strokes(canvas, chosen().map(([r, c, w]) => ({ from: sharp * (y(r) - 5), to: sharp * (y(c) - 5), width: sharp * widthAt(w), strength: strengthAt(w) })), color);
  const emphasis = () => {  // of the words: only those that change are touched
    const next = rows.map((_, r) => r === pointed ? 700 : 400), fade = columns.map((_, c) => pointed < 0 ? 1 : (0.35 + 0.65 * Math.min(1, 2 * weights[pointed][c])).toFixed(2));
    if (shown === String([next, fade])) return;
    shown = String([next, fade]);
    left.forEach((word, r) => { if (word.getAttribute("font-weight") !== String(next[r])) word.setAttribute("font-weight", next[r]); });
    right.forEach((word, c) => { if (word.getAttribute("fill-opacity") !== String(fade[c])) word.setAttribute("fill-opacity", fade[c]); });
  };
  box.show = (row, others = weights) => {
    if (row === pointed && others === weights && shown) return;
    pointed = row, weights = others;
    draw(), emphasis();
  };
  box.whole = () => {
    const svg = words.cloneNode(true), fan = h("g", { stroke: "var(--accent)" });
    fan.innerHTML = chosen().map(([r, c, w]) => `<line x1="${x1 + 6}" y1="${y(r) - 5}" x2="${x2 - 6}" y2="${y(c) - 5}" stroke-width="${widthAt(w).toFixed(2)}" stroke-opacity="${strengthAt(w).toFixed(3)}"/>`).join("");
    svg.prepend(fan);
    return svg;
  };
  return box;
}
