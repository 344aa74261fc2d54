// What is shown, in the address (#view=heads&text=..&layer=1..), and where its data comes from: the program that serves
// this page, or, in an exported file, the page itself.
import { sentencesOf } from "look/sentences";
import { request } from "look/server";

const inlined = document.getElementById("data");
export const exported = inlined ? JSON.parse(inlined.textContent) : null;

// Which of the models here: the one the program was started with, or another of its shelf (#model=NAME).
let base = "";
// The page may lie in a folder of a server. other: the name of another model of the shelf; empty: all
// of them.
export const addressOf = (path, other = null) => "." + (other === null ? base : other && `/models/${other}`) + path;
export const apiAddress = (question, other = null) => addressOf("/api/" + question, other);
export async function ask(question, body, other = null) {
  const response = await request(apiAddress(question, other), body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || "the server said " + response.status);
  return answer;
}

// What is looked at. kind: translation, language-model, masked-lm, classification, tagging, encoder, image, detection, caption, drawing, or run alone.
const start = new URLSearchParams(location.hash.slice(1)).get("model");
const [first, others] = exported ? [exported.model] : await Promise.all([ask("model"), ask("models").catch(() => null)]);
export const shelf = others || { models: [] };
if (start !== shelf.first && shelf.models.some(one => one.name === start)) base = `/models/${start}`;
let broken = "";  // why the model that was meant cannot be opened
export const model = base ? await ask("model").catch(error => { broken = error.message, base = ""; return first; }) : first;
export const sentences = sentencesOf(model);
const last = model.attention[model.attention.length - 1];

const defaults = {
  view: model.run ? "run" : model.kind === "image" ? "image" : "map", text: exported ? exported.text || "" : sentences[0]?.text || "",
  image: exported ? exported.image || "" : model.samples ? model.samples[0] : "", query: -1,  // and who looks: a place of it, or its class token
  stack: last ? last.stack : "decoder", kind: last ? last.kind : "cross", layer: last ? last.layer : 99, head: -1,  // the last layer, its heads averaged
  class: 0, seed: 1, row: 0, toclass: -1, toseed: 2, share: 0,  // a drawing, and the one a walk ends with
  compare: -2, token: 0, focus: -1, step: 0, prefix: "", heads: "", layers: "", masked: "", off: "", order: 1, scaling: 1, at: -1, example: 0, threshold: 50, heat: 75, temperature: 1, topk: 0, source: "", tour: 0, course: 0,
  worked: "slide", q: "", k: "", v: "", score: "dot", scaled: 1, causal: 0,  // numbers that a person types
  window: -1,  // how many other tokens each may see; -1: as the model has it
};

export const state = { ...defaults };

// An address that names no head begins at the easiest one; one that names no view is a bare stop of the tour.
let open = true, plain = true;
export const bare = () => plain;
export function begin(result) {
  if (open && result && model.kind !== "image") Object.assign(state, opening(result));
  open = plain = false;
}

// Returns what is wrong with the address, if anything.
export function readAddress() {
  clearTimeout(writer), writer = 0;
  Object.assign(state, defaults);
  const words = new URLSearchParams(location.hash.slice(1)), meant = words.get("model");
  if (meant && meant !== model.name && shelf.models.some(one => one.name === meant) && !(broken && meant === start)) return location.reload();
  for (const [name, value] of words)
    if (name in defaults) state[name] = typeof defaults[name] === "number" ? Number(value) || 0 : value;
  open = !["stack", "kind", "layer", "head"].some(name => words.has(name)), plain = !words.has("view");
  if (broken) return `${start} cannot be opened: ${broken}`;
  return meant && meant !== model.name ? `This link is about the model ${meant}; this is ${model.name}.` : "";
}

function address() {
  const words = new URLSearchParams({ model: model.name });
  for (const name in defaults)
    if (state[name] !== defaults[name] || name === "view" || (name === "head" && !open) || name === (model.samples ? "image" : "text")) words.set(name, state[name]);
  return "#" + words;
}

let draw = () => {};
export function onChange(callback) { draw = callback; }
// Into the address, without drawing anew; while keys are held, four times a second, because browsers stop listening to
// pages that write there more often.
let written = -1e9, writer = 0;
function write() {
  clearTimeout(writer);
  writer = 0, written = performance.now();
  history.replaceState(null, "", address());
}
addEventListener("pagehide", () => { if (writer) write(); });
export function remember(changes) {
  Object.assign(state, changes);
  if (performance.now() - written > 250) write();
  else writer ||= setTimeout(write, 250);
}
export function set(changes) {
  remember(changes);
  draw();
}

