// Attention inside a generator: one image, large; a place of it is pointed at, and where that place looked while it was drawn lights
// up. Keys are pooled, so what is looked at are 2 × 2 places at once.
import { model, remember, set, state } from "look/state";
import { choice, figure, h, say } from "look/draw";
import { heatFrom, largest, placeName } from "look/image_data";
import { heatSlider, imageBox, pixelsOf } from "look/image_draw";
import { classControl, classNow, drawn, seedControl } from "look/drawing_data";

// The mean over all places, of which each looks somewhere else.
function everywhere(full) {
  const [rows, columns] = full.queries, sum = heatFrom(full, 0, 0), count = rows * columns;
  for (let query = 1; query < count; ++query) heatFrom(full, 0, query).weights.forEach((w, i) => { sum.weights[i] += w; });
  sum.weights.forEach((_, i) => { sum.weights[i] /= count; });
  return sum;
}

// How far a place looks: the distance to what it looks at, in places, by weight.
function reach(full, query) {
  const { rows, columns, weights } = heatFrom(full, 0, query), [high, wide] = full.queries;
  const y = Math.floor(query / wide) + 0.5, x = query % wide + 0.5;
  return weights.reduce((sum, w, i) => sum + w * Math.hypot((Math.floor(i / columns) + 0.5) * high / rows - y, (i % columns + 0.5) * wide / columns - x), 0);
}

export async function whereView() {
  const of = classNow(), result = await drawn({ what: "one", class: of, seed: state.seed, row: state.row }), pixels = await pixelsOf(result);
  const controls = h("div", { class: "controls" }, classControl("class", of, next => set({ class: next })), seedControl("seed", state.seed, seed => set({ seed })),
    h("label", {}, "drawing", choice("drawing", Array.from({ length: 8 }, (_, i) => [i, String(i + 1)]), state.row, row => set({ row }))));
  const places = result.attention, title = `${model.classes[of]}, seed ${state.seed}, drawing ${state.row + 1}`;
  if (!places.length) {
    const plain = imageBox({ pixels, grid: [1, 1], lines: false, label: title });
    return h("div", {}, controls, h("div", { class: "card" }, h("h2", {}, title), figure("drawing", plain), h("p", { class: "note", id: "looked" }, "This generator has no attention: its attention_stage is 0.")));
  }
  const full = places[Math.max(0, Math.min(state.layer, places.length - 1))], [rows, columns] = full.queries, words = h("p", { class: "quiet", id: "looked" });
  const show = (query, kept) => {
    if (query >= rows * columns) query = -1;
    const from = query >= 0 ? heatFrom(full, 0, query) : everywhere(full);
    box.show(from, { place: query });
    const top = from.weights.indexOf(Math.max(...from.weights));
    say(words, query >= 0 ? `The place in ${placeName(query, columns)} looks ${reach(full, query).toFixed(1)} places far on average; most, ${largest(from).toFixed(3)}, at ${placeName(top, from.columns)} of ${from.rows} × ${from.columns}.` + (kept ? " Click it again to let go." : "")
      : "What all places look at on average. Point at a place to see where it looks; a click keeps it.");
  };
  const box = imageBox({ pixels, grid: full.queries, lines: true, label: "where a place of the drawing looks", onpoint: query => show(query >= 0 ? query : state.query, query < 0 && state.query >= 0),
    onpick: query => { remember({ query: query === state.query ? -1 : query }); show(state.query, state.query >= 0); } });
  show(state.query, state.query >= 0);
  const layers = places.length > 1 ? h("label", {}, "layer", choice("layer", places.map(a => [a.layer, String(a.layer + 1)]), full.layer, layer => set({ layer }))) : null;
  return h("div", {}, controls, h("div", { class: "columns" },
    h("div", { class: "card" }, h("h2", {}, `Attention: ${title}`), ...(layers ? [h("div", { class: "controls" }, layers)] : []), figure("where", box), heatSlider(), words),
    h("div", { class: "card" }, h("h2", {}, "The drawing"), h("p", { class: "note" }, `${pixels.width} × ${pixels.height} pixels; attention is between ${rows} × ${columns} places, each of which looks at ${full.keys[0]} × ${full.keys[1]}.`),
      h("div", { class: "plain-image" }, imageBox({ pixels, grid: full.queries, lines: false, label: "the drawing" })))));
}
