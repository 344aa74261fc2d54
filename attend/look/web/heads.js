// Heads: one attention as lines and as a matrix, alone or beside another head.
import { barredIn, find, labels, matrix, model, remember, set, state, titleOf, whoLooks } from "look/state";
import { choice, figure, h, say, short, shown } from "look/draw";
import { linesFigure, matrixFigure } from "look/figures";
import { roleOf } from "look/roles";
import { barredWords, windowSlider } from "look/window";

export function place() {
  const there = model.attention.filter(a => a.stack === state.stack && a.kind === state.kind);
  return there.find(a => a.layer === state.layer) || there[there.length - 1] || model.attention[0];
}

const kindOf = a => a.stack + " " + a.kind;

// Which attention, layer and head; show(place) marks those of another place with the same choices.
export function placeControls(now, { average = true, heads: choose = true } = {}) {
  const kinds = [...new Map(model.attention.map(a => [kindOf(a), [kindOf(a), titleOf(a)]])).values()];
  const layers = model.attention.filter(a => kindOf(a) === kindOf(now)).map(a => [a.layer, String(a.layer + 1)]);
  const heads = Array.from({ length: now.heads }, (_, i) => [i, String(i + 1)]);
  if (!model.layers) return { nodes: [], show() {} };  // one attention with one head: nothing to choose
  if (average) heads.unshift([-1, "average"]);
  const head = at => Math.max(average ? -1 : 0, Math.min(state.head, at.heads - 1));
  const layer = choice("layer", layers, now.layer, layer => set({ layer })), which = choice("head", heads, head(now), head => set({ head }));
  return { nodes: [
    choice("kind", kinds, kindOf(now), kind => { const [stack, name] = kind.split(" "); set({ stack, kind: name }); }),
    h("label", {}, "layer", layer), choose ? h("label", {}, "head", which) : null,
  ], show(at) { layer.show(at.layer), which.show(head(at)); } };
}

const nameOf = (now, head) => `${now.stack}-${now.kind}-layer${now.layer + 1}-` + (head < 0 ? "average" : `head${head + 1}`);

// Pointing at a token changes only what is drawn of it; a click keeps it in the address. show(now, head) puts another
// head of the same tokens in place.
function pair(result, rows, columns) {
  let weights = rows.map(() => columns.map(() => 0)), name = "";
  let at = null;
  const words = h("p", { class: "quiet values-title" }), title = h("h3"), role = h("p", { class: "role" });
  // The row that is pointed at as bars beside the matrix, a line for each token; without one, the mean of all rows.
  const bars = columns.map(piece => ({ name: h("span", {}, short(piece)), bar: h("div", { class: "meter" }), number: h("span", { class: "number" }) }));
  const values = h("div", { class: "values" }, words, h("div", { class: "rows" }, ...bars.flatMap(b => [b.name, b.bar, b.number])));
  const onrow = (row, column = -1) => {
    lines.show(row, weights);
    const shares = row >= 0 ? weights[row] : columns.map((_, c) => weights.reduce((sum, one) => sum + one[c], 0) / weights.length);
    say(words, row < 0 ? "On average. Point at a token for its own weights; a click keeps it."
      : column >= 0 ? `${shown(rows[row])} → ${shown(columns[column])}: ${weights[row][column].toFixed(4)}` : `${shown(rows[row])} attends to`);
    bars.forEach(({ name, bar, number }, c) => {
      bar.style.width = 100 * shares[c] + "%";
      say(number, shares[c].toFixed(4));
      const state = c === column ? "here" : shares[c] < 0.02 ? "weak" : "";
      if (name.className !== state) name.className = number.className = state, number.classList.add("number");
    });
    if (at) say(title, `${named}: ${whoLooks(at, row < 0 ? "" : shown(rows[row]))}`);
  };
  let named = "";
  const focus = () => onrow(Math.min(state.focus, rows.length - 1));
  const onpick = row => { remember({ focus: row === state.focus ? -1 : row }); focus(); };
  const lines = linesFigure({ rows, columns, weights, onrow, onpick }), cells = matrixFigure({ rows, columns, weights, onrow, onpick });
  const box = h("div", { class: "card", onmouseleave: focus }, role, title,
    h("div", { class: "pair" }, figure(() => name + "-lines", lines), figure(() => name, cells), values));
  return { box, show(now, head) {
    weights = matrix(find(result, now), head), name = nameOf(now, head);
    at = now, named = !model.layers ? "the attention" : head < 0 ? "all heads averaged" : `head ${head + 1}`;
    cells.update(weights, barredIn(find(result, now)));
    const found = roleOf(find(result, now), head);
    say(role, found ? found.words[0].toUpperCase() + found.words.slice(1) : "All heads averaged");
    focus();
  } };
}

// Going from head to head keeps all elements and changes what differs: ten heads a second at 60 frames.
let drawn = { key: "" };
export function headsView(result) {
  const now = place(), head = Math.min(state.head, now.heads - 1), others = state.compare > -2 && now.heads > 1;
  const key = [now.stack, now.kind, others, document.documentElement.dataset.theme].join(" ");
  if (drawn.key !== key || drawn.result !== result) {
    const { rows, columns } = labels(result, now), pairs = Array.from({ length: others ? 2 : 1 }, () => pair(result, rows, columns));
    const second = [[-2, "none"], [-1, "average"], ...Array.from({ length: now.heads }, (_, i) => [i, String(i + 1)])];
    const controls = placeControls(now), compare = choice("compare", second, state.compare, compare => set({ compare })), note = h("p", { class: "note" });
    drawn = { key, result, pairs, controls, compare, note, root: h("div", {},
      h("div", { class: "controls" }, ...controls.nodes, now.heads > 1 ? h("label", {}, "beside it", compare) : null),
      h("div", { class: others ? "columns two" : "columns" }, ...pairs.map(p => p.box)), note, windowSlider(result)) };
  }
  drawn.controls.show(now), drawn.compare.show(state.compare);
  say(drawn.note, model.layers ? `${titleOf(now)}, layer ${now.layer + 1}. Keys: ← → heads, ↑ ↓ layers, [ ] tokens.${barredWords({ attention: [find(result, now)] })}` : "Keys: [ ] tokens.");
  drawn.pairs[0].show(now, head);
  if (others) drawn.pairs[1].show(now, Math.min(state.compare, now.heads - 1));
  return drawn.root;
}