// Answers by request, so that going back and forth costs nothing.
const kept = new Map(), letters = model.kind === "language-model" && model.vocabulary < 512;  // it writes letters: more of them
export function inspect(request) {
  if (letters) request = { tokens: 32, ...request };
  if (exported) {
    const plain = !request.prefix && !request.ablation && request.text === exported.text && request.image === exported.image;
    if (plain) return Promise.resolve(exported.result);
    if (exported.unordered && request.text === exported.text && JSON.stringify(request.ablation) === '{"positions":false}')
      return Promise.resolve(exported.unordered);
    return Promise.reject(new Error("This is an exported file: start `attend look` to try other things."));
  }
  const key = JSON.stringify(request);
  if (!kept.has(key)) {
    if (kept.size > 40) kept.clear();
    const answer = ask("inspect", request);
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}

// What the views are about.
export const subject = () => model.samples ? { image: state.image } : { text: state.text, ...(state.window < 0 ? {} : { ablation: { window: state.window } }) };

// All of one layer's attention over an image; the newest few are kept.
const layers = new Map();
export function attention(request) {
  if (exported) return exported.layers[request.layer] ? Promise.resolve(exported.layers[request.layer]) : Promise.reject(new Error("This file does not carry whole layers: start `attend look`."));
  const key = JSON.stringify(request);
  if (!layers.has(key)) {
    if (layers.size > 24) layers.clear();
    const answer = ask("attention", request);
    answer.catch(() => layers.delete(key));
    layers.set(key, answer);
  }
  return layers.get(key);
}

export function trace(where) {
  if (!exported) return ask("trace", where);
  if (exported.trace) return Promise.resolve(exported.trace.steps);
  return Promise.reject(new Error("This file carries no walk."));
}

// Where a walk ends.
export function output(where) {
  if (exported) return Promise.resolve(exported.output);
  return ask("output", where);
}

let table = null;
export function positions() {
  if (exported) return Promise.resolve(exported.positions);
  return table ??= ask("positions", {});
}

export const sameHead = (a, b) => a.stack === b.stack && a.kind === b.kind && a.layer === b.layer;
export const find = (result, place) => result.attention.find(a => sameHead(a, place));
export const titleOf = place =>
  place.kind === "cross" ? "cross-attention" : place.stack === "decoder" ? "masked self-attention"
    : model.kind === "translation" ? "encoder self-attention" : "self-attention";

// The tokens down and across an image of one attention. What a translator's decoder reads is the target moved right by
// one; a language model reads its prompt and what it wrote; an encoder its text.
export function labels(result, place) {
  const source = result.source.pieces, target = result.target.pieces;
  if (!result.attention.some(a => a.kind === "cross")) {
    const all = place.stack === "encoder" ? source : [...source, ...target];
    return { rows: all, columns: all };
  }
  const inputs = [model.start || "<s>", ...target.slice(0, -1)];
  return {
    rows: place.stack === "encoder" ? source : place.kind === "self" ? inputs : target,
    columns: place.stack === "encoder" || place.kind === "cross" ? source : inputs,
  };
}

// Which cells of an attention are barred: what comes later, and what its window leaves out. Null: none.
export function barredIn(layer) {
  if (!layer.reach) return null;
  const { causal, before, after, globals } = layer.reach, marked = new Set(layer.reach.marked);
  const global = place => place < globals || marked.has(place);
  return (row, column) => (causal && column > row) || (!global(row) && !global(column) &&
    ((before >= 0 && column < row - before) || (after >= 0 && column > row + after)));
}

// One head, or all averaged.
export function matrix(layer, head) {
  if (head >= 0) return layer.weights[Math.min(head, layer.weights.length - 1)];
  return layer.weights[0].map((row, r) => row.map((_, c) =>
    layer.weights.reduce((sum, one) => sum + one[r][c], 0) / layer.weights.length));
}

// How much of what both sides have (a full stop, a name, a digit) is looked at from where it is written: 1 says that a head
// of cross-attention is the alignment, not its neighbour. Nothing in common: 0.
function aligned({ rows, columns }, weights) {
  const names = columns.map(piece => piece.trim()), shared = rows.map(piece => names.indexOf(piece.trim())).map((c, r) => [r, c]).filter(([, c]) => c >= 0 && names.indexOf(names[c], c + 1) < 0);
  return shared.reduce((sum, [r, c]) => sum + weights[r][c], 0) / Math.max(1, shared.length);
}

// The head that is easiest to read: its rows are decided, and about different tokens; of cross-attention, its alignment is
// right where that is known. Among the attention that says most about an answer, or among those that wanted() picks.
export function easiest(result, wanted = null) {
  const among = result.attention.filter(wanted || (a => a.kind === telling(result.attention).kind && a.stack === telling(result.attention).stack));
  let best = null, most = -1;
  for (const { stack, kind, layer, weights } of among)
    weights.forEach((rows, head) => {
      const tops = rows.map(row => row.indexOf(Math.max(...row))), sure = rows.reduce((sum, row) => sum + Math.max(...row), 0) / rows.length;
      const clear = sure * new Set(tops).size / Math.min(rows.length, rows[0]?.length || 1) * (kind === "cross" ? 0.25 + aligned(labels(result, { stack, kind }), rows) : 1);
      if (clear > most) most = clear, best = { stack, kind, layer, head };
    });
  return best;
}

// The head that a sentence opens with: the one that links the two tokens it is about, or the easiest to read.
export function opening(result) {
  const link = sentences.find(one => one.text === state.text)?.link, pieces = result.source.pieces.map(piece => piece.trim());
  const [from, to] = (link || []).map(word => pieces.indexOf(word));
  let best = null, most = 0;
  if (from >= 0 && to >= 0)
    for (const { stack, kind, layer, weights } of result.attention.filter(a => a.stack === "encoder"))
      weights.forEach((rows, head) => { if (rows[from][to] > most) most = rows[from][to], best = { stack, kind, layer, head, focus: from }; });
  return best || easiest(result);
}

// Who looks and at what, in words: piece is one token, or nothing for all of them.
export function whoLooks(place, piece = "") {
  const one = piece ? `‘${piece}’` : "";
  if (place.kind === "cross") return `${one || "Each token being written"} (decoder, writing) attends to the source (encoder, reading)`;
  if (model.kind === "translation") return place.stack === "encoder" ? `${one || "Each token of the source"} (encoder, reading) attends to the source itself`
    : `${one || "Each token being written"} (decoder, writing) attends to what is written so far`;
  return place.stack === "decoder" ? `${one || "Each token"} (writing) attends to itself and to earlier tokens` : `${one || "Each token"} (reading) attends to the whole text`;
}

// The attention that says most about an answer: the last one between both sides, or the last layer's.
export const telling = attention => attention[attention.length - 1];
