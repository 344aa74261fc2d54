// How far tokens look: a slider that runs the sentence again with self-attention cut to a band (Beltagy et al. 2020), and
// words for what it bars.
import { exported, model, set, state } from "look/state";
import { h, say } from "look/draw";

export const barredWords = result => result.attention.some(a => a.reach) ? " Grey cells are masked: later tokens, or tokens outside the window." : "";

// Null where there is no self-attention to cut, and in a file.
export function windowSlider(result) {
  const self = result.attention.filter(a => a.kind === "self");
  if (exported || !self.length || !model.layers) return null;
  const most = Math.max(1, ...self.map(a => a.weights[0].length - 1)), all = most + 1;
  const named = value => value >= all ? "all it may" : value === 0 ? "itself alone" : `${value} other${value === 1 ? "" : "s"}`;
  const now = state.window < 0 || state.window > most ? all : state.window, words = h("output", {}, named(now));
  const slider = h("input", { type: "range", id: "window", min: 0, max: all, value: now, "aria-label": "window: how many other tokens each may see",
    oninput: () => say(words, named(Number(slider.value))), onchange: () => set({ window: Number(slider.value) >= all ? -1 : Number(slider.value) }) });
  return h("div", { class: "controls" }, h("label", { title: "Self-attention alone: before a token, and half of them behind it where it may look ahead." }, "window: each token sees", slider, words));
}
