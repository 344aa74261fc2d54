// Curves over the steps of a run.
import { h } from "look/draw";

const short = x => x === 0 ? "0" : Math.abs(x) >= 1e6 ? (x / 1e6).toFixed(1) + " M" : Math.abs(x) >= 1e4 ? (x / 1e3).toFixed(0) + " k"
  : Math.abs(x) < 0.01 ? x.toExponential(1) : Math.abs(x) < 10 ? x.toFixed(2) : x.toFixed(0);

// lines: [{name, points: [[step, value], ..], dots}]; end: how many steps there will be; mark: a step to point at.
export function chart({ title, lines, end, mark = -1, log = false }) {
  const width = innerWidth < 700 ? 330 : 560, height = innerWidth < 700 ? 170 : 190, left = 56, right = 14, top = 30, bottom = 26, value = y => log ? Math.log10(Math.max(y, 1e-12)) : y;
  const all = lines.flatMap(line => line.points.map(([, y]) => value(y))).filter(Number.isFinite);
  const low = log ? Math.min(...all) : Math.min(0, ...all), high = Math.max(...all, low + 1e-9);
  const x = step => left + (width - left - right) * step / Math.max(1, end), y = v => height - bottom - (height - top - bottom) * (value(v) - low) / (high - low);
  const image = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 12, role: "img", "aria-label": title });
  image.append(h("text", { x: left, y: 16, "font-weight": 700 }, title));
  for (const part of [0, 0.5, 1]) {
    const at = low + part * (high - low), line = height - bottom - (height - top - bottom) * part;
    image.append(h("line", { x1: left, x2: width - right, y1: line, y2: line, stroke: "var(--line)" }), h("text", { x: left - 6, y: line + 4, "text-anchor": "end", "fill-opacity": 0.7 }, short(log ? 10 ** at : at)));
    image.append(h("text", { x: x(end * part), y: height - 8, "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle", "fill-opacity": 0.7 }, Math.round(end * part)));
  }
  if (mark >= 0) image.append(h("line", { x1: x(mark), x2: x(mark), y1: top, y2: height - bottom, stroke: "var(--quiet)", "stroke-dasharray": "3 3" }));
  const shown = lines.filter(line => line.points.length);
  shown.forEach((line, i) => {
    const points = line.points.filter(([, v]) => Number.isFinite(value(v)));
    if (!points.length) return;
    const stroke = line.stroke || (i ? "var(--second)" : "var(--accent)");
    image.append(h("path", { d: "M " + points.map(([s, v]) => `${x(s).toFixed(1)} ${y(v).toFixed(1)}`).join(" L "), fill: "none", stroke, "stroke-width": 2, "stroke-linejoin": "round" }));
    if (line.dots || points.length === 1) for (const [s, v] of points) image.append(h("circle", { cx: x(s).toFixed(1), cy: y(v).toFixed(1), r: 3.5, fill: stroke }));
    const [, newest] = points[points.length - 1];
    if (line.name) image.append(h("text", { x: width - right - (innerWidth < 700 ? 112 : 150) * (shown.length - 1 - i), y: 16, "text-anchor": "end", fill: stroke, style: `fill:${stroke}` }, `${line.name} ${short(newest)}`));
  });
  return image;
}
