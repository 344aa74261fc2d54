// Generate: the output token by token, the candidates of each step, and another way at any of them.
import { find, matrix, model, set, state, translate } from "look/state";
import { figure, h, matrixPicture, shown } from "look/draw";

export async function generateView(plain) {
  const prefix = state.prefix ? state.prefix.split(",").map(Number) : null;
  const result = prefix ? await translate({ text: state.text, prefix }) : plain;
  const at = Math.max(0, Math.min(state.step, result.steps.length - 1)), step = result.steps[at];
  const most = Math.max(...step.candidates.map(c => c.probability), 1e-9);
  const tokens = h("div", { class: "tokens" }, ...result.target.pieces.map((piece, i) =>
    h("button", { class: i === at ? "on" : "", title: `probability ${result.steps[i].probability}`, onclick: () => set({ step: i }) }, shown(piece))));
  const table = h("table", { class: "candidates" }, ...step.candidates.map(candidate => {
    const bar = h("div", { class: "meter" });
    bar.style.width = 100 * candidate.probability / most + "%";
    return h("tr", {}, h("td", {}, h("button", { class: candidate.id === step.chosen ? "on" : "",
      onclick: () => set({ prefix: [...result.target.ids.slice(0, at), candidate.id].join(","), step: at }) }, shown(candidate.text))),
    h("td", { class: "number" }, candidate.probability.toFixed(4)), h("td", { style: "width:60%" }, bar));
  }));
  const places = model.attention.filter(a => a.kind === "cross"), last = places[places.length - 1];
  const picture = last && figure("alignment", matrixPicture({ rows: result.target.pieces, columns: result.source.pieces,
    weights: matrix(find(result, last), -1), count: at + 1, active: at, onrow: () => {} }));
  return h("div", { class: "columns" },
    h("div", { class: "card" }, h("h2", {}, "Written so far"), h("p", { class: "note" }, "Pick a step; click another candidate and the model goes on from there, taking the likeliest each time."), tokens,
      h("div", { class: "controls", style: "margin-top:14px" },
        h("button", { onclick: () => set({ step: Math.max(0, at - 1) }) }, "← back"), h("button", { onclick: () => set({ step: Math.min(result.steps.length - 1, at + 1) }) }, "next →"),
        prefix ? h("button", { onclick: () => set({ prefix: "", step: at }) }, "the model's own") : null),
      h("h3", {}, `candidates of step ${at + 1}`), table,
      prefix ? h("p", {}, h("span", { class: "quiet" }, "now: "), h("mark", { id: "continued" }, result.text), h("span", { class: "quiet" }, ` (score ${result.score.toFixed(3)}, beam search had ${plain.score.toFixed(3)})`)) : null),
    picture ? h("div", { class: "card" }, h("h2", {}, "Where it looked"), h("p", { class: "note" }, "The last layer's cross-attention, all heads averaged, growing step by step."), picture) : null);
}
