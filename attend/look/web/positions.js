// Positions: what is added to the tokens for their places, the rotation that shifts sinusoids, and the model without any.
import { ask, exported, inspect, model, positions, sentences, state } from "look/state";
import { figure, h, shown, signedColor, strip } from "look/draw";
import { matrixFigure } from "look/figures";

const learned = model.positions === "learned", halves = model.positions === "sinusoidal-halves";

// The table itself: a row a place. Of wide models every few dimensions are shown.
function image(table, count) {
  const most = 128, step = Math.max(1, Math.ceil(table.width / most)), cell = Math.max(5, Math.min(14, 640 * step / table.width)), left = 40, high = 10;
  const chosen = Array.from({ length: Math.floor(table.width / step) }, (_, i) => i * step);
  // Sines left, cosines right, whatever their order in the model.
  if (model.positions === "sinusoidal") { const half = chosen.length / 2; chosen.forEach((_, i) => { chosen[i] = i < half ? 2 * Math.floor(i * table.width / chosen.length) : 2 * Math.floor((i - half) * table.width / chosen.length) + 1; }); }
  const rows = table.rows.slice(0, count), scale = Math.max(1e-9, ...rows.flat().map(Math.abs)), width = left + chosen.length * cell + 8;
  const svg = h("svg", { viewBox: `0 0 ${width} ${rows.length * high + 34}`, width, height: rows.length * high + 34, "font-size": 12, role: "img", "aria-label": "positions" });
  rows.forEach((row, t) => {
    if (t % 5 === 0) svg.append(h("text", { x: left - 8, y: t * high + 10, "text-anchor": "end" }, t));
    chosen.forEach((d, c) => svg.append(h("rect", { x: left + c * cell, y: t * high, width: cell + 0.3, height: high + 0.3, fill: signedColor(row[d], scale), "data-value": row[d], "shape-rendering": "crispEdges" })));
  });
  svg.append(h("text", { x: left, y: rows.length * high + 24 }, learned || halves ? `${chosen.length} of ${table.width} dimensions` : `sines left, cosines right, slow to the right; ${table.width} dimensions in all`));
  return svg;
}

// How alike the vectors of two places are: the cosine between them, from 0 to 1.
function likeness(table, count) {
  const rows = table.rows.slice(0, count), norm = rows.map(row => Math.hypot(...row));
  const weights = rows.map((a, i) => rows.map((b, j) => Math.max(0, a.reduce((sum, x, k) => sum + x * b[k], 0) / (norm[i] * norm[j] || 1))));
  const names = rows.map((_, i) => String(i));
  return matrixFigure({ rows: names, columns: names, weights });
}

// One pair of dimensions is a point on a circle; k places further is the same turn everywhere.
function rotation(width, k) {
  const angle = (t, i) => t / Math.pow(10000, 2 * i / width);
  const svg = h("svg", { viewBox: "0 0 420 150", width: 420, height: 150, "font-size": 12, role: "img", "aria-label": "rotation by k" });
  [0, Math.floor(width / 16), Math.floor(width / 8)].forEach((i, n) => {
    const x = 70 + 140 * n, y = 66, r = 48, turn = angle(k, i);
    svg.append(h("circle", { cx: x, cy: y, r, fill: "none", stroke: "var(--line)" }));
    for (const [t, color] of [[3, "var(--quiet)"], [3 + k, "var(--accent)"]])
      svg.append(h("line", { x1: x, y1: y, x2: x + r * Math.cos(angle(t, i)), y2: y - r * Math.sin(angle(t, i)), stroke: color, "stroke-width": 3, "stroke-linecap": "round" }));
    svg.append(h("text", { x, y: 138, "text-anchor": "middle" }, `pair ${i + 1}: ${turn.toFixed(2)} rad`));
  });
  return svg;
}

function turning(width) {
  const box = h("div", {}, figure("rotation", rotation(width, 2))), label = h("span", { class: "quiet" }, "k = 2");
  const turn = h("input", { type: "range", min: 0, max: 12, value: 2, "aria-label": "k", oninput: event => {
    label.textContent = `k = ${event.target.value}`;
    box.replaceChildren(figure("rotation", rotation(width, Number(event.target.value))));
  } });
  return [h("h2", {}, "k places further is a rotation"), h("p", { class: "note" }, "Each pair of dimensions turns by an angle that depends on k alone: grey is place 3, colour is place 3 + k."),
    h("div", { class: "controls" }, turn, label), box];
}

const said = result => result.text || "—";
const off = { ablation: { positions: false } }, written = model.kind === "language-model";

async function without(result) {
  const plain = await inspect({ text: state.text, ...off }), same = said(plain) === said(result);
  return h("div", { class: "card" }, h("h2", {}, "Without positions"),
    h("p", { class: "note" }, written ? "Every token is put at place 0. Order is then told only by the mask: a token sees those before it, not where they stand."
      : "Every token is put at place 0: to the encoder the text is a bag of words."),
    h("h3", {}, "with positions"), h("p", {}, said(result)), h("h3", {}, same ? "without: the same" : "without: something else"), h("p", { id: "unordered", class: same ? "" : "broken" }, said(plain)),
    h("p", { class: "quiet" }, `score ${result.score.toFixed(3)} with, ${plain.score.toFixed(3)} without`));
}

