// Rollout: the attention of all layers multiplied, so that it is about the image's own patches.
import { model } from "look/state";
import { figure, h } from "look/draw";
import { heat, placeName, shares } from "look/image_data";
import { heatSlider, imageBox, pixelsOf } from "look/image_draw";

export async function rolloutView(result) {
  if (result.rollout.missing) return h("p", { class: "note", id: "rollout" }, result.rollout.missing);
  const pixels = await pixelsOf(result), [rows, columns] = result.rollout.grid, weights = shares(result.rollout, "weights");
  const last = model.attention[model.attention.length - 1], words = h("p", { class: "quiet" }, "Point at a patch to read its number.");
  const lit = (from, label, onpoint) => {
    const box = imageBox({ pixels, grid: [rows, columns], label, onpoint });
    box.show(from);
    return box;
  };
  const rolled = lit({ rows, columns, weights }, "attention rollout", place => { if (place >= 0) words.textContent = `${placeName(place, columns)}: ${weights[place].toFixed(4)}`; });
  return h("div", { id: "rollout" },
    h("p", { class: "note" }, "After a few layers a place holds something of all others, so the last layer alone says little about the image. Rollout (Abnar & Zuidema 2020) follows the attention down: heads averaged, half of it kept for the residual stream, all layers multiplied."),
    h("p", { class: "formula" }, "Ã = ½ · mean over heads of A + ½ · I,   Ã⁽ᴸ⁾ · … · Ã⁽²⁾ · Ã⁽¹⁾"),
    h("div", { class: "columns" },
      h("div", { class: "card" }, h("h2", {}, "Attention rollout"), h("p", { class: "note" }, last.tokens ? "From the class token, down through all layers." : "The mean over all places, down through all layers."), figure("rollout", rolled), heatSlider(), words),
      h("div", { class: "card" }, h("h2", {}, "The last layer alone"), h("p", { class: "note" }, "All heads averaged" + (last.tokens ? ", from the class token." : ".")),
        figure("last-layer", lit(heat(result, last, -1), "the last layer")))));
}
