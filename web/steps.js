// Step by step: one token through one head with its real numbers, from its vector to the next layer.
import { exported, labels, set, state, trace } from "look/state";
import { h, shown, short, strip } from "look/draw";
import { place, placeControls } from "look/heads";

function values(step) {
  const finite = step.values.filter(x => x !== null), most = Math.max(1e-9, ...finite.map(Math.abs));
  if (step.rows.length && step.shape[1] === 1) return h("div", { class: "rows" }, ...step.rows.flatMap((piece, i) => {
    const x = step.values[i], bar = h("div", { class: "meter" });
    bar.style.width = x === null ? "0" : 100 * Math.abs(x) / most + "%";
    if (x < 0) bar.style.background = "var(--quiet)";
    return [h("span", {}, short(piece)), bar, h("span", { class: "number" }, x === null ? "−∞" : x.toFixed(4))];
  }));
  if (step.rows.length) return h("div", { class: "rows" }, ...step.rows.flatMap((piece, i) =>
    [h("span", {}, short(piece)), strip(step.values.slice(i * step.shape[1], (i + 1) * step.shape[1]), step.shape[1], most), h("span")]));
  return h("div", {}, strip(step.values, step.shape[0], most),
    h("code", {}, "[" + step.values.slice(0, 6).map(x => x.toFixed(3)).join(", ") + (step.values.length > 6 ? ", …]" : "]")));
}

export async function stepsView(result) {
  const now = place(), head = Math.max(0, Math.min(state.head, now.heads - 1));
  const rows = labels(result, now.stack === "decoder" ? { stack: "decoder", kind: "self" } : now).rows;
  const token = Math.max(0, Math.min(state.token, rows.length - 1));
  const where = { text: state.text, target: result.target.ids, stack: now.stack, kind: now.kind, layer: now.layer, head, token };
  const walk = await trace(where);
  const tokens = exported ? [] : [h("div", { class: "controls" }, h("label", {}, "token", h("div", { class: "tokens" }, ...rows.map((piece, i) =>
    h("button", { class: i === token ? "on" : "", onclick: () => set({ token: i }) }, shown(piece))))))];
  return h("div", {}, exported ? null : h("div", { class: "controls" }, ...placeControls(now, { average: false })), ...tokens,
    h("p", { class: "note" }, `How “${shown(walk.queries[walk.token])}” passes head ${walk.head + 1} of ${walk.heads}. Blue is below zero, orange above; each strip has its own scale.`),
    h("div", { class: "card" }, ...walk.steps.map(step => h("section", { class: "step", "data-step": step.name },
      h("div", {}, h("h2", {}, step.name), h("div", { class: "formula" }, step.formula),
        h("code", {}, `[${step.shape.join(" × ")}]  ${step.file}`)),
      h("div", { class: "vector" }, values(step), h("div", { class: "quiet" }, step.note))))));
}
