// Heads: one attention as lines and as a matrix, alone or beside another head.
import { find, labels, matrix, model, remember, set, state, titleOf } from "look/state";
import { choice, figure, h, linesPicture, matrixPicture, shown } from "look/draw";

export function place() {
  const there = model.attention.filter(a => a.stack === state.stack && a.kind === state.kind);
  return there.find(a => a.layer === state.layer) || there[there.length - 1] || model.attention[0];
}

const kindOf = a => a.stack + " " + a.kind;

export function placeControls(now, { average = true } = {}) {
  const kinds = [...new Map(model.attention.map(a => [kindOf(a), [kindOf(a), titleOf(a)]])).values()];
  const layers = model.attention.filter(a => kindOf(a) === kindOf(now)).map(a => [a.layer, String(a.layer + 1)]);
  const heads = Array.from({ length: now.heads }, (_, i) => [i, String(i + 1)]);
  if (average) heads.unshift([-1, "average"]);
  return [
    choice("kind", kinds, kindOf(now), kind => { const [stack, name] = kind.split(" "); set({ stack, kind: name }); }),
    h("label", {}, "layer", choice("layer", layers, now.layer, layer => set({ layer }))),
    h("label", {}, "head", choice("head", heads, Math.min(state.head, now.heads - 1), head => set({ head }))),
  ];
}

// Pointing at a token changes only what is drawn of it; a click keeps it in the address.
function pair(result, now, head) {
  const { rows, columns } = labels(result, now), weights = matrix(find(result, now), head);
  const name = `${now.stack}-${now.kind}-layer${now.layer + 1}-` + (head < 0 ? "average" : `head${head + 1}`);
  const words = h("p", { class: "quiet" });
  const onrow = (row, column = -1) => {
    lines.show(row);
    const top = row < 0 ? [] : weights[row].map((w, c) => [w, c]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    words.textContent = row < 0 ? "Point at a token to see where it looks; a click keeps it."
      : column >= 0 ? `${shown(rows[row])} → ${shown(columns[column])}: ${weights[row][column].toFixed(4)}`
        : `${shown(rows[row])} looks at ` + top.map(([w, c]) => `${shown(columns[c])} ${w.toFixed(2)}`).join(", ");
  };
  const onpick = row => { remember({ focus: row === state.focus ? -1 : row }); onrow(state.focus); };
  const lines = linesPicture({ rows, columns, weights, onrow, onpick });
  const cells = matrixPicture({ rows, columns, weights, onrow, onpick });
  onrow(Math.min(state.focus, rows.length - 1));
  return h("div", { class: "card", onmouseleave: () => onrow(Math.min(state.focus, rows.length - 1)) },
    h("h3", {}, head < 0 ? "all heads averaged" : `head ${head + 1}`),
    h("div", { class: "columns" }, figure(name + "-lines", lines), figure(name, cells)), words);
}

export function headsView(result) {
  const now = place(), head = Math.min(state.head, now.heads - 1);
  const others = [[-2, "none"], [-1, "average"], ...Array.from({ length: now.heads }, (_, i) => [i, String(i + 1)])];
  const boxes = [pair(result, now, head)];
  if (state.compare > -2 && now.heads > 1) boxes.push(pair(result, now, Math.min(state.compare, now.heads - 1)));
  return h("div", {}, h("div", { class: "controls" }, ...placeControls(now),
    now.heads > 1 ? h("label", {}, "beside it", choice("compare", others, state.compare, compare => set({ compare }))) : null),
  h("p", { class: "note" }, `${titleOf(now)}, layer ${now.layer + 1}. Keys: ← → heads, ↑ ↓ layers, [ ] tokens.`), h("div", { class: "columns" }, ...boxes));
}
