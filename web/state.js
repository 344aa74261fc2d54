// What is shown, in the address (#view=heads&text=..&layer=1..), and where its data comes from: the program that serves
// this page, or, in an exported file, the page itself.

const inlined = document.getElementById("data");
export const exported = inlined ? JSON.parse(inlined.textContent) : null;

export async function ask(path, body) {
  const response = await fetch("." + path, body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || "the server said " + response.status);
  return answer;
}

// What is looked at. kind: translation, language-model, masked-lm, classification, tagging, encoder, picture, or run alone.
export const model = exported ? exported.model : await ask("/api/model");
const last = model.attention[model.attention.length - 1];

const defaults = {
  view: model.run ? "run" : model.kind === "picture" ? "picture" : "map", text: exported ? exported.text || "" : model.example || "",
  picture: exported ? exported.picture || "" : model.samples ? model.samples[0] : "", query: -1,  // and who looks: a place of it, or its class token
  stack: last ? last.stack : "decoder", kind: last ? last.kind : "cross", layer: last ? last.layer : 99, head: -1,  // the last layer, its heads averaged
  compare: -2, token: 0, focus: -1, step: 0, prefix: "", heads: "", layers: "", masked: "", order: 1, at: -1, example: 0,
};

export const state = { ...defaults };

// Returns what is wrong with the address, if anything.
export function readAddress() {
  clearTimeout(writer), writer = 0;
  Object.assign(state, defaults);
  const words = new URLSearchParams(location.hash.slice(1)), meant = words.get("model");
  for (const [name, value] of words)
    if (name in defaults) state[name] = typeof defaults[name] === "number" ? Number(value) || 0 : value;
  return meant && meant !== model.name ? `This link is about the model ${meant}; this is ${model.name}.` : "";
}

function address() {
  const words = new URLSearchParams({ model: model.name });
  for (const name in defaults)
    if (state[name] !== defaults[name] || name === "view" || name === (model.kind === "picture" ? "picture" : "text")) words.set(name, state[name]);
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
    const plain = !request.prefix && !request.ablation && request.text === exported.text && request.picture === exported.picture;
    if (plain) return Promise.resolve(exported.result);
    if (exported.unordered && request.text === exported.text && JSON.stringify(request.ablation) === '{"positions":false}')
      return Promise.resolve(exported.unordered);
    return Promise.reject(new Error("This is an exported file: start `attend look` to try other things."));
  }
  const key = JSON.stringify(request);
  if (!kept.has(key)) {
    if (kept.size > 40) kept.clear();
    const answer = ask("/api/inspect", request);
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}

// What the views are about.
export const subject = () => model.kind === "picture" ? { picture: state.picture } : { text: state.text };

// All of one layer's attention over a picture; the newest few are kept.
const layers = new Map();
export function attention(request) {
  if (exported) return exported.layers[request.layer] ? Promise.resolve(exported.layers[request.layer]) : Promise.reject(new Error("This file does not carry whole layers: start `attend look`."));
  const key = JSON.stringify(request);
  if (!layers.has(key)) {
    if (layers.size > 24) layers.clear();
    const answer = ask("/api/attention", request);
    answer.catch(() => layers.delete(key));
    layers.set(key, answer);
  }
  return layers.get(key);
}

export function trace(where) {
  if (!exported) return ask("/api/trace", where);
  if (exported.trace) return Promise.resolve(exported.trace.steps);
  return Promise.reject(new Error("This file carries no walk."));
}

let table = null;
export function positions() {
  if (exported) return Promise.resolve(exported.positions);
  return table ??= ask("/api/positions", {});
}

export const sameHead = (a, b) => a.stack === b.stack && a.kind === b.kind && a.layer === b.layer;
export const find = (result, place) => result.attention.find(a => sameHead(a, place));
export const titleOf = place =>
  place.kind === "cross" ? "cross-attention" : place.stack === "decoder" ? "masked self-attention"
    : model.kind === "translation" ? "encoder self-attention" : "self-attention";

// The tokens down and across a picture of one attention. What a translator's decoder reads is the target moved right by
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

// One head, or all averaged.
export function matrix(layer, head) {
  if (head >= 0) return layer.weights[Math.min(head, layer.weights.length - 1)];
  return layer.weights[0].map((row, r) => row.map((_, c) =>
    layer.weights.reduce((sum, one) => sum + one[r][c], 0) / layer.weights.length));
}

// The attention that says most about an answer: the last one between both sides, or the last layer's.
export const telling = attention => attention[attention.length - 1];
