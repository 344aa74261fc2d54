// Attention between the words themselves: both texts as columns and a curve for each weight. Point at a word to see its
// own curves. What was read stands on the left; a curve leads to the token that attends. One head, or several at once,
// each in a colour; then the words on the left have a square for each head: how much they get of its weight.
import { h, short, widthOf } from "look/draw";

const weakest = 0.03, strength = w => (0.08 + 0.87 * Math.min(1, w)).toFixed(3), thick = w => (0.8 + 4.2 * Math.min(1, w)).toFixed(2);
const square = 9;

// rows attend to columns. heads: [{ weights: [row][column], color }], or one without a list: weights. titles: of the two
// columns. show(row) points at one row, -1 at all of them; only(numbers) leaves those heads.
export function wordsFigure({ rows, columns, weights, heads = [{ weights, color: "var(--accent)" }], titles, label = "attention between words", onpick = () => {} }) {
  const many = Math.max(rows.length, columns.length), step = many > 26 ? 17 : many > 16 ? 23 : many > 11 ? 28 : 34, size = step > 30 ? 17 : step > 20 ? 15 : 12.5, most = 16;
  const margin = heads.length > 1 ? square * heads.length + 8 : 0, room = pieces => 4 + Math.max(54, ...pieces.map(piece => size / 14 * widthOf(short(piece, most))));
  const edge = margin + room(columns), gap = heads.length > 1 ? 300 : 190, x1 = edge + 6, x2 = edge + gap - 6, width = edge + gap + room(rows), top = 26, height = top + step * many + 4;
  const lift = count => (many - count) * step / 2, y = (i, count) => top + lift(count) + (i + 0.5) * step;
  const left = columns.map((piece, c) => h("text", { x: edge, y: y(c, columns.length) + 5, "text-anchor": "end", "data-key": c, tabindex: 0 }, short(piece, most)));
  const right = rows.map((piece, r) => h("text", { x: edge + gap, y: y(r, rows.length) + 5, "data-query": r, tabindex: 0 }, short(piece, most)));
  const curves = heads.flatMap(({ weights, color }, head) => weights.flatMap((row, r) => row.flatMap((w, c) => w < weakest ? [] : [[w, r, c, color, head]])))
    .sort((a, b) => a[0] - b[0]).map(([w, r, c, color, head]) => {
      const from = y(c, columns.length), to = y(r, rows.length), bend = gap * 0.42;
      const path = h("path", { d: `M${x1} ${from} C${x1 + bend} ${from} ${x2 - bend} ${to} ${x2} ${to}`, fill: "none", stroke: color, "stroke-width": thick(w), "stroke-opacity": strength(w), "stroke-linecap": "round", "data-curve": head });
      return { path, w, r, c, head };
    });
  const squares = heads.length < 2 ? [] : columns.flatMap((_, c) => heads.map(({ color }, head) => {
    const box = h("rect", { x: square * head, y: y(c, columns.length) - 9, width: square, height: 18, fill: color, "fill-opacity": 0, "data-square": head });
    return { box, c, head };
  }));
  const names = [h("text", { x: edge, y: 14, "text-anchor": "end", class: "soft", "font-size": 12 }, titles[0]), h("text", { x: edge + gap, y: 14, class: "soft", "font-size": 12 }, titles[1])];
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": size, role: "img", "aria-label": label, class: "word-curves" }, ...names, ...squares.map(one => one.box), ...curves.map(one => one.path), ...left, ...right);
  let kept = { row: -1, column: -1 }, on = new Set(heads.keys());
  const mean = (head, c) => heads[head].weights.reduce((sum, row) => sum + row[c], 0) / rows.length;
  const strongest = (r, c) => Math.max(0, ...[...on].map(head => heads[head].weights[r][c]));
  const point = ({ row, column }) => {
    const seen = one => row >= 0 ? one.r === row : column >= 0 ? one.c === column : true;
    for (const one of curves) one.path.setAttribute("stroke-opacity", !on.has(one.head) ? 0 : seen(one) ? strength(one.w) : heads.length > 1 ? 0 : 0.04);
    for (const { box, c, head } of squares) {
      const share = !on.has(head) || (column >= 0 && c !== column) ? 0 : row >= 0 ? heads[head].weights[row][c] : mean(head, c);
      box.setAttribute("fill-opacity", share < 0.01 ? 0 : Math.min(1, 0.1 + 0.9 * share).toFixed(3));
    }
    const fade = share => (0.68 + 0.32 * Math.min(1, 2.5 * share)).toFixed(2);
    left.forEach((word, c) => { word.setAttribute("font-weight", c === column ? 700 : 400); word.setAttribute("fill-opacity", row < 0 ? 1 : fade(strongest(row, c))); });
    right.forEach((word, r) => { word.setAttribute("font-weight", r === row ? 700 : 400); word.setAttribute("fill-opacity", column < 0 ? 1 : fade(strongest(r, column))); });
  };
  const listen = (word, place) => {
    for (const name of ["mouseenter", "focus"]) word.addEventListener(name, () => point(place));
    for (const name of ["mouseleave", "blur"]) word.addEventListener(name, () => point(kept));
  };
  left.forEach((word, c) => listen(word, { row: -1, column: c }));
  right.forEach((word, r) => {
    listen(word, { row: r, column: -1 });
    word.addEventListener("click", () => onpick(r));
    word.addEventListener("keydown", event => { if (event.key === "Enter") onpick(r); });
  });
  svg.show = row => point(kept = { row: Math.min(row, rows.length - 1), column: -1 });
  svg.only = numbers => { on = new Set(numbers); point(kept); };
  if (heads.length > 1) point(kept);
  return svg;
}
