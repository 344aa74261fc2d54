// What is shown, in the address (#view=heads&text=..&layer=1..), and where its data comes from: the program that serves
// this page, or, in an exported file, the page itself.

const inlined = document.getElementById("data");
export const exported = inlined ? JSON.parse(inlined.textContent) : null;

const defaults = {
  view: "map", text: exported ? exported.text : "I am a student of music.", stack: "decoder", kind: "cross", layer: 0, head: 0,
  compare: -2, token: 0, step: 0, prefix: "", heads: "", layers: "", masked: "", order: 1, average: 0,
};

export const state = { ...defaults };

export function readAddress() {
  Object.assign(state, defaults);
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (name in defaults) state[name] = typeof defaults[name] === "number" ? Number(value) || 0 : value;
}

function address() {
  const words = new URLSearchParams();
  for (const name in defaults)
    if (state[name] !== defaults[name] || name === "view" || name === "text") words.set(name, state[name]);
  return "#" + words;
}

let draw = () => {};
export function onChange(callback) { draw = callback; }
export function set(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", address());
  return draw();
}

export async function ask(path, body) {
  const response = await fetch(path, body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || "the server said " + response.status);
  return answer;
}

// Answers by request, so that going back and forth costs nothing.
const kept = new Map();
export function translate(request) {
  if (exported) {
    const plain = !request.prefix && !request.ablation && request.text === exported.text;
    if (plain) return Promise.resolve(exported.result);
    if (request.ablation?.positions === false && Object.keys(request.ablation).length === 1)
      return Promise.resolve(exported.unordered);
    return Promise.reject(new Error("This is an exported file: start `attend look` to try other things."));
  }
  const key = JSON.stringify(request);
  if (!kept.has(key)) {
    if (kept.size > 40) kept.clear();
    const answer = ask(request.prefix ? "/api/continue" : "/api/translate", request);
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}

export function trace(where) {
  if (!exported) return ask("/api/trace", where);
  if (exported.trace) return Promise.resolve(exported.trace.steps);
  return Promise.reject(new Error("This file carries no walk."));
}

export const model = exported ? exported.model : await ask("/api/model");

export const sameHead = (a, b) => a.stack === b.stack && a.kind === b.kind && a.layer === b.layer;
export const find = (result, place) => result.attention.find(a => sameHead(a, place));
export const titleOf = place =>
  place.stack === "encoder" ? "encoder self-attention" : place.kind === "self" ? "masked self-attention" : "cross-attention";

// The tokens down and across a picture of one attention. What the decoder reads is the target moved right by one.
export function labels(result, place) {
  const source = result.source.pieces, inputs = ["<s>", ...result.target.pieces.slice(0, -1)];
  return {
    rows: place.stack === "encoder" ? source : place.kind === "self" ? inputs : result.target.pieces,
    columns: place.stack === "encoder" || place.kind === "cross" ? source : inputs,
  };
}

// One head, or all averaged.
export function matrix(layer, head) {
  if (head >= 0) return layer.weights[Math.min(head, layer.weights.length - 1)];
  return layer.weights[0].map((row, r) => row.map((_, c) =>
    layer.weights.reduce((sum, one) => sum + one[r][c], 0) / layer.weights.length));
}
