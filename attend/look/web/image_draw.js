// The image with its grid, heat over it, and bars for its labels.
import { h } from "look/draw";
import { remember, state } from "look/state";

// The pixels that the model saw, as ImageData; kept with the result.
const decoded = new WeakMap();
export function pixelsOf(result) {
  if (!decoded.has(result)) decoded.set(result, (async () => {
    const image = new Image();
    image.src = result.seen;
    await image.decode();
    const canvas = h("canvas", { width: image.naturalWidth, height: image.naturalHeight }), pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(image, 0, 0);
    return pen.getImageData(0, 0, canvas.width, canvas.height);
  })());
  return decoded.get(result);
}

// The weight at a point of the image, 0 to 1 each way: of the place there, or smoothly between the middles of places.
function weightAt({ rows, columns, weights, smooth }, x, y) {
  if (!smooth) return weights[Math.floor(y * rows) * columns + Math.floor(x * columns)];
  const at = (place, count) => Math.max(0, Math.min(count - 1, place * count - 0.5));
  const column = at(x, columns), row = at(y, rows), left = Math.floor(column), top = Math.floor(row);
  const right = Math.min(left + 1, columns - 1), low = Math.min(top + 1, rows - 1), u = column - left, v = row - top;
  return (1 - v) * ((1 - u) * weights[top * columns + left] + u * weights[top * columns + right]) + v * ((1 - u) * weights[low * columns + left] + u * weights[low * columns + right]);
}

// Heat over an image is a colour: none at the smallest weight of the map, then violet, orange and yellow up to the largest weight. The
// image stays visible through it; the slider sets how much.
const ramp = [[92, 24, 120], [187, 48, 98], [244, 114, 44], [255, 226, 92]];
function heatColor(share) {
  const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1), i = Math.min(Math.floor(at), ramp.length - 2);
  return ramp[i].map((low, k) => low + (ramp[i + 1][k] - low) * (at - i));
}
const colours = Array.from({ length: 256 }, (_, i) => heatColor(i / 255));
function light(canvas, pixels, heat) {
  canvas.relight = heat ? () => light(canvas, pixels, heat) : null;
  const { width, height, data } = pixels, out = new Uint8ClampedArray(data);
  if (heat) {
    const most = heat.weights.reduce((a, w) => Math.max(a, w), 1e-9), least = heat.weights.reduce((a, w) => Math.min(a, w), most), range = Math.max(1e-12, most - least), strong = state.heat / 100;
    for (let y = 0, i = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x, i += 4) {
        const share = Math.max(0, Math.min(1, (weightAt(heat, (x + 0.5) / width, (y + 0.5) / height) - least) / range)), cover = strong * Math.sqrt(share), color = colours[Math.round(255 * share)];
        for (let c = 0; c < 3; ++c) out[i + c] = data[i + c] * (1 - cover) + color[c] * cover;
      }
    }
  }
  canvas.getContext("2d").putImageData(new ImageData(out, width, height), 0, 0);
}

// How much of the image the heat covers, with the scale of its colours. A move paints the images again and keeps the view.
export function heatSlider() {
  const slider = h("input", { type: "range", class: "heat-slider", min: 0, max: 100, value: state.heat, "aria-label": "opacity of the heat", oninput: () => {
    remember({ heat: Number(slider.value) });
    for (const canvas of document.querySelectorAll("canvas")) canvas.relight?.();
  } });
  const scale = h("span", { class: "heat-scale", "aria-hidden": "true", style: `background:linear-gradient(to right, ${["transparent", ...ramp.map(one => `rgb(${one})`)].join(", ")})` });
  return h("label", { class: "heat" }, "heat", slider, "least", scale, "most");
}

// The image under a heat, small: of twenty that are drawn together each has to be quick.
const smaller = new WeakMap();
export function litTile(pixels, heat, label) {
  if (!smaller.has(pixels)) {
    const whole = h("canvas", { width: pixels.width, height: pixels.height }), times = Math.min(1, 224 / pixels.width);
    whole.getContext("2d").putImageData(pixels, 0, 0);
    const small = h("canvas", { width: Math.round(times * pixels.width), height: Math.max(1, Math.round(times * pixels.height)) }), pen = small.getContext("2d", { willReadFrequently: true });
    pen.drawImage(whole, 0, 0, small.width, small.height);
    smaller.set(pixels, pen.getImageData(0, 0, small.width, small.height));
  }
  const few = smaller.get(pixels), canvas = h("canvas", { width: few.width, height: few.height, role: "img", "aria-label": label, class: pixels.width < 160 ? "blocks" : "" });
  light(canvas, few, heat);
  return canvas;
}

