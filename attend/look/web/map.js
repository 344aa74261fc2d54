// Map: the words with the attention between them, and beside them the model as lectures draw it. Inputs enter below,
// layers stand on each other, every head is a thumbnail with the name of what it does.
import { barredIn, find, labels, matrix, model, set, state, titleOf, whoLooks } from "look/state";
import { figure, h, saves, say, shown, thumbnail, thumbnailsFigure } from "look/draw";
import { place } from "look/heads";
import { roleOf } from "look/roles";
import { barredWords, windowSlider } from "look/window";
import { wordsFigure } from "look/words";

const nameOf = (at, head) => head < 0 ? "all heads averaged" : model.layers ? `layer ${at.layer + 1}, head ${head + 1}` : "the attention";

// What the two columns of words are called: keys on the left, queries on the right.
export const sidesOf = at => at.kind === "cross" ? ["source", "translation"] : ["attended", "attending"];

// One head between the words. show(at, head) draws it; focus marks one row of it.
function wordsCard(result) {
  const title = h("h2", { id: "head-title" }), role = h("p", { class: "role", id: "head-role" }), box = h("div"), who = h("p", { class: "note" });
  const card = h("div", { class: "card words-card" }, title, role, box, who);
  return { card, show(at, head, focus = -1) {
    const layer = find(result, at), found = roleOf(layer, head), { rows, columns } = labels(result, at);
    say(title, `${titleOf(at)[0].toUpperCase() + titleOf(at).slice(1)}, ${nameOf(at, head)}`);
    const row = focus >= 0 ? matrix(layer, head)[Math.min(focus, rows.length - 1)] : null, most = row ? row.indexOf(Math.max(...row)) : -1;
    say(role, row ? `‘${shown(rows[focus])}’ attends to ‘${shown(columns[most])}’ with ${(100 * row[most]).toFixed(0)} % of its weight.` : found ? `${found.words[0].toUpperCase() + found.words.slice(1)}.` : "");
    const drawing = wordsFigure({ rows, columns, weights: matrix(layer, head), titles: sidesOf(at), label: `${titleOf(at)}, ${nameOf(at, head)}` });
    box.replaceChildren(figure(`words-${at.stack}-${at.kind}-${at.layer + 1}-${head + 1}`, drawing));
    if (focus >= 0) drawing.show(focus);
    say(who, `${whoLooks(at)}. A thicker curve is a larger weight. Point at a word for its own weights.`);
  } };
}

function heads(result, at, drawn, preview) {
  const layer = find(result, at);
  return h("div", { class: "kind" }, h("div", { class: "thumbs" }, ...Array.from({ length: at.heads }, (_, head) => {
    const role = roleOf(layer, head), title = `${titleOf(at)}, layer ${at.layer + 1}, head ${head + 1}` + (role ? ` · ${role.words}` : ""), canvas = thumbnail(matrix(layer, head), barredIn(layer));
    drawn.push([`${at.stack} ${at.kind} ${at.layer + 1}.${head + 1}`, canvas]);
    const here = at.stack === state.stack && at.kind === state.kind && at.layer === state.layer && head === state.head;
    return h("button", { title, "aria-label": title, class: here ? "marked" : "", "data-head": `${at.stack} ${at.kind} ${at.layer} ${head}`,
      onmouseenter: () => preview(at, head), onfocus: () => preview(at, head),
      onclick: () => set({ view: "heads", stack: at.stack, kind: at.kind, layer: at.layer, head }) }, canvas, role ? h("span", { class: role.mixed ? "mixed" : "" }, role.brief) : null);
  })));
}

const wordsOf = tokens => h("p", { class: "quiet" }, tokens.map(shown).join("  "));
const box = text => h("div", { class: "box" }, text);

function stack(result, name, title, tokens, drawn, preview) {
  const places = model.attention.filter(a => a.stack === name), count = Math.max(-1, ...places.map(a => a.layer)) + 1, kinds = [...new Set(places.map(a => a.kind))];
  const layers = Array.from({ length: count }, (_, i) => i).map(i => h("section", { class: "layer", "aria-label": `layer ${i + 1}` }, model.layers ? h("h3", { title: `layer ${i + 1}` }, String(i + 1)) : null,
    ...places.filter(a => a.layer === i).map(a => heads(result, a, drawn, preview)))).reverse();
  const writes = name === "decoder" && model.kind === "translation" && model.layers ? h("div", { class: "written" }, h("span", { class: "quiet" }, "logits · softmax · writes"), h("strong", {}, result.text)) : null;
  return h("div", { class: "stack " + name }, writes, h("h2", {}, title),
    h("div", { class: "kinds quiet" }, ...kinds.map(kind => h("span", {}, titleOf({ stack: name, kind })))), h("div", { class: "layers", style: `--heads:${Math.max(1, ...places.map(a => a.heads))}` }, ...layers),
    box(model.positions ? "embedding + position" : "recurrent · embedding"), wordsOf(tokens));
}

export function mapView(result) {
  const has = name => model.attention.some(a => a.stack === name), both = model.kind === "translation", sides = [], drawn = [];
  const words = wordsCard(result), now = place(), home = () => words.show(now, Math.min(state.head, now.heads - 1), state.focus);
  // A recurrent network's encoder has no attention of its own.
  if (!model.layers) sides.push(h("div", { class: "stack encoder" }, h("h2", {}, "Encoder"), box("recurrent, in both directions"), box("embedding"), wordsOf(result.source.pieces)));
  if (has("encoder")) sides.push(stack(result, "encoder", both ? "Encoder" : "Encoder: reads in both directions", result.source.pieces, drawn, words.show));
  if (both && model.layers) sides.push(h("div", { class: "bus", title: "Keys and values of every cross-attention come from the top of the encoder." }, h("span", {}, "keys, values")));
  if (has("decoder")) sides.push(stack(result, "decoder", both ? "Decoder" : "Decoder: reads what precedes, then writes", labels(result, { stack: "decoder", kind: "self" }).columns, drawn, words.show));
  home();
  return h("div", { class: "overview" }, words.card, h("div", { class: "card model-card", onmouseleave: home },
    h("div", { class: "stacks" + (both ? "" : " single") + (model.layers ? "" : " plain") }, ...sides),
    h("p", { class: "note" }, "Each square is a head: rows attend, columns are attended. Its label is the pattern with the most weight. Point at a head to see it between the words; click to enter." + barredWords(result)),
    windowSlider(result), saves("map", () => thumbnailsFigure(drawn, Math.max(...model.attention.map(a => a.heads))))));
}
