// Where a walk ends: from the last vector to a number for every word, and from there to probabilities, with the
// temperature and the top k that a draw has. Computed here from all logits, so that the sliders need no server.
import { exported, output, remember, set, state, model } from "look/state";
import { h, say, shown } from "look/draw";
import { percent } from "look/percent";
import { sourceLink } from "look/source";
import { barRow } from "look/bars";

const most = 10;  // words on the page

const floats = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);

// As attend draws: the k likeliest, then exp(logit / temperature) of each over the sum of all. logits: the largest first.
export function probabilities(logits, temperature, k) {
  const count = k > 0 ? Math.min(k, logits.length) : logits.length, result = new Float64Array(logits.length);
  let sum = 0;
  for (let i = 0; i < count; ++i) sum += result[i] = Math.exp((logits[i] - logits[0]) / temperature);
  for (let i = 0; i < count; ++i) result[i] /= sum;
  return result;
}

const section = (name, formula, shape, link, ...right) => h("section", { class: "step", "data-step": name },
  h("div", {}, h("h2", {}, name), h("div", { class: "formula" }, formula), h("code", {}, shape), link), h("div", { class: "vector" }, ...right));

function slider(name, text, { min, max, step, value, write }, redraw) {
  const label = h("output", {}, write(value));
  return h("label", {}, text, h("input", { type: "range", min, max, step, value, name, oninput: event => { say(label, write(Number(event.target.value))); redraw(Number(event.target.value)); } }), label);
}

// Below top-k's largest stop is all of them.
function words(answer, logits, chosen) {
  const ends = Math.min(65, logits.length), rows = h("div", { class: "rows", id: "drawn" }), rest = h("p", { class: "quiet", id: "rest" });
  const redraw = () => {
    const p = probabilities(logits, state.temperature, state.topk), shownWords = answer.words.slice(0, most);
    const sum = shownWords.reduce((total, _, i) => total + p[i], 0), others = logits.length - shownWords.length;
    rows.replaceChildren(...shownWords.flatMap((word, i) => barRow(shown(word.text) + (word.id === chosen ? " ←" : ""), p[i], 1, { masked: p[i] === 0 && state.topk > 0 ? "cut off" : "", share: true })));
    say(rest, others > 0 ? `All ${logits.length} together: 1. The ${others} others have ${(1 - sum).toFixed(4)}.` : "All together: 1.");
  };
  redraw();
  const k = state.topk > 0 ? Math.min(state.topk, ends) : ends;
  return [h("div", { class: "controls" },
    slider("temperature", "temperature", { min: 0.1, max: 2, step: 0.05, value: state.temperature, write: t => t.toFixed(2) }, temperature => { remember({ temperature }); redraw(); }),
    slider("topk", "top-k", { min: 1, max: ends, step: 1, value: k, write: n => n >= ends ? "all" : String(n) }, n => { remember({ topk: n >= ends ? 0 : n }); redraw(); })), rows, rest];
}

// The steps behind a walk, as sections of its card. where: what the walk was asked for; next: what was written there.
export async function outputSections(where, layers, next) {
  if (model.kind === "translation" && where.stack === "encoder")
    return [section("what becomes of it", "memory = the last layer's vectors", `layer ${where.layer + 1} of ${layers}`, null,
      h("p", { class: "note" }, "The encoder writes no word. Its last vectors are what the decoder's cross-attention reads; there the way to a word goes on."),
      exported ? null : h("button", { onclick: () => set({ stack: "decoder", kind: "cross", layer: 0, head: 0, token: 0 }) }, "go on in the decoder →"))];
  const answer = await output(where);
  if (!answer || !answer.count) return [];
  const logits = floats(answer.logits), top = answer.words.slice(0, most), scale = Math.max(...top.map((_, i) => Math.abs(logits[i])), Math.abs(logits[logits.length - 1]));
  const left = layers - 1 - where.layer, noun = model.kind === "classification" ? "label" : model.kind === "tagging" ? "tag" : "word";
  const chosen = next ? next.id : -1;
  return [
    section("logits", `logit = W · x${left ? "⁽ᴸ⁾" : ""} + b`, `[${answer.count}]`, sourceLink(answer.computed.file, answer.computed.line),
      h("div", { class: "rows" }, ...top.flatMap((word, i) => barRow(shown(word.text), logits[i], scale)), ...barRow("the least", logits[logits.length - 1], scale)),
      h("div", { class: "quiet" }, (left ? `After ${left} more layer${left > 1 ? "s" : ""}, the` : "The") + ` last vector is held against every ${noun} there is, one number each.` +
        (model.vocabulary > answer.count && noun === "word" ? ` Of ${model.vocabulary} in the vocabulary, ${model.vocabulary - answer.count} are marks that are never written.` : ""))),
    section(`softmax over ${noun}s`, "p = exp(logit / T) / Σ exp(logit / T)", `[${answer.count}]`, sourceLink(answer.drawn.file, answer.drawn.line),
      ...words(answer, logits, chosen),
      h("div", { class: "quiet" }, next ? `← is what was written: ${shown(next.text)}, ${percent(next.probability)} at temperature 1.` : "Move the sliders: this is the distribution that a draw takes a word from.")),
  ];
}
