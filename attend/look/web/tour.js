// The tour: stops that drive the page's own views through one sentence, from its tokens to the translation. A stop is what
// it says, which state it sets and which part of the page it points at; the address holds its number.
import { bare, easiest, exported, find, matrix, model, set, shelf, state } from "look/state";
import { h, shown } from "look/draw";
import { explain } from "look/glossary";

const quoted = piece => `‘${shown(piece)}’`;
const top = row => row.reduce((best, w, i) => w > row[best] ? i : best, 0);
const step = name => `[data-step="${name}"]`;

// Of all tokens but the marks at the ends, the one whose row in this head is the most decided.
function sharpest(weights) {
  const peaks = weights.map(row => Math.max(...row)), inner = peaks.slice(0, -1);
  return inner.length ? top(inner) : 0;
}

// What the stops say depends on the answer: all names and numbers in them are the model's.
export function stops(result) {
  const read = easiest(result, a => a.stack === "encoder") || {}, cross = easiest(result, a => a.kind === "cross");
  const own = easiest(result, a => a.stack === "decoder" && a.kind === "self");
  const source = result.source.pieces, target = result.target.pieces, words = source.slice(0, -1).map(shown);
  const reading = matrix(find(result, read), read.head), token = sharpest(reading), seen = top(reading[token]);
  const writing = matrix(find(result, cross), cross.head), written = sharpest(writing), looked = top(writing[written]);
  const layers = Math.max(...model.attention.filter(a => a.stack === "encoder").map(a => a.layer)) + 1;
  const walk = { view: "steps", ...read, token }, first = result.steps[written];
  const last = { ...cross, layer: Math.max(...model.attention.filter(a => a.kind === "cross").map(a => a.layer)) };
  return [
    { title: "One sentence, from end to end", state: { view: "map" },
      text: `“${state.text}” becomes “${result.text}”. The encoder (left) reads, the decoder (right) writes. Every square is a head of attention. We follow the sentence from the bottom left to the last word.` },
    { title: "Tokens", state: { view: "map" }, mark: ".stack.encoder > p",
      text: `The text is cut into ${source.length} tokens: ${words.join(" · ")}, and a mark for the end. Each becomes a vector of ${model.config.width ?? model.config.d_model ?? "some hundred"} numbers, its embedding. From here on there are only vectors.` },
    { title: "Places", state: { view: "positions" }, mark: "#places",
      text: "Attention knows no order. So each place has a vector of its own, a row of this image, and it is added to the token’s. Further on this page you see what becomes of the model without." },
    { title: "A head that is easy to read", state: { view: "heads", ...read, focus: -1 }, mark: ".pair",
      text: `The encoder’s layer ${read.layer + 1}, head ${read.head + 1}: the clearest of its heads for this sentence. Each token (left, or down) looks at tokens of the same sentence (right, or across). Thick or dark is much.` },
    { title: "One token looks", state: { view: "heads", ...read, focus: token }, mark: ".values",
      text: `${quoted(source[token])} looks at ${quoted(source[seen])} with weight ${reading[token][seen].toFixed(2)}. The weights of a row sum to 1: it is a mean over the sentence, and the row says of whom. Where do they come from?` },
    { title: "Query, key, value", state: walk, mark: step("q"),
      text: `Three projections of the vector: the query says what ${quoted(source[token])} asks for, a key what a token offers, a value what it gives. The names of files on the left are links: that is the line of code that computed it.` },
    { title: "Scores", state: walk, mark: step("scores"),
      text: "The query meets every key in a dot product. Orange bars are above zero, blue below: a fit, and a misfit. Then the numbers are divided by the root of the head’s width." },
    { title: "Softmax", state: walk, mark: step("softmax"),
      text: `exp of each, divided by the sum of all: out of scores come weights that sum to 1. The largest is ${reading[token][seen].toFixed(4)}, on ${quoted(source[seen])}: the number you saw in the image.` },
    { title: "The mix", state: walk, mark: step("weights·v"),
      text: "The values are mixed by these weights, the heads are put side by side and projected once more (W_O). That is all that attention is." },
    { title: "Add, norm, feed-forward", state: walk, mark: step("hidden"),
      text: "What the heads found is added to the token’s vector: the residual stream. Then a feed-forward network works on each token alone, and its result is added too. That is one layer." },
    { title: "Layers on layers", state: { view: "map" }, mark: ".stack.encoder",
      text: `The same ${layers} times. What comes out on top, one vector for each token, is all that the decoder will know of the sentence.` },
    { title: "The decoder looks back", state: { view: "heads", ...own, focus: -1 }, mark: ".pair",
      text: "While it writes, the decoder looks at what is written already, and never ahead: the upper right of the matrix is masked." },
    { title: "The decoder looks over", state: { view: "heads", ...cross, focus: written }, mark: ".pair",
      text: `Cross-attention: to write ${quoted(target[written])} the decoder looks at ${quoted(source[looked])} (${writing[written][looked].toFixed(2)}). This is the alignment that nobody taught it. Keys ← → go through the other heads.` },
    { title: "A number for every word", state: { view: "steps", ...last, token: written, temperature: 1, topk: 0 }, mark: step("logits"),
      text: `After the last layer the vector is held against all ${model.vocabulary} tokens of the vocabulary: the logits. ${first.candidates[0].id === result.target.ids[written] ? `The largest is that of ${quoted(target[written])}, which was written.` : `The largest is that of ${quoted(first.candidates[0].text)}; beam search took ${quoted(target[written])}, for what comes behind.`}` },
    { title: "Softmax over words", state: { view: "steps", ...last, token: written }, mark: step("softmax over words"),
      text: `Softmax again: ${quoted(target[written])} has ${first.probability.toFixed(4)}. Move the temperature: low makes the model sure, high makes it bold. Top-k cuts off the tail.` },
    { title: "Word after word", state: { view: "generate", step: Math.min(written, result.steps.length - 1), prefix: "" }, mark: ".card",
      text: "What was chosen is read again as the next input. Click another candidate, and the sentence goes on from there. Below, the tree of beginnings that beam search kept." },
    { title: "Without that head", state: { view: "ablate", heads: `${cross.stack} ${cross.kind} ${cross.layer} ${cross.head}=0`, layers: "", masked: "", order: 1 }, mark: "#ablated",
      text: "The head of cross-attention that we looked at is switched off here. Switch others off, hide words, take the positions away: what changes is shown beside the original. That was the tour; the picker above has sentences worth a look.",
      more: shelf.models.some(m => m.name === "reverse-transformer") ? ["What was there before attention? Three networks, side by side", "model=reverse-transformer&view=compare"] : null },
  ];
}

