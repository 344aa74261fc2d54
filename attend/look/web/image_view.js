// Image: what the model sees, what it says, and where any head of any layer looks; every head small, as the map.
import { attention, exported, model, remember, set, state } from "look/state";
import { choice, figure, h, saves, say, thumbnail, thumbnailsFigure } from "look/draw";
import { heat, heatFrom, headNow, largest, layerNow, placeName, scaled, titleOfPlace } from "look/image_data";
import { heatSlider, labelBars, imageBox, pixelsOf } from "look/image_draw";

export function layerControls({ average = true } = {}) {
  const place = layerNow(), heads = Array.from({ length: place.heads }, (_, i) => [i, String(i + 1)]);
  if (average) heads.unshift([-1, "average"]);
  const head = average ? headNow(place) : Math.max(0, headNow(place));
  return [h("label", {}, "layer", choice("layer", model.attention.map(a => [a.layer, String(a.layer + 1)]), place.layer, layer => set({ layer }))),
    h("label", {}, "head", choice("head", heads, head, head => set({ head })))];
}

export const whose = place => place.tokens ? "the class token" : "all places on average";

// Every head of every layer: click one to see it large.
function map(result) {
  const drawn = [], marks = new Map();
  const rows = model.attention.map(place => h("div", { class: "layer-row" }, h("span", { class: "quiet" }, `layer ${place.layer + 1}`),
    h("div", { class: "thumbs small" }, ...Array.from({ length: place.heads }, (_, head) => {
      const canvas = thumbnail(scaled(heat(result, place, head))), title = `layer ${place.layer + 1}, head ${head + 1}`;
      drawn.push([`layer ${place.layer + 1}, head ${head + 1}`, canvas]);
      const button = h("button", { title, "aria-label": title, "data-head": `${place.layer} ${head}`, onclick: () => set({ layer: place.layer, head, query: -1 }) }, canvas);
      marks.set(`${place.layer} ${head}`, button);
      return button;
    })))).reverse();
  const box = h("div", { class: "card wide" }, h("h2", {}, "Every head"),
    h("p", { class: "note" }, `Attention of ${whose(model.attention[0])}, the last layer on top. Each square has a scale of its own. Click one to see it over the image.`),
    ...rows, saves("heads", () => thumbnailsFigure(drawn, Math.max(...model.attention.map(a => a.heads)))));
  let on = null;
  return { box, mark(layer, head) {
    on?.classList.remove("marked");
    (on = marks.get(`${layer} ${head}`))?.classList.add("marked");
  } };
}

// Going from head to head changes pixels and words alone.
let drawn = {};
function build(result, pixels, place) {
  const grid = place.queries, words = h("p", { class: "quiet", id: "looked" }), title = h("h2"), controls = h("div", { class: "controls" });
  const show = (query, kept) => {
    const { place: now, head, full } = drawn, from = query >= 0 && full ? heatFrom(full, head, query) : heat(result, now, head);
    box.show(from, { place: query >= 0 && full ? query : -1 });
    const top = [...from.weights.keys()].sort((a, b) => from.weights[b] - from.weights[a]).slice(0, 3);
    say(words, `${query >= 0 && full ? `The patch in ${placeName(query, now.queries[1])}` : `From ${whose(now)}`}: most of it, ${largest(from).toFixed(3)}, at ${placeName(top[0], from.columns)}.` +
      (kept ? " Click it again to let go." : exported && !full ? "" : " Point at a patch for its own weights; a click keeps it."));
  };
  const onpick = query => { remember({ query: query === state.query ? -1 : query }); show(state.query, state.query >= 0); };
  const box = imageBox({ pixels, grid, lines: grid[0] <= 32, label: "attention over the image", onpick,
    onpoint: query => show(query >= 0 ? query : state.query, query < 0 && state.query >= 0) });
  const all = map(result);
  drawn = { result, theme: document.documentElement.dataset.theme, grid: String(grid), show, controls, title, all, root: h("div", {},
    h("div", { class: "columns" },
      h("div", { class: "card" }, title, controls, figure(() => `layer${drawn.place.layer + 1}-${drawn.head < 0 ? "average" : `head${drawn.head + 1}`}`, box), heatSlider(), words),
      h("div", { class: "card" }, h("h2", {}, "Labels"), labelBars(result.labels),
        h("h2", {}, "Input"), h("p", { class: "note" }, `${pixels.width} × ${pixels.height} pixels, in ${grid[0]} × ${grid[1]} patches.`),
        h("div", { class: "plain-image" }, imageBox({ pixels, grid, lines: grid[0] <= 32, label: "what the model sees" })))),
    all.box) };
}

