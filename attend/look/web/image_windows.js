// Windows (Swin): which places see each other in a layer, and how every second layer cuts half a window further.
import { attention, model, state } from "look/state";
import { figure, h, say } from "look/draw";
import { heatFrom, headNow, largest, layerNow, placeName, rowOf, titleOfPlace } from "look/image_data";
import { heatSlider, lineAt, imageBox, pixelsOf } from "look/image_draw";
import { layerControls } from "look/image_view";

// Where windows end: every `window` places, from the shift on.
function cuts(place, high, unit) {
  const [rows, columns] = place.queries, strong = { "stroke-width": 3, "stroke-opacity": 0.95 }, lines = [];
  for (let x = place.shift || place.window; x < columns; x += place.window) lines.push(lineAt(unit * x / columns, 0, unit * x / columns, high, strong));
  for (let y = place.shift || place.window; y < rows; y += place.window) lines.push(lineAt(0, high * y / rows, unit, high * y / rows, strong));
  return lines;
}

async function card(pixels, place) {
  const head = headNow(place), [rows, columns] = place.queries, full = await attention({ image: state.image, layer: place.layer });
  const words = h("p", { class: "quiet" }), count = Math.ceil(rows / place.window) * Math.ceil(columns / place.window);
  const begin = () => say(words, place.window ? "Point at a place: what it can see is coloured, and yellow has the most weight." : "All places see each other here.");
  const show = query => {
    if (query < 0) { box.show(null); return begin(); }
    const from = heatFrom(full, head, query), most = largest(from), { window } = rowOf(place, query);
    // What it can see is lifted above what it cannot.
    box.show({ ...from, weights: from.weights.map(w => w > 0 ? 0.35 * most + 0.65 * w : 0) }, { place: query });
    say(words, `${placeName(query, columns)}: ` + (place.window ? `window ${window + 1} of ${count}, ` : "") + `${from.weights.filter(w => w > 0).length} places seen.`);
  };
  const box = imageBox({ pixels, grid: [rows, columns], lines: rows <= 32, label: `windows of layer ${place.layer + 1}`, onpoint: show, more: (high, unit) => place.window ? cuts(place, high, unit) : [] });
  begin();
  return h("div", { class: "card" }, h("h2", {}, titleOfPlace(place)), figure(`windows-layer${place.layer + 1}`, box), words);
}

// The layer that is chosen, and beside it its neighbour whose windows lie elsewhere.
export async function windowsView(result) {
  const pixels = await pixelsOf(result), place = layerNow();
  const other = model.attention.find(a => Math.abs(a.layer - place.layer) === 1 && String(a.queries) === String(place.queries) && a.shift !== place.shift);
  const pair = (other ? [place, other] : [place]).sort((a, b) => a.layer - b.layer);
  return h("div", {}, h("div", { class: "controls" }, ...layerControls(), heatSlider()),
    h("p", { class: "note" }, "Attention stays inside of windows. Every second layer moves them by half their size, so that what a border kept apart meets. Pieces at the edge share a window with those of the other side, and are masked from them."),
    h("div", { class: "columns" }, ...await Promise.all(pair.map(one => card(pixels, one)))));
}
