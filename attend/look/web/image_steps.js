// Step by step for one patch: as with words, but what there is of every patch is drawn where the patch lies.
import { exported, set, state, trace } from "look/state";
import { h, saves, signedColor, strip } from "look/draw";
import { layerNow, placeName } from "look/image_data";
import { imageBox, pixelsOf } from "look/image_draw";
import { layerControls } from "look/image_view";
import { vectorOf, walkCard, walkFigure } from "look/steps";

// One number a patch as a small image, and those of the model's own tokens in words.
function grid(step, place, most) {
  const [rows, columns] = place.queries, canvas = h("canvas", { width: columns, height: rows, class: "blocks" }), pen = canvas.getContext("2d");
  step.values.slice(place.tokens).forEach((x, i) => { pen.fillStyle = signedColor(x, most); pen.fillRect(i % columns, Math.floor(i / columns), 1, 1); });
  const own = step.rows.slice(0, place.tokens).map((name, i) => `${name} ${step.values[i].toFixed(4)}`);
  const patches = step.values.slice(place.tokens), best = patches.indexOf(Math.max(...patches));
  return h("div", { class: "patch-values" }, canvas, h("span", { class: "quiet" }, [...own, `largest of the patches ${patches[best].toFixed(4)}, ${placeName(best, columns)}`].join("; ")));
}

function values(step, place) {
  const most = Math.max(1e-9, ...step.values.filter(x => x !== null).map(Math.abs));
  if (!step.rows.length) return vectorOf(step, most);
  if (step.shape[1] === 1) return grid(step, place, most);
  const all = strip(step.values, step.shape[1], most);  // a row a token
  all.style.height = Math.min(220, 4 * step.rows.length) + "px";
  return h("div", {}, all, h("div", { class: "quiet" }, `${step.rows.length} rows: ${step.rows.slice(0, place.tokens).join(", ")}, then the patches row by row`));
}

export async function imageStepsView(result) {
  const pixels = await pixelsOf(result), place = layerNow(), head = Math.max(0, Math.min(state.head, place.heads - 1));
  const token = Math.max(0, Math.min(state.token, place.tokens + place.queries[0] * place.queries[1] - 1));
  const walk = await trace({ image: state.image, layer: place.layer, head, token }), patch = walk.token - place.tokens;
  const name = patch < 0 ? `the ${walk.queries[walk.token]} token` : `the patch in ${placeName(patch, place.queries[1])}`;
  const box = imageBox({ pixels, grid: place.queries, label: "choose a patch", onpick: patch => { if (!exported) set({ token: patch + place.tokens }); } });
  box.show(null, { place: patch });
  const own = walk.queries.slice(0, place.tokens).map((title, i) => h("button", { class: i === token ? "on" : "", onclick: () => set({ token: i }) }, `${title} token`));
  return h("div", {}, exported ? null : h("div", { class: "controls" }, ...layerControls({ average: false })),
    h("div", { class: "columns beside" },
      h("div", { class: "card" }, h("h3", {}, exported ? "this file has one walk" : "click a patch"), box, exported ? null : h("div", { class: "tokens", style: "margin-top:10px" }, ...own)),
      h("div", {}, h("p", { class: "note" }, `How ${name} passes head ${walk.head + 1} of ${walk.heads}, layer ${place.layer + 1}. Blue is below zero, orange above; each drawing has its own scale.`),
        walkCard(walk, step => values(step, place)), saves("steps", () => walkFigure(walk)))));
}
