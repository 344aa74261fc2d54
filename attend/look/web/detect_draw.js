// Boxes over an image, and who was matched to whom.
import { model } from "look/state";
import { h } from "look/draw";

const unit = 448;  // as wide as the drawing over an image
const colours = ["#d62728", "#1f77b4", "#2c8c2c", "#9449bd", "#c86e00", "#008c96", "#be3c8c", "#6e5a46"];
// By the model's list of labels; a young run has none yet, and then by the letters.
const labels = Object.values(model.config?.id2label || {});
const numberOf = label => labels.includes(label) ? labels.indexOf(label) : [...label].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) >>> 0, 0);
export const colourOf = label => colours[numberOf(label) % colours.length];

const inside = ([x, y, width, height], high) => {
  const left = Math.max(0, x), top = Math.max(0, y), right = Math.min(1, x + width), bottom = Math.min(1, y + height);
  return { x: left * unit, y: top * high, width: Math.max(0, right - left) * unit, height: Math.max(0, bottom - top) * high };
};

// One box with its name. loud: it is the one that is looked at; faint: the others then.
export function boxDrawing(box, high, { loud = false, faint = false, dashed = false, name = `${box.text} ${box.score.toFixed(2)}` } = {}) {
  const edge = inside(box.box, high), colour = colourOf(box.text), size = 14, wide = 0.58 * size * name.length + 8, opacity = faint ? 0.3 : 1;
  const x = Math.max(0, Math.min(edge.x, unit - wide)), y = edge.y >= size + 4 ? edge.y - size - 4 : edge.y;
  return h("g", { "data-query": box.query, opacity },
    h("rect", { ...edge, fill: "none", stroke: "#fff", "stroke-width": loud ? 6 : 4, "stroke-opacity": 0.75 }),
    h("rect", { ...edge, fill: "none", stroke: colour, "stroke-width": loud ? 4 : 2.2, ...(dashed ? { "stroke-dasharray": "7 5" } : {}) }),
    ...(name && !faint ? [h("rect", { x, y, width: wide, height: size + 4, fill: colour }),
      h("text", { x: x + 4, y: y + size - 1, "font-size": size, fill: "#fff", "font-weight": 600, style: "fill:#fff" }, name)] : []));
}

// What is there, in white, and a line to the box of the query that was matched to it.
export function matchDrawing(truth, taken, high) {
  const edge = inside(truth.box, high), middle = box => [(box[0] + box[2] / 2) * unit, (box[1] + box[3] / 2) * high];
  const [x1, y1] = middle(truth.box), [x2, y2] = taken ? middle(taken.box) : [x1, y1];
  return h("g", { "data-truth": truth.query }, h("rect", { ...edge, fill: "none", stroke: "#000", "stroke-width": 3.5, "stroke-opacity": 0.6 }),
    h("rect", { ...edge, fill: "none", stroke: "#fff", "stroke-width": 1.6, "stroke-dasharray": "3 3" }),
    ...["#000", "#fff"].map((stroke, i) => h("line", { x1, y1, x2, y2, stroke, "stroke-width": 4 - 2 * i })),
    h("circle", { cx: x1, cy: y1, r: 4, fill: "#fff", stroke: "#000" }));
}

// How much two boxes have in common.
export function overlap(a, b) {
  const side = i => Math.max(0, Math.min(a[i] + a[i + 2], b[i] + b[i + 2]) - Math.max(a[i], b[i])), both = side(0) * side(1);
  return both / (a[2] * a[3] + b[2] * b[3] - both || 1);
}

// The smallest box under a point, or null.
export function boxAt(boxes, x, y) {
  const under = boxes.filter(({ box: [left, top, width, height] }) => x >= left && y >= top && x <= left + width && y <= top + height);
  return under.sort((a, b) => a.box[2] * a.box[3] - b.box[2] * b.box[3])[0] || null;
}