// Of which models the tour tells. Others lead to the one that comes with attend.
export const toured = () => model.kind === "translation" && model.layers;
const box = h("section", { class: "tour", "aria-label": "tour", hidden: "" });
document.body.append(box);
let shownStop = "", marked = null;

function go(result, n) {
  const all = stops(result), stop = all[n - 1];
  set({ heads: "", layers: "", masked: "", prefix: "", ...stop.state, tour: n });
}

// A bare link (#tour=5) does not say what the stop looks like.
export function applyBareStop(result) {
  if (!toured() || !state.tour || !bare()) return false;
  const all = stops(result), stop = all[Math.min(state.tour, all.length) - 1];
  Object.assign(state, stop.state);
  return true;
}

export function startTour(result) {
  if (toured()) return go(result, 1);
  const one = shelf.models.find(m => m.name === "en-fr");
  if (one) location.hash = `model=${one.name}&tour=1`;
}
export const canTour = () => !exported && (toured() || shelf.models.some(m => m.name === "en-fr"));

export function showTour(result) {
  const on = toured() && state.tour > 0 && result;
  document.body.classList.toggle("touring", Boolean(on));
  box.hidden = !on;
  marked?.classList.remove("pointed");
  if (!on) { shownStop = ""; return; }
  const all = stops(result), n = Math.min(state.tour, all.length), stop = all[n - 1];
  const dots = h("div", { class: "dots" }, ...all.map((one, i) => h("button", { class: i + 1 === n ? "on" : "", title: one.title, "aria-label": `stop ${i + 1}: ${one.title}`, onclick: () => go(result, i + 1) })));
  box.replaceChildren(h("div", {}, h("strong", {}, stop.title), h("span", { class: "quiet" }, ` ${n} of ${all.length}`),
    h("button", { class: "plain", id: "skip", onclick: () => set({ tour: 0 }) }, innerWidth < 700 ? "skip" : "skip the tour")),
  h("p", {}, stop.text), stop.more ? h("p", {}, h("a", { id: "more", href: "#" + stop.more[1] }, stop.more[0] + " →")) : "", h("div", { class: "controls" }, h("button", { id: "back", disabled: n === 1 ? "" : null, onclick: () => go(result, n - 1) }, "← back"),
    h("button", { id: "next", class: "on", onclick: () => n < all.length ? go(result, n + 1) : set({ tour: 0 }) }, n < all.length ? "next →" : "the end"), dots));
  explain(box, "p");
  marked = stop.mark ? document.querySelector("#view " + stop.mark) : null;
  marked?.classList.add("pointed");
  const key = `${n} ${state.text}`;
  if (key !== shownStop) {
    shownStop = key;
    if (!marked) scrollTo({ top: 0 });
    else { const edge = marked.getBoundingClientRect(), room = innerHeight - box.offsetHeight; scrollTo({ top: Math.max(0, scrollY + edge.top - Math.max(16, (room - edge.height) / 2)) }); }
  }
}