export async function imageView(result) {
  const pixels = await pixelsOf(result);
  if (!model.attention.length) {
    const grid = model.patches;
    return h("div", { class: "columns" }, h("div", { class: "card" }, h("h2", {}, "What it sees"), figure("image", imageBox({ pixels, grid, lines: false, label: "what the model sees" })),
      h("p", { class: "note", id: "looked" }, "This model has no attention: it is made of convolutions. Ablate shows which parts of the image it needs.")),
    h("div", { class: "card" }, h("h2", {}, "What it says"), labelBars(result.labels)));
  }
  const place = layerNow(), head = headNow(place);
  if (drawn.result !== result || drawn.theme !== document.documentElement.dataset.theme || drawn.grid !== String(place.queries)) build(result, pixels, place);
  drawn.controls.replaceChildren(...layerControls());
  say(drawn.title, `Attention: ${titleOfPlace(place)}, ${head < 0 ? "all heads averaged" : `head ${head + 1}`}`);
  const mine = drawn, loading = attention({ image: state.image, layer: place.layer }).then(full => { if (mine.place === place) mine.full = full; }, () => {});
  if (drawn.place !== place) drawn.full = null;
  drawn.place = place, drawn.head = head;
  drawn.all.mark(place.layer, head);
  if (state.query >= 0) await loading;
  drawn.show(state.query, state.query >= 0);
  return drawn.root;
}

// One example of a run that learns from images: the image under the heat of a head, what it is taken for, and what it
// is. pick(changes) hears which head is wanted.
export async function imageSnapshot(example, pick) {
  const pixels = await pixelsOf(example), places = example.attention, bars = labelBars(example.labels), truth = example.target.text;
  const says = h("div", { class: "card" }, h("h2", {}, "What it says"), h("p", {}, h("mark", { id: "sample" }, example.text || "—"), truth ? ` · should be ${truth}` : ""), bars);
  if (!places.length) return h("div", { class: "columns" }, h("div", { class: "card" }, imageBox({ pixels, grid: [1, 1], lines: false })), says);
  const place = places[Math.max(0, Math.min(state.layer, places.length - 1))], head = headNow(place), box = imageBox({ pixels, grid: place.queries, lines: place.queries[0] <= 32, label: "attention over the image" });
  box.show(heat(example, place, head));
  const rows = places.map(a => h("div", { class: "layer-row" }, h("span", { class: "quiet" }, `layer ${a.layer + 1}`), h("div", { class: "thumbs small" }, ...Array.from({ length: a.heads }, (_, i) =>
    h("button", { title: `layer ${a.layer + 1}, head ${i + 1}`, class: a === place && i === head ? "marked" : "", onclick: () => pick({ layer: a.layer, head: i }) }, thumbnail(scaled(heat(example, a, i)))))))).reverse();
  return h("div", { class: "columns" }, h("div", { class: "card" }, h("h2", {}, `${titleOfPlace(place)}, ${head < 0 ? "all heads averaged" : `head ${head + 1}`}`), figure("image", box)),
    h("div", {}, says, h("div", { class: "card" }, h("h3", {}, "every head; click one"), ...rows)));
}
