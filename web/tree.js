// Beam search as a tree: a column a step, a lane for each beginning that led somewhere, the winner on top.
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

export function treePicture(result, at) {
  const beam = result.beam, won = winner(beam, result.target.ids), children = beam.map(() => []), roots = [];
  beam.forEach((node, i) => (node.parent < 0 ? roots : children[node.parent]).push(i));
  const lastStep = Math.max(...beam.map(node => node.step)), now = at >= result.steps.length - 1 ? lastStep : at;
  // The winner first, then by score; the first child goes on in its parent's lane.
  const order = list => list.sort((a, b) => won.has(b) - won.has(a) || beam[b].score - beam[a].score);
  const lane = new Array(beam.length);
  let lanes = 0;
  const place = i => { lane[i] = lanes; order(children[i]).forEach((child, n) => { if (n) ++lanes; place(child); }); };
  order(roots).forEach((root, n) => { if (n) ++lanes; place(root); });
  // How far a beginning had led by now.
  const reach = beam.map(node => node.step);
  for (let i = beam.length - 1; i >= 0; --i) if (beam[i].parent >= 0 && beam[i].step <= now) reach[beam[i].parent] = Math.max(reach[beam[i].parent], beam[i].ended ? lastStep : reach[i]);
  const column = 98, row = 27, left = 62, width = left + column * (lastStep + 1) + 60, height = row * (lanes + 1) + 20;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 13, role: "img", "aria-label": "beam search" });
  const x = i => left + column * beam[i].step, y = i => 22 + row * lane[i];
  picture.append(h("text", { x: 6, y: 27, "fill-opacity": 0.6 }, model.start));
  beam.forEach((node, i) => {
    if (node.step > now) return;
    const fromX = node.parent < 0 ? 34 : x(node.parent) + 6 + Math.min(78, (won.has(node.parent) ? 8.9 : 8) * short(beam[node.parent].text, 9).length), fromY = node.parent < 0 ? 22 : y(node.parent);
    const dead = !won.has(i) && !node.ended && reach[i] < now, faded = dead || (node.ended && !won.has(i));
    const strong = won.has(i);
    picture.append(h("path", { d: `M ${fromX} ${fromY} C ${x(i) - 12} ${fromY}, ${x(i) - 18} ${y(i)}, ${x(i) - 4} ${y(i)}`, fill: "none",
      stroke: strong ? "var(--accent)" : "var(--quiet)", "stroke-width": strong ? 3 : 1.3, "stroke-opacity": faded ? 0.35 : 1 }));
    const alive = !dead && !node.ended;
    const label = node.ended ? `■ ${node.score.toFixed(2)}` : short(node.text, 9) + (dead && !children[i].some(c => beam[c].step <= now) ? " ×" : "");
    picture.append(h("text", { x: x(i), y: y(i) + 5, "font-weight": strong ? 700 : 400, "fill-opacity": faded ? 0.5 : 1, "data-node": i, "data-alive": alive ? 1 : 0 }, label,
      h("title", {}, `${node.text}, step ${node.step + 1}, score ${node.score.toFixed(4)}`)));
  });
  return picture;
}
