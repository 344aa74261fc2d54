// Map: the model as the lecture draws it. Inputs enter below, layers stand on each other, every head is a thumbnail.
import { find, labels, matrix, model, set, titleOf } from "look/state";
import { h, shown, thumbnail } from "look/draw";

function heads(result, place) {
  const layer = find(result, place);
  return h("div", { class: "kind" }, h("div", { class: "quiet" }, titleOf(place)),
    h("div", { class: "thumbs" }, ...Array.from({ length: place.heads }, (_, head) => {
      const title = `${titleOf(place)}, layer ${place.layer + 1}, head ${head + 1}`;
      return h("button", { title, "aria-label": title, "data-head": `${place.stack} ${place.kind} ${place.layer} ${head}`,
        onclick: () => set({ view: "heads", stack: place.stack, kind: place.kind, layer: place.layer, head }) },
        thumbnail(matrix(layer, head)));
    })));
}

function stack(result, name, title, tokens) {
  const places = model.attention.filter(a => a.stack === name);
  const count = Math.max(-1, ...places.map(a => a.layer)) + 1;
  const layers = Array.from({ length: count }, (_, i) => count - 1 - i).map(i => h("section", { class: "layer" },
    h("h3", {}, `layer ${i + 1}`), h("div", { class: "box" }, "feed-forward · add & norm"),
    h("div", { class: "kinds" }, ...places.filter(a => a.layer === i).map(a => heads(result, a)))));
  return h("div", { class: "stack " + name }, h("h2", {}, title), ...layers,
    h("div", { class: "box" }, "embedding + position"), h("p", { class: "quiet" }, tokens.map(shown).join("  ")));
}

export function mapView(result) {
  const sides = [];
  if (model.attention.some(a => a.stack === "encoder")) sides.push(stack(result, "encoder", "Encoder reads", result.source.pieces));
  sides.push(stack(result, "decoder", "Decoder writes", labels(result, { stack: "decoder", kind: "self" }).columns));
  return h("div", {}, h("p", { class: "note" }, "Each square is one head: who looks (down) at whom (across). The darker the cell (in the dark theme: the brighter), the more. Click one to enter."),
    h("div", { class: "stacks" }, ...sides));
}
