// Beam search as a tree: a column a step, a lane for each beginning that led somewhere, the winner on top. A long one goes
// on in the next line, as text does, so that all of it is on the page.
import { h, short } from "look/draw";
import { model } from "look/state";

// Which nodes the answer consists of, by its ids.
function winner(beam, ids) {
  const path = new Set();
  let parent = -1;
  for (let step = 0; step < ids.length; ++step) {
    const i = beam.findIndex(node => node.step === step && node.parent === parent && node.id === ids[step]);
    if (i < 0) return path;
    path.add(i);
    parent = i;
  }
  return path;
}

const row = 27, gap = 26;

// The lanes of the whole tree: the winner first, then by score; the first child goes on in its parent's lane.
function lanesOf(beam, won) {
  const children = beam.map(() => []), roots = [], lane = new Array(beam.length);
  beam.forEach((node, i) => (node.parent < 0 ? roots : children[node.parent]).push(i));
  const order = list => list.sort((a, b) => won.has(b) - won.has(a) || beam[b].score - beam[a].score);
  let lanes = 0;
  const place = i => { lane[i] = lanes; order(children[i]).forEach((child, n) => { if (n) ++lanes; place(child); }); };
  order(roots).forEach((root, n) => { if (n) ++lanes; place(root); });
  return { lane, children };
}

export function treeFigure(result, at, room = Math.min(1190, innerWidth - 64)) {
  const narrow = room < 500, column = narrow ? 76 : 98, left = narrow ? 48 : 62, right = narrow ? 24 : 60, letters = narrow ? 7 : 9;
  const beam = result.beam, won = winner(beam, result.target.ids), { lane, children } = lanesOf(beam, won);
  const lastStep = Math.max(...beam.map(node => node.step)), now = at >= result.steps.length - 1 ? lastStep : at;
  // How far a beginning had led by now.
  const reach = beam.map(node => node.step);
  for (let i = beam.length - 1; i >= 0; --i) if (beam[i].parent >= 0 && beam[i].step <= now) reach[beam[i].parent] = Math.max(reach[beam[i].parent], beam[i].ended ? lastStep : reach[i]);
  // Lines of as many steps as there is room for; in each only the lanes that have something there.
  const each = Math.max(2, Math.min(lastStep + 1, Math.floor((room - left - right) / column))), bands = [];
  for (let first = 0, top = 0; first <= now; first += each) {
    const used = [...new Set(beam.flatMap((node, i) => node.step >= first && node.step < first + each ? [lane[i]] : []))].sort((a, b) => a - b);
    bands.push({ first, top, rows: new Map(used.map((one, n) => [one, n])) });
    top += row * used.length + gap;
  }
  const end = bands[bands.length - 1], width = left + column * each + right, height = end.top + row * end.rows.size + 20;
  const image = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 13, role: "img", "aria-label": "beam search" });
  const bandOf = i => bands[Math.floor(beam[i].step / each)];
  const x = i => left + column * (beam[i].step - bandOf(i).first), y = i => bandOf(i).top + 22 + row * bandOf(i).rows.get(lane[i]);
  // Where the line to a node begins: at its parent's word, or at the left edge where the line goes on from the one above.
  const from = i => {
    const node = beam[i], parent = node.parent;
    if (parent < 0) return [left - 14, 22];
    if (bandOf(parent) === bandOf(i)) return [x(parent) + 6 + Math.min(column - 20, (won.has(parent) ? 8.9 : 8) * short(beam[parent].text, letters).length), y(parent)];
    const there = bandOf(i).rows.get(lane[parent]);
    return [18, there === undefined ? y(i) : bandOf(i).top + 22 + row * there];
  };
  image.append(h("text", { x: 6, y: 27, "fill-opacity": 0.8 }, model.start));
  for (const band of bands.slice(1)) image.append(h("line", { x1: 0, x2: width, y1: band.top, y2: band.top, stroke: "var(--line)" }));
  beam.forEach((node, i) => {
    if (node.step > now) return;
    const [fromX, fromY] = from(i), dead = !won.has(i) && !node.ended && reach[i] < now, faded = dead || (node.ended && !won.has(i)), strong = won.has(i);
    image.append(h("path", { d: `M ${fromX} ${fromY} C ${x(i) - 12} ${fromY}, ${x(i) - 18} ${y(i)}, ${x(i) - 4} ${y(i)}`, fill: "none",
      stroke: strong ? "var(--accent)" : "var(--quiet)", "stroke-width": strong ? 3 : 1.3, "stroke-opacity": faded ? 0.35 : 1 }));
    const alive = !dead && !node.ended;
    const label = node.ended ? `■ ${node.score.toFixed(2)}` : short(node.text, letters) + (dead && !children[i].some(c => beam[c].step <= now) ? " ×" : "");
    image.append(h("text", { x: x(i), y: y(i) + 5, "font-weight": strong ? 700 : 400, "fill-opacity": faded ? 0.5 : 1, "data-node": i, "data-alive": alive ? 1 : 0 }, label,
      h("title", {}, `${node.text}, step ${node.step + 1}, score ${node.score.toFixed(4)}`)));
  });
  return image;
}
