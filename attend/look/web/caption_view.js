// Sentence: the caption of an image with the attention map of every word at once (figure 3 of Xu et al. 2015). Point at a
// word for its map, large, and for its alternatives. A model without attention has looked once, before the first word: the vector that is left of
// the image is all it has. Two models stand side by side.
import { model, remember, set, state } from "look/state";
import { choice, figure, h, saves, say, shown, strip, thumbnailsFigure } from "look/draw";
import { largest, placeName, shares } from "look/image_data";
import { heatSlider, labelBars, litTile, imageBox, pixelsOf } from "look/image_draw";

// Where a word looked, by a head of a layer or all averaged. Layers and heads beyond the last are the last.
function wordHeat(said, token, layer, head) {
  const [rows, columns] = said.grid, size = rows * columns, one = said.attention[Math.max(0, Math.min(layer, said.attention.length - 1))], all = shares(one, "weights");
  const words = said.tokens.length, weights = new Float32Array(size), from = head < 0 ? 0 : Math.min(head, one.heads - 1), to = head < 0 ? one.heads : from + 1;
  for (let k = from; k < to; ++k) for (let i = 0; i < size; ++i) weights[i] += all[(k * words + token) * size + i] / (to - from);
  return { rows, columns, weights, smooth: true };
}
const chosenHeat = (said, token) => wordHeat(said, token, state.layer, state.head);

function layerChoices(card) {
  const here = card.attention[Math.max(0, Math.min(state.layer, card.attention.length - 1))], single = card.attention.length < 2;
  if (single && here.heads < 2) return [];
  return [...(single ? [] : [h("label", {}, "layer", choice("layer", card.attention.map(a => [a.layer, String(a.layer + 1)]), here.layer, layer => set({ layer })))]),
    ...(here.heads < 2 ? [] : [h("label", {}, "head", choice("head", [[-1, "average"], ...Array.from({ length: here.heads }, (_, i) => [i, String(i + 1)])], Math.min(state.head, here.heads - 1), head => set({ head })))])];
}

const kindOf = card => ({ "show-tell": "RNN without attention (Show and Tell)", "show-attend-tell": "RNN with attention (Show, Attend and Tell)", transformer: "Transformer decoder" }[card.config.decoder] || card.config.model_type);

// All that a model without attention has of the image.
function bottleneck(said) {
  const regions = said.grid[0] * said.grid[1], most = Math.max(...said.start.map(Math.abs));
  return h("div", { class: "bottleneck" }, h("h2", {}, "The bottleneck"),
    h("p", { class: "note" }, `This model has no attention. Of the ${regions} regions of the image, ${said.channels} numbers each, it keeps the mean, and of that these ${said.start.length} numbers. They are read once, as if they were the first word; no later word can look at the image again.`),
    h("div", { class: "vector", id: "start" }, strip(said.start, said.start.length, most)));
}

// What else a step might have said.
const candidates = (said, token) => {
  const step = said.steps[token];
  return !step ? h("div") : h("div", {}, h("h3", {}, `instead of “${shown(said.tokens[token])}”, ${(100 * step.probability).toFixed(0)} %`), labelBars(step.candidates.map(one => ({ ...one, text: shown(one.text) }))));
};

// One model's sentence: words to point at, the image by their light, and every word small.
function writer(said, pixels, card) {
  const attends = said.attention.length > 0, last = said.tokens.length - 1;
  const box = imageBox({ pixels, grid: attends ? said.grid : [1, 1], lines: false, label: attends ? "where a word looked" : "what the model sees" });
  const words = h("p", { class: "quiet looked" }), others = h("div", { class: "others" });
  const show = token => {
    buttons.forEach((button, i) => button.classList.toggle("on", i === token));
    tiles.forEach((tile, i) => tile.classList.toggle("marked", i === token));
    if (token < 0) {
      box.show(null);
      say(words, attends ? "Point at a word for its attention map; a click keeps it." : "Point at a word to see what else it might have been.");
      return others.replaceChildren();
    }
    const heat = attends ? chosenHeat(said, token) : null;
    box.show(heat);
    say(words, heat ? `“${shown(said.tokens[token])}”: most of it, ${largest(heat).toFixed(3)}, at ${placeName(Math.max(0, heat.weights.indexOf(largest(heat))), heat.columns)}.` : "No word looks at the image.");
    others.replaceChildren(candidates(said, token));
  };
  const kept = () => Math.min(state.focus, last), keep = token => { remember({ focus: token === state.focus ? -1 : token }); show(kept()); };
  const reads = token => ({ onmouseenter: () => show(token), onmouseleave: () => show(kept()), onfocus: () => show(token), onclick: () => keep(token) });
  const buttons = said.tokens.map((token, i) => h("button", { class: "", "data-word": i, ...reads(i) }, shown(token)));
  const drawn = attends ? said.tokens.map((token, i) => [shown(token), litTile(pixels, chosenHeat(said, i), `where ${shown(token)} looked`)]) : [];
  const tiles = drawn.map(([name, canvas], i) => h("button", { "data-tile": i, ...reads(i) }, canvas, h("span", {}, name)));
  const choices = attends && card.attention ? layerChoices(card) : [];
  const plain = h("figure", {}, litTile(pixels, null, "the image"), h("figcaption", {}, "the image"));
  const node = h("div", { class: "card writer", "data-writer": card.name || "" }, ...(card.name ? [h("h2", {}, card.name), h("p", { class: "note" }, kindOf(card))] : []),
    h("div", { class: "tokens words" }, ...buttons), ...(choices.length ? [h("div", { class: "controls" }, ...choices)] : []),
    ...(tiles.length ? [h("div", { class: "tiles captioned" }, plain, ...tiles), h("div", { class: "controls" }, heatSlider(), saves("words", () => thumbnailsFigure([["the image", plain.querySelector("canvas")], ...drawn], 5)))] : []),
    h("div", { class: "columns" }, h("div", {}, figure("word", box), words), others), ...(said.start.length ? [bottleneck(said)] : []));
  show(kept());
  return node;
}

export async function captionView(result) {
  const first = writer(result, await pixelsOf(result), model);
  if (!result.beside) return first;
  const second = writer(result.beside, await pixelsOf(result.beside), model.beside);
  return h("div", {}, h("p", { class: "note" }, "One image, two models. Where there is attention every word looks again; where there is none, all of the image had to fit into one vector before the first word."),
    h("div", { class: "columns" }, first, second));
}

// One example of a run: the sentence it writes at that step.
export async function captionSnapshot(example) {
  const should = example.target.text;
  return h("div", {}, h("p", {}, h("mark", { id: "sample" }, example.text || "—"), should ? h("span", { class: "quiet" }, ` · a person wrote: ${should}`) : null), writer(example, await pixelsOf(example), {}));
}
