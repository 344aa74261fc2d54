// Positions as in figure 7 of the ViT paper: how alike the learned position of each patch is to those of all others.
import { exported, inspect, positions, state } from "look/state";
import { figure, h, say, signedColor } from "look/draw";
import { placeName, shares } from "look/image_data";
import { labelBars } from "look/image_draw";

// A tile for each patch, where the patch lies; in the tile a cell for each other patch.
function tiles(table, cosines, onpoint) {
  const [rows, columns] = table.grid, gap = 1, width = columns * (columns + gap) + gap, height = rows * (rows + gap) + gap;
  const canvas = h("canvas", { width, height, class: "blocks", role: "img", "aria-label": "likeness of positions" }), pen = canvas.getContext("2d");
  for (let a = 0; a < rows * columns; ++a) {
    const left = gap + a % columns * (columns + gap), top = gap + Math.floor(a / columns) * (rows + gap);
    for (let b = 0; b < rows * columns; ++b) {
      pen.fillStyle = signedColor(cosines(a, b), 1);
      pen.fillRect(left + b % columns, top + Math.floor(b / columns), 1, 1);
    }
  }
  // Whole pixels for each cell, so that all gaps are alike.
  const box = h("div", { class: "seen", style: `max-width:${Math.max(1, Math.floor(448 / width)) * width}px` }, canvas);
  box.addEventListener("mousemove", event => {
    const edge = box.getBoundingClientRect(), x = Math.floor((event.clientX - edge.left) / edge.width * columns), y = Math.floor((event.clientY - edge.top) / edge.height * rows);
    if (x >= 0 && x < columns && y >= 0 && y < rows) onpoint(y * columns + x);
  });
  box.whole = () => h("svg", { viewBox: `0 0 448 ${448 * height / width}`, width: 448, height: 448 * height / width },
    h("image", { width: 448, height: 448 * height / width, href: canvas.toDataURL(), style: "image-rendering:pixelated" }));
  return box;
}

function one(table, cosines, patch) {
  const [rows, columns] = table.grid, svg = h("svg", { viewBox: `0 0 ${columns} ${rows}`, width: 300, height: 300 * rows / columns, role: "img", "aria-label": "one position" });
  for (let b = 0; b < rows * columns; ++b)
    svg.append(h("rect", { x: b % columns, y: Math.floor(b / columns), width: 1.02, height: 1.02, fill: signedColor(cosines(patch, b), 1), "shape-rendering": "crispEdges" }));
  svg.append(h("rect", { x: patch % columns, y: Math.floor(patch / columns), width: 1, height: 1, fill: "none", stroke: "var(--ink)", "stroke-width": 0.08 }));
  return svg;
}

async function without(result) {
  const parts = [h("h2", {}, "Without positions"), h("p", { class: "note" }, "All patches stand where the first one does: the image is a bag of patches.")];
  if (exported) parts.push(h("p", { class: "note" }, "This is an exported file. Start `attend look` to try it."));
  else parts.push(h("div", { id: "unordered" }, labelBars((await inspect({ image: state.image, ablation: { positions: false } })).labels, result.labels)), h("p", { class: "quiet" }, "The thin line is what it was with positions."));
  return h("div", { class: "card" }, ...parts);
}

export async function imagePositionsView(result) {
  const [table, card] = await Promise.all([positions(), without(result)]), count = table.grid[0] * table.grid[1], all = shares(table, "likeness");
  const cosines = (a, b) => 2 * all[a * count + b] - 1, large = h("div"), words = h("p", { class: "quiet" });
  const show = patch => {
    large.replaceChildren(figure("position", one(table, cosines, patch)));
    say(words, `${placeName(patch, table.grid[1])}: each cell is the cosine between its position and that one's.`);
  };
  show(Math.floor(table.grid[0] / 2) * table.grid[1] + Math.floor(table.grid[1] / 2));
  return h("div", { class: "columns" },
    h("div", { class: "card" }, h("h2", {}, "How alike the positions of patches are"),
      h("p", { class: "note" }, `A tile for each of ${table.grid[0]} × ${table.grid[1]} patches, and in it a cell for each other one (figure 7 of Dosovitskiy et al. 2020). Orange is alike, blue is opposite. A model that has learned where patches lie shows its own place, row and column in each tile.`),
      figure("positions", tiles(table, cosines, show))),
    h("div", {}, h("div", { class: "card" }, h("h2", {}, "One of them"), large, words), card));
}