// All words but the first and the last, which carry the capital and the full stop, in another order.
function reordered(text) {
  const words = text.trim().split(/\s+/);
  if (words.length < 4) return null;
  const inner = words.slice(1, -1), middle = Math.ceil(inner.length / 2);
  return [words[0], ...inner.slice(middle), ...inner.slice(0, middle), words[words.length - 1]].join(" ");
}

// Pairs of the same tokens in two orders: the sentence at hand first, then those that were chosen because order decides.
function pairs() {
  const chosen = sentences.filter(one => one.swapped), mine = chosen.find(one => one.text === state.text || one.swapped === state.text);
  const other = mine ? (mine.text === state.text ? mine.swapped : mine.text) : reordered(state.text);
  return [...(other ? [[state.text, other]] : []), ...chosen.filter(one => one !== mine).slice(0, 2).map(one => [one.text, one.swapped])];
}
const bag = ids => [...ids].sort((a, b) => a - b).join();

// What the model makes of both orders, with positions and without. Whether they agree is found out, not told.
async function order([one, two], i) {
  const [a, b, c, d] = await Promise.all([inspect({ text: one }), inspect({ text: two }), inspect({ text: one, ...off }), inspect({ text: two, ...off })]);
  const cells = (x, y, name) => {
    const same = said(x) === said(y);
    return h("td", { "data-order": name, "data-same": same ? 1 : 0 }, h("div", {}, said(x)), h("div", { class: same ? "" : "broken" }, said(y)), h("small", { class: "quiet" }, same ? "the same answer" : "two answers"));
  };
  const tokens = bag(a.source.ids) === bag(b.source.ids) ? "" : "not the same tokens";
  return h("tr", {}, h("td", {}, h("div", {}, one), h("div", {}, two), h("small", { class: "quiet" }, tokens)), cells(a, b, "with"), cells(c, d, "without" + (i ? "" : "-here")));
}

async function orders() {
  const all = pairs();
  if (!all.length) return null;
  const rows = await Promise.all(all.map(order)), agree = rows.filter(row => row.querySelector('[data-order^="without"]').dataset.same === "1").length;
  const differ = rows.filter(row => row.querySelector('[data-order="with"]').dataset.same === "0").length;
  return h("div", { class: "card" }, h("h2", {}, "The same words in another order"),
    h("p", { class: "note", id: "agreement" }, `With positions ${differ} of ${rows.length} pairs get two answers; without, ${agree} of ${rows.length} get one and the same.`),
    h("div", { class: "scrolled" }, h("table", { class: "orders" }, h("tr", {}, h("th", {}, "two orders"), h("th", {}, "with positions"), h("th", {}, "without")), ...rows)));
}

// f(Px) against P f(x): the encoder's vectors of the tokens backwards, put back in order, beside those of the text as it is.
async function equivariance() {
  const answer = await ask("states", { text: state.text, order: [] }), scale = Math.max(...answer.with.rows.flat().map(Math.abs));
  const side = (title, name) => {
    const { difference, largest, rows, moved } = answer[name], holds = difference < 1e-4 * largest;
    return h("div", {}, h("h3", {}, title),
      h("p", { class: "quiet" }, "largest difference ", h("strong", { id: `difference-${name}` }, difference < 0.01 ? difference.toExponential(1) : difference.toFixed(2)), `, of numbers up to ${largest.toFixed(2)}: `, h("strong", {}, holds ? "the same vectors" : "other vectors")),
      h("div", { class: "rows twins vector" }, ...answer.tokens.flatMap((piece, i) => [h("span", {}, shown(piece)), strip(rows[i], rows[i].length, scale), strip(moved[i], moved[i].length, scale)])));
  };
  const holds = answer.without.difference < 1e-4 * answer.without.largest && answer.with.difference >= 1e-4 * answer.with.largest;
  return h("div", { class: "card wide" }, h("h2", {}, "Is the encoder permutation equivariant?"),
    h("p", { class: "note" }, `The tokens of “${state.text}” are read as they are (left) and backwards (right, put back in order): ${answer.width} numbers for each, of which ${answer.with.rows[0].length} are drawn. ` +
      (holds ? "Without positions it makes no difference, so it is; with positions it does, so order counts." : "See the differences.")),
    h("div", { class: "columns" }, side("without positions", "without"), side("with positions", "with")));
}

export async function positionsView(result) {
  const alone = exported || written, none = Promise.resolve(null);
  const [table, card, moved, equal] = await Promise.all([positions(), without(result), alone ? none : orders(), alone ? none : equivariance()]);
  const count = Math.max(20, Math.min(table.rows.length, result.source.pieces.length));
  return h("div", {}, h("div", { class: "columns" },
    h("div", { class: "card", id: "places" }, h("h2", {}, "Where a token stands"),
      h("p", { class: "note" }, learned ? "Each place (down) has a vector of its own that was learned with the model, added to the token's. Blue is below zero, orange above."
        : "Each place (down) is a pattern of sines and cosines (across), added to the token's vector. Blue is below zero, orange above."),
      figure("positions", image(table, count)),
      ...(learned ? [] : turning(table.width)),
      h("h2", {}, "How alike two places are"), h("p", { class: "note" }, "The cosine between their vectors" + (learned ? "." : ": near places resemble each other.")), figure("likeness", likeness(table, Math.min(20, table.rows.length)))),
    h("div", {}, card, moved)), equal);
}
