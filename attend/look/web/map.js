// Map: the model as the lecture draws it. Inputs enter below, layers stand on each other, every head is a thumbnail.
import { barredIn, find, labels, matrix, model, set, titleOf } from "look/state";
import { h, saves, shown, thumbnail, thumbnailsFigure } from "look/draw";
import { barredWords, windowSlider } from "look/window";

function heads(result, place, drawn) {
  const layer = find(result, place);
  return h("div", { class: "kind" }, h("div", { class: "quiet" }, titleOf(place)),
    h("div", { class: "thumbs" }, ...Array.from({ length: place.heads }, (_, head) => {
      const title = `${titleOf(place)}, layer ${place.layer + 1}, head ${head + 1}`, canvas = thumbnail(matrix(layer, head), barredIn(layer));
      drawn.push([`${place.stack} ${place.kind} ${place.layer + 1}.${head + 1}`, canvas]);
      return h("button", { title, "aria-label": title, "data-head": `${place.stack} ${place.kind} ${place.layer} ${head}`,
        onclick: () => set({ view: "heads", stack: place.stack, kind: place.kind, layer: place.layer, head }) }, canvas);
    })));
}

function stack(result, name, title, tokens, drawn) {
  const places = model.attention.filter(a => a.stack === name), count = Math.max(-1, ...places.map(a => a.layer)) + 1;
  const layers = Array.from({ length: count }, (_, i) => i).map(i => h("section", { class: "layer" },
    h("h3", {}, model.layers ? `layer ${i + 1}` : "where it looks while it writes"), model.layers ? h("div", { class: "box" }, "feed-forward · add & norm") : null,
    h("div", { class: "kinds" }, ...places.filter(a => a.layer === i).map(a => heads(result, a, drawn))))).reverse();
  return h("div", { class: "stack " + name }, h("h2", {}, title), ...layers,
    h("div", { class: "box" }, model.positions ? "embedding + position" : "recurrent · embedding"), h("p", { class: "quiet" }, tokens.map(shown).join("  ")));
}

export function mapView(result) {
  const has = name => model.attention.some(a => a.stack === name), both = model.kind === "translation", sides = [], drawn = [];
  // A recurrent network's encoder has no attention of its own.
  if (!model.layers) sides.push(h("div", { class: "stack encoder" }, h("h2", {}, "Encoder reads"), h("div", { class: "box" }, "recurrent, in both directions"),
    h("div", { class: "box" }, "embedding"), h("p", { class: "quiet" }, result.source.pieces.map(shown).join("  "))));
  if (has("encoder")) sides.push(stack(result, "encoder", both ? "Encoder reads" : "The encoder reads in both directions", result.source.pieces, drawn));
  if (has("decoder")) sides.push(stack(result, "decoder", model.kind === "translation" ? "Decoder writes" : "The decoder reads what stands before, and writes",
    labels(result, { stack: "decoder", kind: "self" }).columns, drawn));
  return h("div", {}, h("p", { class: "note" }, "Each square is one head: who looks (down) at whom (across). The darker the cell (in the dark theme: the brighter), the more. Click one to enter." + barredWords(result)), windowSlider(result),
    h("div", { class: "stacks" + (both ? "" : " single") + (model.layers ? "" : " plain") }, ...sides),
    saves("map", () => thumbnailsFigure(drawn, Math.max(...model.attention.map(a => a.heads)))));
}
