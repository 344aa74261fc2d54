// Drawings as the program makes them, and what a person sets to get one: a class and a seed.
import { ask, model, set, state } from "look/state";
import { h } from "look/draw";

// The newest answers are kept, so that going back costs nothing.
const kept = new Map();
export function drawn(request) {
  const key = JSON.stringify(request);
  if (!kept.has(key)) {
    if (kept.size > 60) kept.clear();
    const answer = ask("inspect", request);
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}

export const classNow = () => Math.max(0, Math.min(state.class, model.classes.length - 1));
export const toClass = () => state.toclass < 0 ? classNow() : Math.min(state.toclass, model.classes.length - 1);

export function classControl(label, value, pick) {
  const select = h("select", { "aria-label": label, onchange: event => pick(Number(event.target.value)) },
    ...model.classes.map((name, i) => h("option", { value: i, selected: i === value ? "" : null }, name)));
  return h("label", {}, label, select);
}

export function seedControl(label, value, pick) {
  const box = h("input", { type: "number", min: 0, max: 999999, value, "aria-label": label, style: "width:6.5em", onchange: event => pick(Math.max(0, Math.min(999999, Math.round(Number(event.target.value)) || 0))) });
  return h("label", {}, label, box, h("button", { type: "button", class: "plain", title: "another", "aria-label": `another ${label}`, onclick: () => pick(Math.floor(1000 * Math.random())) }, "⚄"));
}

export const drawing = (address, name, side = 64) => h("img", { src: address, alt: name, title: name, class: "blocks", width: side, height: side });
export const openDrawing = (of, row) => set({ class: of, row, query: -1, view: "where" });
