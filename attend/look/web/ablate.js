// Ablate: switch off or scale heads, layers and source tokens, and compare.
import { exported, find, inspect, labels, matrix, model, set, state, telling, titleOf } from "look/state";
import { figure, h, shown } from "look/draw";
import { matrixFigure } from "look/figures";

// In the address: heads "decoder cross 0 1=0.5;..", layers "encoder 1;..", masked "2;3".
export const list = text => text ? text.split(";") : [];
const heads = () => new Map(list(state.heads).map(item => item.split("=")).map(([name, scale]) => [name, Number(scale)]));

export function ablation() {
  const result = {};
  if (state.heads) result.heads = [...heads()].map(([name, scale]) => {
    const [stack, kind, layer, head] = name.split(" ");
    return { stack, kind, layer: Number(layer), head: Number(head), scale };
  });
  if (state.layers) result.layers = list(state.layers).map(item => ({ stack: item.split(" ")[0], layer: Number(item.split(" ")[1]) }));
  if (state.masked) result.masked = list(state.masked).map(Number);
  if (!state.order) result.positions = false;
  if (!state.scaling) result.scaling = false;
  if (state.window >= 0) result.window = state.window;
  return result;
}

export function toggled(text, item) {
  const items = list(text);
  return (items.includes(item) ? items.filter(i => i !== item) : [...items, item]).join(";");
}

function headButton(a, i) {
  const name = `${a.stack} ${a.kind} ${a.layer} ${i}`, scale = heads().get(name) ?? 1;
  const next = { 1: 0, 0: 0.5, 0.5: 2, 2: 1 }[scale] ?? 1;
  return h("button", { class: scale === 1 ? "" : scale === 0 ? "off" : "on", "data-head": name, title: `head ${i + 1}: times ${scale}`, onclick: () => {
    const all = heads();
    if (next === 1) all.delete(name); else all.set(name, next);
    set({ heads: [...all].map(([key, value]) => `${key}=${value}`).join(";") });
  } }, scale === 1 || scale === 0 ? `${i + 1}` : `${i + 1} ×${scale}`);
}

export function switches() {
  const rows = model.attention.map(a => h("tr", {}, h("td", { class: "quiet" }, `${titleOf(a)} ${a.layer + 1}`),
    h("td", {}, h("div", { class: "tokens" }, ...Array.from({ length: a.heads }, (_, i) => headButton(a, i))))));
  const layers = [...new Set(model.attention.map(a => `${a.stack} ${a.layer}`))], stacks = new Set(model.attention.map(a => a.stack));
  return h("div", {}, h("h3", {}, "heads (a click: off, ×0.5, ×2, back)"), h("table", { class: "candidates" }, ...rows),
    h("h3", { style: "margin-top:14px" }, "layers"), h("div", { class: "tokens" }, ...layers.map(name => h("button", { class: list(state.layers).includes(name) ? "off" : "", onclick: () => set({ layers: toggled(state.layers, name) }) },
      `${stacks.size > 1 ? name.split(" ")[0] : "layer"} ${Number(name.split(" ")[1]) + 1}`))));
}

function steps(result) {
  return h("div", { class: "tokens" }, ...result.target.pieces.map((piece, i) =>
    h("span", { class: "box" }, shown(piece), h("br"), h("span", {}, result.steps[i].probability.toFixed(2)))));
}

export async function ablateView(plain) {
  if (exported) return h("p", { class: "note" }, "This is an exported file. Start `attend look` to switch parts of the model off.");
  const changes = ablation(), any = Object.keys(changes).length > 0;
  const result = any ? await inspect({ text: state.text, ablation: changes }) : plain;
  const last = telling(model.attention), noun = { translation: "source tokens", "language-model": "tokens of the prompt" }[model.kind] || "tokens";
  const map = (from, name) => figure(name, matrixFigure({ ...labels(from, last), weights: matrix(find(from, last), -1) }));
  const card = (title, id, from) => h("div", { class: "card" }, h("h3", {}, title), h("p", { id }, from.text || "—"),
    from.steps.length ? h("p", { class: "quiet" }, `score ${from.score.toFixed(3)}`) : null, steps(from));
  return h("div", { class: "columns" },
    h("div", { class: "card" }, h("h3", {}, `${noun} (a click hides one)`), h("div", { class: "tokens" }, ...plain.source.pieces.map((piece, i) =>
      h("button", { class: list(state.masked).includes(String(i)) ? "off" : "", onclick: () => set({ masked: toggled(state.masked, String(i)) }) }, shown(piece)))),
    h("div", { class: "controls", style: "margin:14px 0 14px" },
      model.positions ? h("button", { class: state.order ? "" : "on", onclick: () => set({ order: state.order ? 0 : 1 }) }, state.order ? "positions on" : "positions off") : null,
      model.scaled ? h("button", { id: "scaling", class: state.scaling ? "" : "on", title: "scores divided by the root of the head width", onclick: () => set({ scaling: state.scaling ? 0 : 1 }) }, state.scaling ? "1/√d on" : "1/√d off") : null,
      any ? h("button", { onclick: () => set({ heads: "", layers: "", masked: "", order: 1, scaling: 1 }) }, "everything back") : null),
    model.layers ? switches() : null),
    h("div", {},
      card("as it is", "original", plain),
      any ? card("changed", "ablated", result) : h("p", { class: "note", id: "ablated", style: "margin:16px 4px" }, "Switch something off, and what changes is shown here, beside the original."),
      last ? h("div", { class: "card" }, h("h3", {}, "where it looked: as it is" + (any ? ", then changed" : "")), map(plain, "original"), any ? map(result, "ablated") : null) : null));
}
