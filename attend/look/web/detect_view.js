// Objects: the boxes that a DETR finds. Click one: where its query looks (the decoder's cross-attention, figure 6 of Carion
// et al. 2020). Click a point: where the encoder looks from there (figure 3).
import { ask, exported, model, remember, set, state } from "look/state";
import { choice, figure, h, saves, say, thumbnailsFigure } from "look/draw";
import { headNow, largest, placeName, shares } from "look/image_data";
import { heatSlider, litTile, imageBox, pixelsOf } from "look/image_draw";
import { boxAt, boxDrawing, colourOf, matchDrawing, overlap } from "look/detect_draw";

// Where a query or a place looks, by all layers and heads; the newest are kept.
const kept = new Map();
function looks(who, number) {
  if (exported) return exported.looks[`${who} ${number}`] ? Promise.resolve(exported.looks[`${who} ${number}`])
    : Promise.reject(new Error("This file does not carry that: start `attend look`."));
  const key = `${state.image} ${who} ${number}`;
  if (!kept.has(key)) {
    if (kept.size > 200) kept.clear();
    const answer = ask("attention", { image: state.image, [who]: number });
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}

// One head of a layer, or all averaged: {rows, columns, weights}.
function heatOf(answer, layer, head) {
  const [rows, columns] = answer.grid, size = rows * columns, one = answer.layers[Math.min(layer, answer.layers.length - 1)], all = shares(one, "weights");
  const weights = new Float32Array(size), from = head < 0 ? 0 : Math.min(head, one.heads - 1), to = head < 0 ? one.heads : from + 1;
  for (let k = from; k < to; ++k) for (let i = 0; i < size; ++i) weights[i] += all[k * size + i] / (to - from);
  return { rows, columns, weights, smooth: true };
}
export const meanHeat = (box, [rows, columns]) => ({ rows, columns, weights: shares(box, "heat"), smooth: true });

const layersOf = kind => model.attention.filter(a => a.kind === kind);
const points = () => state.kind === "self";
const placeNow = () => { const here = layersOf(state.kind); return here[Math.max(0, Math.min(state.layer, here.length - 1))]; };
const above = result => result.boxes.filter(box => box.score >= state.threshold / 100);

function controls() {
  const place = placeNow(), layers = layersOf(state.kind), heads = [[-1, "average"], ...Array.from({ length: place.heads }, (_, i) => [i, String(i + 1)])];
  const turn = kind => set({ kind, stack: kind === "self" ? "encoder" : "decoder", layer: layersOf(kind).length - 1, head: -1 });
  return [h("label", {}, "a click takes", choice("from", [["cross", "a box"], ["self", "a point"]], state.kind, turn)),
    h("label", {}, "layer", choice("layer", layers.map(a => [a.layer, String(a.layer + 1)]), place.layer, layer => set({ layer }))),
    h("label", {}, "head", choice("head", heads, headNow(place), head => set({ head })))];
}

// What is looked at now: a query or a place, with its heat and a sentence about it.
async function looked(result) {
  const place = placeNow(), head = headNow(place), where = `layer ${place.layer + 1}, ${head < 0 ? "all heads averaged" : `head ${head + 1}`}`;
  const most = heat => { const at = heat.weights.indexOf(largest(heat)); return `most of it, ${largest(heat).toFixed(3)}, at ${placeName(Math.max(0, at), heat.columns)}`; };
  if (points()) {
    if (state.focus < 0) return { text: `Click a point of the image: where the encoder looks from there (${where}).` };
    const heat = heatOf(await looks("place", state.focus), place.layer, head);
    return { heat, place: state.focus, text: `From ${placeName(state.focus, heat.columns)}, encoder, ${where}: ${most(heat)}.` };
  }
  const box = result.boxes.find(one => one.query === state.query);
  if (!box) return { text: `Click a box: where its query looks (${where}).` };
  const heat = heatOf(await looks("query", box.query), place.layer, head);
  return { heat, box, text: `Query ${box.query + 1} says ${box.text}, ${(100 * box.score).toFixed(0)} %. Decoder, ${where}: ${most(heat)}.` };
}

// The list of what was found; all other queries say "no object", or are not sure enough.
function list(result, pick) {
  const found = above(result);
  if (!found.length) return h("p", { class: "note" }, `No query is sure enough. The likeliest: ${result.boxes[0].text}, ${result.boxes[0].score.toFixed(2)}.`);
  return h("table", { class: "candidates labels" }, ...found.map(box => {
    const bar = h("div", { class: "meter" });
    bar.style.width = 100 * box.score + "%", bar.style.background = colourOf(box.text);
    return h("tr", { "data-found": box.query }, h("td", {}, h("button", { class: box.query === state.query && !points() ? "on" : "", onclick: () => pick(box.query) }, box.text)),
      h("td", { class: "number" }, box.score.toFixed(3)), h("td", {}, bar));
  }));
}

// Drawn once.
const drawnTiles = new WeakMap();
function tileOf(box, draw) {
  if (!drawnTiles.has(box)) drawnTiles.set(box, draw());
  drawnTiles.get(box).relight?.();  // the heat may have another opacity since
  return drawnTiles.get(box);
}

function everyObject(result, pixels, pick) {
  const drawn = above(result).slice(0, 24).map(box => ({ box, canvas: tileOf(box, () => litTile(pixels, meanHeat(box, result.grid), `where ${box.text} looks`)) }));
  if (!drawn.length) return h("div");
  return h("div", { class: "card", style: "margin-top:16px" }, h("h2", {}, "Attention of every object"),
    h("p", { class: "note" }, "The decoder's last layer, all heads averaged; each has a scale of its own. Often the ends of an object get the most weight."),
    h("div", { class: "tiles" }, ...drawn.map(({ box, canvas }) => h("button", { class: box.query === state.query && !points() ? "marked" : "", "data-tile": box.query, onclick: () => pick(box.query) },
      canvas, h("span", {}, `${box.text} ${box.score.toFixed(2)}`)))),
    saves("objects", () => thumbnailsFigure(drawn.map(({ box, canvas }) => [`${box.text} ${box.score.toFixed(2)}`, canvas]), 5)));
}

// The image with its boxes: show(heat, {place, chosen}).
function boxesFigure(result, pixels, options) {
  const box = imageBox({ pixels, grid: result.grid, lines: false, label: "what was found", ...options });
  const over = h("g"), high = 448 * pixels.height / pixels.width;
  box.querySelector("svg").append(over);
  box.draw = (heat, { place = -1, drawings }) => { box.show(heat, { place }); over.replaceChildren(...drawings(high)); };
  return box;
}

export async function detectView(result) {
  const pixels = await pixelsOf(result), now = await looked(result);
  const pick = query => set({ kind: "cross", stack: "decoder", ...(points() ? { layer: layersOf("cross").length - 1, head: -1 } : {}), query: !points() && query === state.query ? -1 : query });
  const box = boxesFigure(result, pixels, { onpick: place => { if (points()) set({ focus: place === state.focus ? -1 : place }); } });
  box.addEventListener("click", event => {
    if (points()) return;
    const edge = box.getBoundingClientRect(), under = boxAt(above(result), (event.clientX - edge.left) / edge.width, (event.clientY - edge.top) / edge.height);
    if (under) pick(under.query);
    else if (state.query >= 0) set({ query: -1 });
  });
  const drawBoxes = () => box.draw(now.heat || null, { place: now.place ?? -1, drawings: high => {
    const found = above(result), chosen = now.box && !found.includes(now.box) ? [...found, now.box] : found;
    return chosen.map(one => boxDrawing(one, high, { loud: one === now.box, faint: Boolean(now.heat) && one !== now.box }));
  } });
  drawBoxes();
  const found = h("div"), tiles = h("div"), count = h("span", { class: "quiet", id: "count" });
  const lists = () => {
    say(count, `${above(result).length} of ${model.queries} queries`);
    found.replaceChildren(list(result, pick));
    tiles.replaceChildren(everyObject(result, pixels, pick));
  };
  lists();
  const slider = h("input", { type: "range", id: "threshold", min: 5, max: 95, value: state.threshold, "aria-label": "least score", oninput: event => {
    remember({ threshold: Number(event.target.value) });
    say(least, (state.threshold / 100).toFixed(2));
    drawBoxes(), lists();
  } }), least = h("span", { class: "number" }, (state.threshold / 100).toFixed(2));
  return h("div", {}, h("div", { class: "columns" },
    h("div", { class: "card" }, h("div", { class: "controls" }, ...controls()), figure("objects", box), h("p", { class: "quiet", id: "looked" }, now.text)),
    h("div", {}, h("div", { class: "card" }, h("h2", {}, "Objects"), h("div", { class: "controls" }, h("label", {}, "least score", slider, least), count, heatSlider()), found,
      h("p", { class: "note" }, `${pixels.width} × ${pixels.height} pixels become ${result.grid[0]} × ${result.grid[1]} places. The encoder lets them attend to each other. Then ${model.queries} learned queries attend to them, and each answers with a label and a box, or with “no object”.`)), tiles)));
}

// One example of a run: what was found at that step, and which query was matched to which object, for that is what
// learns. Every object has exactly one; all others learn to say "no object".
export async function detectSnapshot(example, pick) {
  const pixels = await pixelsOf(example), truth = example.truth || [], taken = one => example.boxes.find(box => box.query === one.query) || null;
  const matched = new Set(truth.map(one => one.query)), chosen = example.boxes.find(box => box.query === state.query);
  const box = boxesFigure(example, pixels, {});
  box.draw(chosen ? meanHeat(chosen, example.grid) : null, { drawings: high => [...truth.map(one => matchDrawing(one, taken(one), high)),
    ...example.boxes.filter(one => matched.has(one.query) || one.score >= 0.5).map(one => boxDrawing(one, high, { dashed: !matched.has(one.query), loud: one === chosen, faint: chosen && one !== chosen, name: one.score >= 0.5 ? undefined : "" }))] });
  box.addEventListener("click", event => {
    const edge = box.getBoundingClientRect(), under = boxAt(example.boxes, (event.clientX - edge.left) / edge.width, (event.clientY - edge.top) / edge.height);
    pick({ query: under && under.query !== state.query ? under.query : -1 });
  });
  const rows = truth.map(one => {
    const answer = taken(one), same = answer && answer.text === one.text;
    return h("tr", { "data-match": one.query }, h("td", {}, one.text), h("td", { class: "number" }, `query ${one.query + 1}`),
      h("td", {}, answer ? h("button", { class: answer === chosen ? "on" : "", onclick: () => pick({ query: answer === chosen ? -1 : answer.query }) }, `${answer.text} ${answer.score.toFixed(2)}`) : "—"),
      h("td", { class: "number" }, answer ? `IoU ${overlap(one.box, answer.box).toFixed(2)}` : ""), h("td", {}, same ? "✓" : ""));
  });
  return h("div", { class: "columns" }, h("div", { class: "card" }, h("h2", {}, "What it finds, and what is there"), figure("matching", box),
    h("p", { class: "note" }, "White: what is there. Coloured: the query that was matched to it, so that all pairs together cost least; dashed: a query that believes in something nobody was matched to. Click a box: where its query looks.")),
  h("div", { class: "card" }, h("h2", {}, "The matching"), h("p", {}, h("mark", { id: "sample" }, example.text || "nothing")), h("table", { class: "candidates", id: "matching" }, ...rows)));
}
