// Walk: from one drawing to another, through the noise between two seeds, or between two classes.
import { model, remember, set, state } from "look/state";
import { h } from "look/draw";
import { classControl, classNow, drawing, drawn, seedControl, toClass } from "look/drawing_data";

const frames = 25, shown = 9;

async function way(title, note, request, name) {
  const { drawings } = await drawn({ what: "walk", frames, row: 0, ...request });
  const large = h("img", { class: "blocks large", alt: title }), label = h("span", { class: "quiet" });
  const show = share => {
    const at = Math.round(share * (frames - 1));
    large.src = drawings[at];
    label.textContent = `${Math.round(100 * at / (frames - 1))} %`;
  };
  const slider = h("input", { type: "range", min: 0, max: frames - 1, value: Math.round(state.share * (frames - 1)), "aria-label": name, style: "flex:1; min-width:160px",
    oninput: event => { remember({ share: Number((event.target.value / (frames - 1)).toFixed(3)) }); show(state.share); } });
  show(Math.max(0, Math.min(1, state.share)));
  return h("div", { class: "card" }, h("h2", {}, title), h("p", { class: "note" }, note), large, h("div", { class: "controls" }, slider, label),
    h("div", { class: "strip" }, ...Array.from({ length: shown }, (_, i) => drawing(drawings[i * (frames - 1) / (shown - 1)], `${Math.round(100 * i / (shown - 1))} %`, 44))));
}

export async function walkView() {
  const from = classNow(), to = toClass(), other = to === from ? (from + 1) % model.classes.length : to;
  const [seeds, classes] = await Promise.all([
    way(`From seed ${state.seed} to seed ${state.toseed}`, `The class stays ${model.classes[from]}; the noise goes from the one to the other.`, { class: from, seed: state.seed, to_class: from, to_seed: state.toseed }, "between two seeds"),
    way(`From ${model.classes[from]} to ${model.classes[other]}`, `The noise stays that of seed ${state.seed}; gains and shifts of the class go from the one to the other.`, { class: from, seed: state.seed, to_class: other, to_seed: state.seed }, "between two classes")]);
  return h("div", {}, h("div", { class: "controls" }, classControl("class", from, next => set({ class: next })), classControl("to", other, toclass => set({ toclass })),
    seedControl("seed", state.seed, seed => set({ seed })), seedControl("to seed", state.toseed, toseed => set({ toseed }))), h("div", { class: "columns" }, seeds, classes));
}
