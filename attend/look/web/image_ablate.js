// Ablate: heads, layers, positions or parts of the image taken away, and the labels beside the original.
import { exported, inspect, model, set, state } from "look/state";
import { h } from "look/draw";
import { ablation, list, switches, toggled } from "look/ablate";
import { heat, shares } from "look/image_data";
import { heatSlider, labelBars, imageBox, pixelsOf } from "look/image_draw";

// What says most about where it looked.
function telling(result) {
  if (!result.rollout.missing) return { rows: result.rollout.grid[0], columns: result.rollout.grid[1], weights: shares(result.rollout, "weights") };
  return model.attention.length ? heat(result, model.attention[model.attention.length - 1], -1) : null;
}

export async function imageAblateView(plain) {
  if (exported) return h("p", { class: "note" }, "This is an exported file. Start `attend look` to switch parts of the model off.");
  const changes = ablation(), any = Object.keys(changes).length > 0;
  const result = any ? await inspect({ image: state.image, ablation: changes }) : plain, hidden = list(state.masked).map(Number);
  const before = await pixelsOf(plain), pixels = await pixelsOf(result);
  const box = imageBox({ pixels, grid: model.patches, label: "hide patches", onpick: patch => set({ masked: toggled(state.masked, String(patch)) }) });
  box.show(null, { hidden });
  const lit = (from, of, label) => {
    const seen = imageBox({ pixels: of, grid: model.patches, lines: false, label });
    seen.show(telling(from));
    return h("div", { class: "plain-image" }, seen);
  };
  const looked = telling(plain) ? h("div", { class: "card" }, h("h3", {}, `where it looked${plain.rollout.missing ? " (last layer)" : " (rollout)"}: as it is` + (any ? ", then changed" : "")),
    h("div", { class: "sides" }, lit(plain, before, "as it is"), any ? lit(result, pixels, "changed") : null), heatSlider()) : null;
  return h("div", { class: "columns" },
    h("div", { class: "card" }, h("h3", {}, "patches (a click hides one)"), box,
      h("p", { class: "note", style: "margin-top:8px" }, "A hidden patch is painted over, in the colour that is zero to the model; it stays in the attention."),
      h("div", { class: "controls", style: "margin:14px 0 14px" },
        model.positions ? h("button", { class: state.order ? "" : "on", onclick: () => set({ order: state.order ? 0 : 1 }) }, state.order ? "positions on" : "positions off") : null,
        any ? h("button", { onclick: () => set({ heads: "", layers: "", masked: "", order: 1 }) }, "everything back") : null),
      model.layers ? switches() : null),
    h("div", {},
      h("div", { class: "card", id: "original" }, h("h3", {}, "as it is"), labelBars(plain.labels)),
      any ? h("div", { class: "card", id: "ablated" }, h("h3", {}, "changed"), labelBars(result.labels, plain.labels), h("p", { class: "quiet" }, "The thin line is what it was."))
        : h("p", { class: "note", id: "ablated", style: "margin:16px 4px" }, "Hide a patch or switch something off, and what changes is shown here, beside the original."),
      looked));
}
