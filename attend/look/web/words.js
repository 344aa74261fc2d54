// Attention between the words themselves: both texts as columns and a curve for each weight. Point at a word to see its
// own curves. What was read stands on the left; a curve leads to the token that attends.
import { h, short, widthOf } from "look/draw";

const weakest = 0.03, strength = w => (0.08 + 0.87 * Math.min(1, w)).toFixed(3), thick = w => (0.8 + 4.2 * Math.min(1, w)).toFixed(2);

// rows attend to columns; weights[row][column]. show(row) points at one row, -1 at all of them.
export function wordsFigure({ rows, columns, weights, heads, label = "attention between words" }) {
  const many = Math.max(rows.length, columns.length), step = many > 26 ? 17 : many > 16 ? 23 : many > 11 ? 28 : 34, size = step > 30 ? 17 : step > 20 ? 15 : 12.5, most = 16;
  const edge = 4 + Math.max(54, ...columns.map(piece => size / 14 * widthOf(short(piece, most)))), far = 4 + Math.max(54, ...rows.map(piece => size / 14 * widthOf(short(piece, most))));
  const gap = 190, x1 = edge + 6, x2 = edge + gap - 6, width = edge + gap + far, top = 26, height = top + step * many + 4;
  const lift = count => (many - count) * step / 2, y = (i, count) => top + lift(count) + (i + 0.5) * step;
  const left = columns.map((piece, c) => h("text", { x: edge, y: y(c, columns.length) + 5, "text-anchor": "end", "data-key": c, tabindex: 0 }, short(piece, most)));
  const right = rows.map((piece, r) => h("text", { x: edge + gap, y: y(r, rows.length) + 5, "data-query": r, tabindex: 0 }, short(piece, most)));
  const curves = weights.flatMap((row, r) => row.flatMap((w, c) => w < weakest ? [] : [[w, r, c]])).sort((a, b) => a[0] - b[0]).map(([w, r, c]) => {
    const from = y(c, columns.length), to = y(r, rows.length), bend = gap * 0.42;
    const path = h("path", { d: `M${x1} ${from} C${x1 + bend} ${from} ${x2 - bend} ${to} ${x2} ${to}`, fill: "none", stroke: "var(--accent)", "stroke-width": thick(w), "stroke-opacity": strength(w), "stroke-linecap": "round" });
    return { path, w, r, c };
  });
  const titles = [h("text", { x: edge, y: 14, "text-anchor": "end", class: "soft", "font-size": 12 }, heads[0]), h("text", { x: edge + gap, y: 14, class: "soft", "font-size": 12 }, heads[1])];
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": size, role: "img", "aria-label": label, class: "word-curves" }, ...titles, ...curves.map(one => one.path), ...left, ...right);
  let kept = { row: -1, column: -1 };
  const point = ({ row, column }) => {
    const seen = one => row >= 0 ? one.r === row : column >= 0 ? one.c === column : true;
    for (const one of curves) one.path.setAttribute("stroke-opacity", seen(one) ? strength(one.w) : 0.04);
    const fade = share => (0.68 + 0.32 * Math.min(1, 2.5 * share)).toFixed(2);
    left.forEach((word, c) => { word.setAttribute("font-weight", c === column ? 700 : 400); word.setAttribute("fill-opacity", row < 0 ? 1 : fade(weights[row][c])); });
    right.forEach((word, r) => { word.setAttribute("font-weight", r === row ? 700 : 400); word.setAttribute("fill-opacity", column < 0 ? 1 : fade(weights[r][column])); });
  };
  const on = (word, place) => {
    for (const name of ["mouseenter", "focus"]) word.addEventListener(name, () => point(place));
    for (const name of ["mouseleave", "blur"]) word.addEventListener(name, () => point(kept));
  };
  left.forEach((word, c) => on(word, { row: -1, column: c }));
  right.forEach((word, r) => on(word, { row: r, column: -1 }));
  svg.show = row => point(kept = { row: Math.min(row, rows.length - 1), column: -1 });
  return svg;
}
