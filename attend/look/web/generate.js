// Generate (Fill, Answer): the answer step by step, the candidates of each step, and another way at any of them.
import { exported, find, inspect, labels, matrix, model, set, state, telling } from "look/state";
import { figure, h, shown } from "look/draw";
import { matrixFigure } from "look/figures";
import { treeFigure } from "look/tree";

const notes = {
  translation: "Pick a step; click another candidate and the model goes on from there, taking the likeliest each time.",
  "language-model": "Pick a step; click another candidate and the model goes on from there, taking the likeliest each time.",
  "masked-lm": "Pick a mask; click another candidate and the model reads the text again with that word in it.",
  classification: "What the model's last layer makes of the first token, as probabilities.",
  tagging: "Pick a word to see what else it could have been.",
  answering: "Parts of the text by the probability that the answer begins and ends there; pick another to see where it stands.",
};

// Spans count characters, not the halves that JavaScript's strings have.
const part = (text, [begin, end]) => [...text].slice(begin, end).join("");
export const answeredText = (text, span) => [part(text, [0, span[0]]), h("mark", { class: "answer" }, part(text, span)), part(text, [span[1]])];
export function taggedText(text, steps) {
  let at = 0;
  const parts = steps.flatMap(step => {
    const between = part(text, [at, step.span[0]]), word = part(text, step.span), tag = step.candidates[0].text;
    at = step.span[1];
    return [between, tag === "O" ? word : h("ruby", {}, word, h("rt", {}, tag))];
  });
  return [...parts, part(text, [at])];
}

// The tokens to pick from: what was written, or the text with its masks and tags.
function tokens(result, at) {
  const button = (text, i, below = null) => h("button", { class: i === at ? "on" : "", title: `probability ${result.steps[i].probability}`, onclick: () => set({ step: i }) }, text, below);
  const quiet = piece => h("span", { class: "box" }, shown(piece));
  if (model.kind === "language-model") return [...result.source.pieces.map(quiet), ...result.target.pieces.map((piece, i) => button(shown(piece), i))];
  if (model.kind === "masked-lm" || model.kind === "tagging") {
    const byPlace = new Map(result.steps.map((step, i) => [step.place, i])), tag = i => h("small", { class: "tag" }, result.target.pieces[i]);
    return result.source.pieces.map((piece, place) => !byPlace.has(place) ? quiet(piece)
      : model.kind === "tagging" ? button(shown(piece), byPlace.get(place), tag(byPlace.get(place))) : button(shown(result.target.pieces[byPlace.get(place)]), byPlace.get(place)));
  }
  if (model.kind === "answering") return [h("p", { class: "passage" }, ...answeredText(state.text, result.steps[0].candidates[picked(result)].span))];
  return result.target.pieces.map((piece, i) => button(shown(piece), i));
}

// Of a question there is one step, and its candidates are gone through.
const picked = result => Math.max(0, Math.min(state.step, result.steps[0].candidates.length - 1));

function candidates(result, at) {
  const step = result.steps[at], most = Math.max(...step.candidates.map(c => c.probability), 1e-9);
  const answering = model.kind === "answering", fixed = (exported && !answering) || model.kind === "classification" || model.kind === "tagging";
  return h("table", { class: answering ? "candidates long" : "candidates" }, ...step.candidates.map((candidate, i) => {
    const bar = h("div", { class: "meter" });
    bar.style.width = 100 * candidate.probability / most + "%";
    return h("tr", {}, h("td", {}, h("button", { class: (answering ? i === picked(result) : candidate.id === step.chosen) ? "on" : "", disabled: fixed ? "" : null,
      onclick: () => set(answering ? { step: i } : { prefix: [...result.target.ids.slice(0, at), candidate.id].join(","), step: at }) }, shown(candidate.text))),
    h("td", { class: "number" }, candidate.probability.toFixed(4)), h("td", { style: answering ? "width:35%" : "width:60%" }, bar));
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

const names = { translation: "Written so far", "language-model": "Written so far", "masked-lm": "What the masks hide", classification: "The label", tagging: "A label for every word", answering: "Where the answer stands" };

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
    model.kind === "classification" ? null : h("div", { class: "tokens" }, ...tokens(result, at)), controls,
    h("h3", { style: "margin-top:14px" }, model.kind === "tagging" ? `what “${part(state.text, result.steps[at].span)}” may be` : count > 1 ? `candidates of step ${at + 1}` : "candidates"), candidates(result, at),
    prefix ? h("p", {}, h("span", { class: "quiet" }, "now: "), h("mark", { id: "continued" }, result.text), h("span", { class: "quiet" }, score)) : null);
  let looked = null;
  if (last) {
    const { rows, columns } = labels(result, last), row = rowOf(result, at);
    looked = h("div", { class: "card" }, h("h2", {}, "Where it looked"),
      h("p", { class: "note" }, (model.attention.length > 1 ? `The last layer's ${last.kind === "cross" ? "cross-attention" : "attention"}, all heads averaged` : "The attention") + (grows ? ", growing step by step." : ".")),
      figure("alignment", matrixFigure({ rows, columns, weights: matrix(find(result, last), -1), count: grows ? row + 1 : undefined, active: row })));
  }
  const tree = !prefix && result.beam.length ? h("div", { class: "card wide" }, h("h2", {}, "The beam as a tree"),
    h("p", { class: "note" }, "Every beginning that was kept, step by step: the thick line is the translation, faded ones died (×), a square is an end with its score."),
    figure("beam", treeFigure(result, at))) : null;
  return h("div", {}, h("div", { class: "columns" }, steps, looked), tree);
}
