// Step by step: one token through one head with its real numbers, from its vector to the next layer.
import { exported, labels, model, sameHead, set, state, trace, whoLooks } from "look/state";
import { h, saves, shown, short, signedColor, strip } from "look/draw";
import { barRow } from "look/bars";
import { place, placeControls } from "look/heads";
import { outputSections } from "look/output";
import { sourceLink } from "look/source";

// hidden: which rows a mask hides, of the steps behind it.
function values(step, hidden) {
  const finite = step.values.filter(x => x !== null), most = Math.max(1e-9, ...finite.map(Math.abs));
  if (step.rows.length && step.shape[1] === 1) return h("div", { class: "rows" }, ...step.rows.flatMap((piece, i) =>
    barRow(piece, step.values[i], most, { masked: step.values[i] === null ? "masked, −∞" : step.name === "softmax" && hidden[i] ? "masked, 0" : "", share: step.name === "softmax" })));
  if (step.rows.length) return h("div", { class: "rows" }, ...step.rows.flatMap((piece, i) =>
    [h("span", {}, short(piece)), strip(step.values.slice(i * step.shape[1], (i + 1) * step.shape[1]), step.shape[1], most), h("span")]));
  return vectorOf(step, most);
}

export const vectorOf = (step, most) => h("div", {}, strip(step.values, step.shape[0], most),
  h("code", {}, "[" + step.values.slice(0, 6).map(x => x.toFixed(3)).join(", ") + (step.values.length > 6 ? ", …]" : "]")));

// The whole walk as one image, for saving.
export function walkFigure(walk) {
  const width = 900, left = 250, parts = [];
  let y = 34;
  const cells = (values, columns, most, top, high) => values.slice(0, columns).forEach((x, i) => parts.push(h("rect", { x: left + i * (width - left - 90) / columns, y: top, width: (width - left - 90) / columns + 0.3, height: high, fill: signedColor(x, most) })));
  for (const step of walk.steps) {
    const rows = step.rows.length || 1, columns = step.shape[step.shape.length - 1], most = Math.max(1e-9, ...step.values.filter(x => x !== null).map(Math.abs));
    parts.push(h("text", { x: 16, y: y + 12, "font-weight": 700 }, step.name), h("text", { x: 16, y: y + 28 }, step.formula), h("text", { x: 16, y: y + 43, "font-size": 10 }, `${step.file}:${step.line}`));
    for (let r = 0; r < rows; ++r) {
      const top = y + r * 16, one = step.values.slice(r * columns, (r + 1) * columns);
      if (step.rows.length) parts.push(h("text", { x: left - 8, y: top + 11, "text-anchor": "end", "font-size": 10 }, short(step.rows[r], 9)));
      cells(one, columns, most, top, 13);
      if (columns === 1) parts.push(h("text", { x: width - 82, y: top + 11, "font-size": 10 }, one[0] === null ? "−∞" : one[0].toFixed(4)));
    }
    y += Math.max(rows * 16, 50) + 12;
  }
  return h("svg", { viewBox: `0 0 ${width} ${y}`, width, height: y, "font-size": 13 }, h("text", { x: 16, y: 20, "font-size": 15 }, `“${shown(walk.queries[walk.token])}”, head ${walk.head + 1} of ${walk.heads}`), ...parts);
}

// values(step) draws its numbers; more are sections behind the walk's.
export const walkCard = (walk, values, more = []) => h("div", { class: "card" }, ...walk.steps.map(step => h("section", { class: "step", "data-step": step.name },
  h("div", {}, h("h2", {}, step.name), h("div", { class: "formula" }, step.formula),
    h("code", {}, `[${step.shape.join(" × ")}]`), sourceLink(step.file, step.line)),
  h("div", { class: "vector" }, values(step), h("div", { class: "quiet" }, step.note)))), ...more);

// Which token the vector of this one decided, if any.
function writtenNext(result, place, token) {
  if (place.stack !== "decoder") return null;
  const at = model.kind === "translation" ? token : token + 1 - result.source.pieces.length;
  return result.steps[at] ? { id: result.target.ids[at], text: result.target.pieces[at], probability: result.steps[at].probability } : null;
}

export async function stepsView(result) {
  // An exported file carries one walk.
  const fixed = exported?.trace?.where, now = fixed ? model.attention.find(a => sameHead(a, fixed)) : place();
  const head = fixed ? fixed.head : Math.max(0, Math.min(state.head, now.heads - 1));
  const rows = labels(result, { stack: now.stack, kind: "self" }).rows;
  const token = fixed ? fixed.token : Math.max(0, Math.min(state.token, rows.length - 1));
  const where = { text: state.text, target: result.target.ids, stack: now.stack, kind: now.kind, layer: now.layer, head, token };
  const layers = Math.max(...model.attention.filter(a => a.stack === now.stack).map(a => a.layer)) + 1, next = writtenNext(result, now, token);
  const [walk, more] = await Promise.all([trace(where), outputSections(where, layers, next)]);
  const masked = walk.steps.find(step => step.name === "masked"), hidden = masked ? masked.values.map(x => x === null) : [];
  const tokens = exported ? [] : [h("div", { class: "controls" }, h("label", {}, "token", h("div", { class: "tokens" }, ...rows.map((piece, i) =>
    h("button", { class: i === token ? "on" : "", onclick: () => set({ token: i }) }, shown(piece))))))];
  return h("div", {}, exported ? null : h("div", { class: "controls" }, ...placeControls(now, { average: false }).nodes), ...tokens,
    h("p", { class: "note" }, `How ‘${shown(walk.queries[walk.token])}’ passes head ${walk.head + 1} of ${walk.heads}${next ? `, on the way to writing ‘${shown(next.text)}’` : ""}. `,
      h("span", { class: "legend" }, h("i", { class: "below" }), "below zero ", h("i", { class: "above" }), "above ", h("i", { class: "masked" }), "masked"), "; each step has a scale of its own."),
    h("h3", {}, whoLooks(now, shown(walk.queries[walk.token]))),
    walkCard(walk, step => values(step, hidden), more), saves("steps", () => walkFigure(walk)));
}
