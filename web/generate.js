// Generate (Fill, Answer): the answer step by step, the candidates of each step, and another way at any of them.
import { exported, find, inspect, labels, matrix, model, set, state, telling } from "look/state";
import { figure, h, shown } from "look/draw";
import { matrixPicture } from "look/pictures";
import { treePicture } from "look/tree";

const notes = {
  translation: "Pick a step; click another candidate and the model goes on from there, taking the likeliest each time.",
  "language-model": "Pick a step; click another candidate and the model goes on from there, taking the likeliest each time.",
  "masked-lm": "Pick a mask; click another candidate and the model reads the text again with that word in it.",
  classification: "What the model's last layer makes of the first token, as probabilities.",
  tagging: "Pick a token to see what else it could have been.",
};

// The tokens to pick from: what was written, or the text with its masks and tags.
function tokens(result, at) {
  const button = (text, i) => h("button", { class: i === at ? "on" : "", title: `probability ${result.steps[i].probability}`, onclick: () => set({ step: i }) }, text);
  const quiet = piece => h("span", { class: "box" }, shown(piece));
  if (model.kind === "language-model") return [...result.source.pieces.map(quiet), ...result.target.pieces.map((piece, i) => button(shown(piece), i))];
  if (model.kind === "masked-lm" || model.kind === "tagging") {
    const byPlace = new Map(result.steps.map((step, i) => [step.place, i]));
    return result.source.pieces.map((piece, place) => byPlace.has(place)
      ? button(model.kind === "tagging" ? `${shown(piece)} ${result.target.pieces[byPlace.get(place)]}` : shown(result.target.pieces[byPlace.get(place)]), byPlace.get(place))
      : quiet(piece));
  }
  return result.target.pieces.map((piece, i) => button(shown(piece), i));
}

function candidates(result, at) {
  const step = result.steps[at], most = Math.max(...step.candidates.map(c => c.probability), 1e-9);
  const fixed = exported || model.kind === "classification" || model.kind === "tagging";
  return h("table", { class: "candidates" }, ...step.candidates.map(candidate => {
    const bar = h("div", { class: "meter" });
    bar.style.width = 100 * candidate.probability / most + "%";
    return h("tr", {}, h("td", {}, h("button", { class: candidate.id === step.chosen ? "on" : "", disabled: fixed ? "" : null,
      onclick: () => set({ prefix: [...result.target.ids.slice(0, at), candidate.id].join(","), step: at }) }, shown(candidate.text))),
    h("td", { class: "number" }, candidate.probability.toFixed(4)), h("td", { style: "width:60%" }, bar));
  }));
}

// Which row of the telling attention belongs to a step, and how many rows there are by then.
function rowOf(result, at) {
  if (model.kind === "language-model") return result.source.pieces.length + at - 1;  // the token it was read off
  if (result.steps[at].place !== undefined) return result.steps[at].place;
  return model.kind === "classification" ? 0 : at;
}

let playing = 0;
function play(count) {
  clearInterval(playing);
  set({ step: 0 });
  playing = setInterval(() => {
    if (state.view !== "generate" || state.step >= count - 1) return clearInterval(playing);
    set({ step: state.step + 1 });
  }, 450);
}

const names = { translation: "Written so far", "language-model": "Written so far", "masked-lm": "What the masks hide", classification: "The label", tagging: "A label for every token" };

export async function generateView(plain) {
  const prefix = state.prefix ? state.prefix.split(",").map(Number) : null;
  const result = prefix ? await inspect({ text: state.text, prefix }) : plain;
  if (!result.steps.length) return h("p", { class: "note" }, model.mask ? `There is nothing to fill: write ${model.mask} in the text.` : result.text);
  const at = Math.max(0, Math.min(state.step, result.steps.length - 1)), grows = model.kind === "translation" || model.kind === "language-model";
  const last = telling(model.attention), count = result.steps.length;
  const controls = count > 1 ? h("div", { class: "controls", style: "margin-top:14px" },
    h("button", { onclick: () => set({ step: Math.max(0, at - 1) }) }, "← back"), h("button", { onclick: () => set({ step: Math.min(count - 1, at + 1) }) }, "next →"),
    grows ? h("button", { onclick: () => play(count) }, "▶ play") : null,
    prefix ? h("button", { onclick: () => set({ prefix: "", step: at }) }, "the model's own") : null) : prefix ? h("button", { onclick: () => set({ prefix: "" }) }, "the model's own") : null;
  const score = ` (score ${result.score.toFixed(3)}, ${model.kind === "translation" ? "beam search" : "by itself it"} had ${plain.score.toFixed(3)})`;
  const steps = h("div", { class: "card" }, h("h2", {}, names[model.kind]), h("p", { class: "note" }, notes[model.kind]),
    h("div", { class: "tokens" }, ...tokens(result, at)), controls,
    h("h3", { style: "margin-top:14px" }, count > 1 ? `candidates of step ${at + 1}` : "candidates"), candidates(result, at),
    prefix ? h("p", {}, h("span", { class: "quiet" }, "now: "), h("mark", { id: "continued" }, result.text), h("span", { class: "quiet" }, score)) : null);
  let looked = null;
  if (last) {
    const { rows, columns } = labels(result, last), row = rowOf(result, at);
    looked = h("div", { class: "card" }, h("h2", {}, "Where it looked"),
      h("p", { class: "note" }, (model.attention.length > 1 ? `The last layer's ${last.kind === "cross" ? "cross-attention" : "attention"}, all heads averaged` : "The attention") + (grows ? ", growing step by step." : ".")),
      figure("alignment", matrixPicture({ rows, columns, weights: matrix(find(result, last), -1), count: grows ? row + 1 : undefined, active: row })));
  }
  const tree = !prefix && result.beam.length ? h("div", { class: "card wide" }, h("h2", {}, "The beam as a tree"),
    h("p", { class: "note" }, "Every beginning that was kept, step by step: the thick line is the translation, faded ones died (×), a square is an end with its score."),
    figure("beam", treePicture(result, at))) : null;
  return h("div", {}, h("div", { class: "columns" }, steps, looked), tree);
}
