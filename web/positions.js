// Positions: the sinusoids of section 3.5, the rotation that shifts them, and a translation without them.
import { model, state, translate } from "look/state";
import { figure, h, signedColor } from "look/draw";

const width = model.config.width;
// Dimension 2i is the sine, 2i + 1 the cosine of t / 10000^(2i / width); the picture puts them side by side.
const angle = (t, i) => t / Math.pow(10000, 2 * i / width);

function picture(count) {
  const columns = 128, cell = 5, left = 40;
  const svg = h("svg", { viewBox: `0 0 ${left + columns * cell + 8} ${count * 10 + 34}`, width: left + columns * cell + 8, height: count * 10 + 34, "font-size": 12, role: "img", "aria-label": "sinusoidal positions" });
  for (let t = 0; t < count; ++t) {
    if (t % 5 === 0) svg.append(h("text", { x: left - 8, y: t * 10 + 10, "text-anchor": "end" }, t));
    for (let c = 0; c < columns; ++c) {
      const half = columns / 2, x = angle(t, (c % half) * width / columns);  // sines left, cosines right
      svg.append(h("rect", { x: left + c * cell, y: t * 10, width: cell + 0.3, height: 10.3, fill: signedColor(c < half ? Math.sin(x) : Math.cos(x), 1), "shape-rendering": "crispEdges" }));
    }
  }
  svg.append(h("text", { x: left, y: count * 10 + 24 }, `sines left, cosines right, slow to the right; ${width} dimensions in all`));
  return svg;
}

// One pair of dimensions is a point on a circle; k places further is the same turn everywhere.
function rotation(k) {
  const svg = h("svg", { viewBox: "0 0 420 150", width: 420, height: 150, "font-size": 12, role: "img", "aria-label": "rotation by k" });
  [0, Math.floor(width / 16), Math.floor(width / 8)].forEach((i, n) => {
    const x = 70 + 140 * n, y = 66, r = 48, turn = angle(k, i);
    svg.append(h("circle", { cx: x, cy: y, r, fill: "none", stroke: "var(--line)" }));
    for (const [t, color] of [[3, "var(--quiet)"], [3 + k, "var(--accent)"]])
      svg.append(h("line", { x1: x, y1: y, x2: x + r * Math.cos(angle(t, i)), y2: y - r * Math.sin(angle(t, i)), stroke: color, "stroke-width": 3, "stroke-linecap": "round" }));
    svg.append(h("text", { x, y: 138, "text-anchor": "middle" }, `dims ${2 * i}, ${2 * i + 1}: ${turn.toFixed(2)} rad`));
  });
  return svg;
}

export async function positionsView(result) {
  const without = await translate({ text: state.text, ablation: { positions: false } });
  const box = h("div", {}, figure("rotation", rotation(2)));
  const turn = h("input", { type: "range", min: 0, max: 12, value: 2, "aria-label": "k", oninput: event => {
    label.textContent = `k = ${event.target.value}`;
    box.replaceChildren(figure("rotation", rotation(Number(event.target.value))));
  } }), label = h("span", { class: "quiet" }, "k = 2");
  const sinusoidal = model.config.positions === "sinusoidal";
  return h("div", { class: "columns" },
    h("div", { class: "card" }, h("h2", {}, "Where a token stands"),
      h("p", { class: "note" }, sinusoidal ? "Each place (down) is a pattern of sines and cosines (across), added to the token's vector." : `This model's positions are ${model.config.positions}; this is the paper's pattern.`),
      figure("positions", picture(Math.max(20, Math.min(40, result.source.pieces.length)))),
      h("h2", {}, "k places further is a rotation"), h("p", { class: "note" }, "Each pair of dimensions turns by an angle that depends on k alone: grey is place 3, colour is place 3 + k."),
      h("div", { class: "controls" }, turn, label), box),
    h("div", { class: "card" }, h("h2", {}, "Without positions"),
      h("p", { class: "note" }, "Every source token is put at place 0: to the encoder the sentence is a bag of words, and any order of them gives the same translation."),
      h("h3", {}, "with positions"), h("p", {}, result.text), h("h3", {}, "without"), h("p", { id: "unordered" }, without.text),
      h("p", { class: "quiet" }, `score ${result.score.toFixed(3)} with, ${without.score.toFixed(3)} without`)));
}
