// All heads: every head of a layer at once over one sentence, each in a colour, as Tensor2Tensor draws them. A click on a
// colour switches its head off; pointing at a word leaves its own lines, a click keeps it.
import { find, labels, remember, set, state, titleOf, whoLooks } from "look/state";
import { figure, h, say, shown } from "look/draw";
import { place, placeControls } from "look/heads";
import { list, toggled } from "look/ablate";
import { sidesOf } from "look/map";
import { roleOf } from "look/roles";
import { wordsFigure } from "look/words";

const hues = 12;  // as many as style.css has: --head1 and so on
const colorOf = head => `var(--head${head % hues + 1})`;

function headButton(layer, head, count) {
  const off = list(state.off).includes(String(head)), role = roleOf(layer, head);
  const others = Array.from({ length: count }, (_, i) => i).filter(i => i !== head).join(";");
  return h("button", { class: "head-color" + (off ? " off" : ""), "data-color": head, "aria-pressed": String(!off), title: `head ${head + 1}${role ? `: ${role.words}` : ""}. A click switches it ${off ? "on" : "off"}; with shift it stays alone.`,
    onclick: event => set({ off: event.shiftKey ? (state.off === others ? "" : others) : toggled(state.off, String(head)) }) },
  h("i", { style: `background:${colorOf(head)}` }), `${head + 1}`, role ? h("span", {}, role.brief) : null);
}

export function allHeadsView(result) {
  const now = place(), layer = find(result, now), { rows, columns } = labels(result, now);
  const heads = layer.weights.map((weights, head) => ({ weights, color: colorOf(head) }));
  const said = h("p", { class: "role", id: "word-role" }), table = h("div", { class: "rows head-tops" });
  // Where each head looks from one word; without one, which word gets most of its weight in the mean.
  const tell = row => {
    const shares = weights => row >= 0 ? weights[row] : columns.map((_, c) => weights.reduce((sum, one) => sum + one[c], 0) / weights.length);
    say(said, row < 0 ? `${whoLooks(now)}.` : `‘${shown(rows[row])}’ attends most to:`);
    table.replaceChildren(...heads.flatMap(({ weights, color }, head) => {
      if (list(state.off).includes(String(head))) return [];
      const all = shares(weights), best = all.indexOf(Math.max(...all));
      return [h("span", {}, `head ${head + 1}: ${shown(columns[best])}`), h("div", { class: "meter", style: `width:${100 * all[best]}%; background:${color}` }), h("span", { class: "number" }, all[best].toFixed(2))];
    }));
  };
  const keep = row => { const focus = row === state.focus ? -1 : row; remember({ focus }), drawing.show(focus), tell(focus); };
  const drawing = wordsFigure({ rows, columns, heads, titles: sidesOf(now), label: `${titleOf(now)}, layer ${now.layer + 1}, all heads`, onpick: keep });
  drawing.only(heads.map((_, head) => head).filter(head => !list(state.off).includes(String(head))));
  const focus = Math.min(state.focus, rows.length - 1);
  drawing.show(focus), tell(focus);
  for (const word of drawing.querySelectorAll("[data-query]")) {
    for (const name of ["mouseenter", "focus"]) word.addEventListener(name, () => tell(Number(word.dataset.query)));
    for (const name of ["mouseleave", "blur"]) word.addEventListener(name, () => tell(Math.min(state.focus, rows.length - 1)));
  }
  return h("div", {},
    h("div", { class: "controls" }, ...placeControls(now, { heads: false }).nodes),
    h("div", { class: "card all-heads" }, h("div", { class: "controls head-colors", role: "group", "aria-label": "heads" }, ...heads.map((_, head) => headButton(layer, head, heads.length)),
      state.off ? h("button", { onclick: () => set({ off: "" }) }, "all on") : null),
    said, h("div", { class: "pair" }, figure(`all-heads-${now.stack}-${now.kind}-${now.layer + 1}`, drawing), table),
    h("p", { class: "note" }, "Each colour is a head; a thicker line is a larger weight. Click a colour to switch its head off, with shift to leave it alone. Point at a word for its own lines; a click keeps them. Squares: how much of each head’s weight a word gets. Keys: ↑ ↓ layers.")));
}
