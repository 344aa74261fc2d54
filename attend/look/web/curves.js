// Shares between 0 and 1 over lengths, several lines, told apart by colour and by dash.
import { h } from "look/draw";

const looks = [["var(--second)", ""], ["var(--accent)", "7 4"], ["var(--quiet)", "2 3"]];

// lines: [{name, total, points: [[length, share, words], ..]}]
export function curves({ title, unit, lines }) {
  const narrow = innerWidth < 700, width = narrow ? Math.min(340, innerWidth - 62) : Math.min(1150, innerWidth - 82), height = 300, left = 48, right = 14, top = narrow ? 84 : 52, bottom = 40;
  const all = lines.flatMap(line => line.points.map(([length]) => length)), low = Math.min(...all), high = Math.max(...all, low + 1);
  const x = length => left + (width - left - right) * (length - low) / (high - low), y = share => height - bottom - (height - top - bottom) * share;
  const image = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 13, role: "img", "aria-label": title });
  for (const share of [0, 0.25, 0.5, 0.75, 1])
    image.append(h("line", { x1: left, x2: width - right, y1: y(share), y2: y(share), stroke: "var(--line)" }), h("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end", "fill-opacity": 0.7 }, `${100 * share} %`));
  for (let length = low; length <= high; ++length)
    image.append(h("text", { x: x(length), y: height - bottom + 18, "text-anchor": "middle", "fill-opacity": 0.7 }, length));
  image.append(h("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle", "fill-opacity": 0.7 }, `${unit} in the line`));
  lines.forEach((line, i) => {
    const [stroke, dash] = looks[i % looks.length], at = narrow ? [left, 18 + 20 * i] : [left + i * 224, 22];
    image.append(h("line", { x1: at[0], x2: at[0] + 28, y1: at[1] - 4, y2: at[1] - 4, stroke, "stroke-width": 3, "stroke-dasharray": dash }), h("text", { x: at[0] + 34, y: at[1] }, line.name));
    image.append(h("path", { d: "M " + line.points.map(([length, share]) => `${x(length).toFixed(1)} ${y(share).toFixed(1)}`).join(" L "), fill: "none", stroke, "stroke-width": 3 - i / 2, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
    for (const [length, share, words] of line.points)
      image.append(h("circle", { cx: x(length).toFixed(1), cy: y(share).toFixed(1), r: 4, fill: stroke, "data-share": share }, h("title", {}, `${line.name}, ${length} ${unit}: ${words}`)));
  });
  return image;
}
