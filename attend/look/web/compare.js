// RNN or attention: the same words through three networks of the same data and steps, what each hands from reading to
// writing, where each looked, and how often each is right as sentences get longer. All of it is computed when asked.
import { ask, exported, model, shelf, set, state } from "look/state";
import { figure, h, say, shown, strip } from "look/draw";
import { matrixFigure } from "look/figures";
import { percent } from "look/percent";
import { curves } from "look/curves";

const three = [
  { name: "reverse-rnn-plain", title: "RNN without attention", hands: "All of it has to pass through one vector: the bottleneck." },
  { name: "reverse-rnn-attention", title: "RNN with attention", hands: "One vector for each word read; every word written chooses among them." },
  { name: "reverse-transformer", title: "Transformer", hands: "One vector for each word read, and no recurrent state at all." },
];
export const comparable = () => !exported && three.some(one => one.name === model.name) && three.every(one => shelf.models.some(other => other.name === one.name));

const kept = new Map();
function once(key, make) {
  if (!kept.has(key)) {
    if (kept.size > 60) kept.clear();
    const answer = make();
    answer.catch(() => kept.delete(key));
    kept.set(key, answer);
  }
  return kept.get(key);
}
const asked = (name, question, body) => once([name, question, JSON.stringify(body)].join(), () => ask(question, body, name));

// Words right, place by place, against the words backwards.
function judged(text, answer) {
  const wanted = text.trim().split(/\s+/).reverse(), got = answer.split(/\s+/).filter(Boolean);
  const right = wanted.filter((word, i) => got[i] === word).length;
  return { exact: wanted.join(" ") === got.join(" "), right, of: wanted.length,
    nodes: Array.from({ length: Math.max(wanted.length, got.length) }, (_, i) => h("span", { class: got[i] === wanted[i] ? "word" : "word wrong", title: wanted[i] ? `should be ${wanted[i]}` : "one too many" }, got[i] ?? "—")) };
}

async function column({ name, title, hands }) {
  const [answer, states] = await Promise.all([asked(name, "inspect", { text: state.text }), asked(name, "states", { text: state.text })]);
  const verdict = judged(state.text, answer.text), plain = !answer.attention.length;
  const most = Math.max(...(plain ? states.summary : states.rows.flat()).map(Math.abs));
  const handed = plain ? h("div", { class: "vector" }, strip(states.summary, states.summary.length, most))
    : h("div", { class: "rows vector" }, ...states.rows.flatMap((row, i) => [h("span", {}, shown(states.tokens[i])), strip(row, row.length, most), h("span")]));
  const cross = answer.attention.filter(a => a.kind === "cross"), last = cross[cross.length - 1];
  const mean = last && last.weights[0].map((row, r) => row.map((_, c) => last.weights.reduce((sum, one) => sum + one[r][c], 0) / last.weights.length));
  return h("div", { class: "card", "data-network": name },
    h("h2", {}, title), h("p", { class: "quiet" }, verdict.exact ? "right" : `${verdict.right} of ${verdict.of} words in their place`),
    h("p", { class: "answer-words" }, ...verdict.nodes),
    h("h3", {}, plain ? `what it hands over: ${states.summary.length} numbers for ${states.tokens.length} tokens` : `what it hands over: ${states.tokens.length} × ${states.width} numbers`), h("p", { class: "note" }, hands), handed,
    h("h3", { style: "margin-top:14px" }, last ? "where it looked" : "where it looked: nowhere, it cannot look back"),
    last ? figure(`${name}-attention`, matrixFigure({ rows: answer.target.pieces, columns: answer.source.pieces, weights: mean })) : null);
}

// Lines that none of them was trained on, as many as the slider says.
function lengths() {
  const box = h("div", { class: "card wide" }), words = h("p", { class: "note" }), image = h("div"), told = h("p", { class: "quiet", id: "told" });
  const draw = async () => {
    say(words, "Computing: 300 lines that were in no training set, through all three …");
    const answers = await Promise.all(three.map(one => asked(one.name, "exact", { language: "reverse", count: 300 })));
    say(words, `${answers[0].count} lines that were in no training set, translated just now by all three: how many are right to the last word, by their length. Point at the image for the numbers.`);
    image.replaceChildren(figure("accuracy-by-length", curves({ title: "lines that are right", unit: answers[0].unit, lines: three.map((one, i) => ({
      name: one.title, total: answers[i].right / answers[i].count, points: answers[i].lengths.map(l => [l.length, l.right / l.count, `${l.right} of ${l.count}`]) })) })));
    const worst = answers[0].lengths.filter(l => l.right < l.count).slice(-1)[0];
    say(told, answers.map((a, i) => `${three[i].title}: ${percent(a.right / a.count)}`).join(" · "));
    if (worst) told.append(h("br"), `One that the first gets wrong: `, h("button", { class: "plain", onclick: () => set({ text: worst.source }) }, worst.source));
  };
  draw().catch(error => say(words, error.message));
  box.append(h("h2", {}, "Longer sentences"), words, image, told);
  return box;
}

// The curve belongs to the models, not to the sentence: it is drawn once.
let curve = null;
export async function compareView() {
  const columns = await Promise.all(three.map(column));
  return h("div", {}, h("p", { class: "note" }, "Three networks learned to say words backwards from the same 20,000 lines, the two RNNs in the same steps and of the same sizes (their cards say which). Pick words above, or type some of theirs: how many does one vector hold?"),
    h("div", { class: "columns three" }, ...columns), curve ??= lengths());
}