const unit = 448;  // of the drawing over the image
export const lineAt = (x1, y1, x2, y2, attributes = {}) => h("line", { x1, y1, x2, y2, stroke: "#fff", "stroke-opacity": 0.28, ...attributes });

function gridLines([rows, columns], high) {
  const lines = [];
  for (let i = 1; i < columns; ++i) lines.push(lineAt(unit * i / columns, 0, unit * i / columns, high));
  for (let i = 1; i < rows; ++i) lines.push(lineAt(0, high * i / rows, unit, high * i / rows));
  return lines;
}

// grid: [rows, columns] of lines over the image and of what is under the mouse. show(heat, marks) says what is seen:
// marks.place is framed, marks.hidden are crossed out. more(high) draws something else over it.
export function imageBox({ pixels, grid, onpoint = () => {}, onpick = () => {}, label = "image", lines = true, more = () => [] }) {
  const high = unit * pixels.height / pixels.width, canvas = h("canvas", { width: pixels.width, height: pixels.height, role: "img", "aria-label": label, class: pixels.width < 160 ? "blocks" : "" });
  const over = h("g"), drawing = h("svg", { viewBox: `0 0 ${unit} ${high}`, "aria-hidden": "true" }, ...(lines ? gridLines(grid, high) : []), ...more(high, unit), over);
  const box = h("div", { class: "seen" }, canvas, drawing), [rows, columns] = grid, cell = { width: unit / columns, height: high / rows };
  const under = event => {
    const edge = box.getBoundingClientRect(), x = Math.floor((event.clientX - edge.left) / edge.width * columns), y = Math.floor((event.clientY - edge.top) / edge.height * rows);
    return x >= 0 && x < columns && y >= 0 && y < rows ? y * columns + x : -1;
  };
  let last = -1;
  box.addEventListener("mousemove", event => { const place = under(event); if (place !== last) onpoint(last = place); });
  box.addEventListener("mouseleave", () => { onpoint(last = -1); });
  box.addEventListener("click", event => { const place = under(event); if (place >= 0) onpick(place); });
  const frame = (place, attributes) => h("rect", { x: place % columns * cell.width, y: Math.floor(place / columns) * cell.height, ...cell, ...attributes });
  box.show = (heat, { place = -1, hidden = [] } = {}) => {
    canvas.heat = heat;
    light(canvas, pixels, heat);
    over.replaceChildren(...hidden.map(one => frame(one, { fill: "#888", "fill-opacity": 0.55, stroke: "#fff", "stroke-width": 2 })),
      ...(place < 0 ? [] : [frame(place, { fill: "none", stroke: "#000", "stroke-width": 5 }), frame(place, { fill: "none", stroke: "#ffd34d", "stroke-width": 2.5 })]));
  };
  box.whole = () => h("svg", { viewBox: `0 0 ${unit} ${high}`, width: unit, height: high },
    h("image", { width: unit, height: high, href: canvas.toDataURL(), style: "image-rendering:pixelated" }), ...[...drawing.children].map(node => node.cloneNode(true)));
  box.show(null);
  return box;
}

// Labels with bars; before: what they were, by id, drawn as a thin mark.
export function labelBars(labels, before = null) {
  if (!labels.length) return h("p", { class: "note" }, "This model has no labels: it makes a vector of an image.");
  const was = new Map((before || []).map(label => [label.id, label.probability]));
  return h("table", { class: "candidates labels" }, ...labels.map(label => {
    const bar = h("div", { class: "meter" }), mark = h("div", { class: "before" });
    bar.style.width = 100 * label.probability + "%";
    if (was.has(label.id)) mark.style.width = 100 * was.get(label.id) + "%";
    return h("tr", { "data-label": label.text }, h("td", {}, label.text), h("td", { class: "number" }, label.probability.toFixed(4)),
      h("td", {}, bar, before ? mark : null));
  }));
}
