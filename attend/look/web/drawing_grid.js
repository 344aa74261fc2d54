// Drawings: every class in a row, every column from the same noise. Side by side: the same of a second model.
import { model, set, state } from "look/state";
import { h, saves } from "look/draw";
import { drawing, drawn, openDrawing, seedControl } from "look/drawing_data";

const columns = () => innerWidth < 700 ? 4 : 8;

// All of it as one SVG, for saving.
function whole(rows) {
  const side = 64, gap = 4, left = 96, width = left + rows[0].length * (side + gap), height = rows.length * (side + gap) + gap;
  const drawn = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 13 });
  rows.forEach((row, of) => {
    const y = gap + of * (side + gap);
    drawn.append(h("text", { x: left - 10, y: y + side / 2 + 5, "text-anchor": "end" }, model.classes[of]),
      ...row.map((href, i) => h("image", { x: left + i * (side + gap), y, width: side, height: side, href, style: "image-rendering:pixelated" })));
  });
  return drawn;
}

function grid(rows, name, pick) {
  return h("div", {}, h("div", { class: "drawings", role: "group", "aria-label": name }, ...rows.map((row, of) => h("div", { class: "drawing-row" }, h("span", { class: "quiet" }, model.classes[of]),
    h("div", {}, ...row.map((address, i) => {
      const title = `${model.classes[of]}, drawing ${i + 1}`;
      return h("button", { type: "button", class: "sample", "aria-label": title, disabled: pick ? null : "", onclick: () => pick?.(of, i) }, drawing(address, title));
    }))))), saves(name, () => whole(rows)));
}

const controls = () => h("div", { class: "controls" }, seedControl("seed", state.seed, seed => set({ seed })));

export async function gridView() {
  const { drawings } = await drawn({ what: "grid", seed: state.seed, columns: columns() });
  return h("div", {}, controls(), h("div", { class: "card" }, h("h2", {}, "What it draws"),
    h("p", { class: "note" }, `A row for each class; a column is one and the same noise. Click a drawing${model.attention.length ? " to see where its places looked" : " to see it large"}.`),
    grid(drawings, `drawings-seed${state.seed}`, openDrawing)));
}

export async function besideView() {
  const request = { what: "grid", seed: state.seed, columns: 4 };
  const [one, other] = await Promise.all([drawn(request), drawn({ ...request, beside: 1 })]);
  const card = (name, rows, pick) => h("div", { class: "card" }, h("h2", {}, name), grid(rows, `drawings-${name}-seed${state.seed}`, pick));
  return h("div", {}, controls(), h("p", { class: "note" }, "Both get the same noise and the same classes. They learned apart, so the same noise is no longer the same image."),
    h("div", { class: "columns" }, card(model.name, one.drawings, openDrawing), card(model.beside, other.drawings, null)));
}
