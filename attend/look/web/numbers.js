// Numbers: attention on matrices that a person types or drags, each step as a table. The program computes them, as
// `attend attention` does; the page only writes down what it says.
import { ask, remember, set, state } from "look/state";
import { choice, h, say, signedColor, weightColor } from "look/draw";
import { sourceLink } from "look/source";

const widest = 8;  // columns that have a cell of their own
const matrices = [["q", "Q", "queries", "what is asked"], ["k", "K", "keys", "what each entry is found by"], ["v", "V", "values", "what each entry gives"]];
const examples = [["slide", "the slide: 112 and 96"], ["dictionary", "a soft dictionary"]];

// What the address says; without matrices of its own, an example.
const request = () => ({ ...(state.q || state.k || state.v ? { q: state.q, k: state.k, v: state.v } : { example: state.worked }),
  score: state.score, mask: state.causal ? "causal" : "none", scaled: Boolean(state.scaled) });

const written = x => String(Number(x.toPrecision(6)));
const same = row => row.length > widest && row.every(x => x === row[0]);
// As it is typed: a name, then the numbers; a number that fills its row once with its count.
const quoted = name => /[\s,;]/.test(name) ? name.replace(/[\s,;]+/g, "_") : name;
function textOf({ values, rows, columns }) {
  const lines = values.map((row, i) => [...(rows.length ? [quoted(rows[i])] : []), ...(same(row) ? [`${written(row[0])}*${row.length}`] : row.map(written))].join(" "));
  return [...(columns.length ? [columns.map(quoted).join(" ")] : []), ...lines].join("; ");
}

// A number to type in, or to drag to the left and right.
function cell(value, label, change) {
  const box = h("input", { type: "number", step: "any", class: "cell", value: written(value), "aria-label": label, title: "type a number, or drag it sideways" });
  let from = null;
  const put = value => { box.value = written(value); change(value); };
  box.addEventListener("input", () => change(box.value === "" ? NaN : Number(box.value)));
  box.addEventListener("keydown", event => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by) { event.preventDefault(); put((Number(box.value) || 0) + by * (event.shiftKey ? 0.1 : 0.25)); }
  });
  box.addEventListener("pointerdown", event => { from = { x: event.clientX, value: Number(box.value) || 0, moved: false }; });
  box.addEventListener("pointermove", event => {
    if (!from || !event.buttons) return;
    const steps = Math.round((event.clientX - from.x) / 6);
    if (!steps && !from.moved) return;
    if (!from.moved) box.setPointerCapture(event.pointerId);
    from.moved = true;
    put(from.value + 0.25 * steps);
  });
  box.addEventListener("pointerup", () => { from = null; });
  return box;
}

// One matrix with cells, and as text. changed() hears of every edit.
function editor([name, letter, title, about], matrix, changed) {
  const { values, rows, columns } = matrix, wide = values[0].length, text = h("textarea", { rows: 3, spellcheck: "false", "aria-label": `${letter} as text` });
  text.value = textOf(matrix).replaceAll("; ", "\n");
  const edit = make => { make(); const next = textOf(matrix); text.value = next.replaceAll("; ", "\n"); changed({ [name]: next }); };
  const cells = values.map((row, i) => {
    const at = rows[i] || `${name}${i + 1}`;
    const boxes = same(row) ? [cell(row[0], `${at}, all columns`, x => edit(() => row.fill(x))), h("span", { class: "quiet" }, `× ${wide}`)]
      : row.slice(0, widest).map((x, j) => cell(x, `${at}, column ${j + 1}`, value => edit(() => { row[j] = value; })));
    if (!same(row) && wide > widest) boxes.push(h("span", { class: "quiet" }, `… ${wide - widest} more`));
    return h("tr", {}, h("th", { scope: "row" }, at), ...boxes.map(box => h("td", {}, box)));
  });
  const head = columns.length && wide <= widest ? [h("tr", {}, h("td"), ...columns.map(column => h("th", { scope: "col" }, column)))] : [];
  const step = (label, title, able, make) => h("button", { type: "button", class: "small", title, "aria-label": title, disabled: able ? null : "", onclick: () => { make(); changed({ [name]: textOf(matrix) }, true); } }, label);
  const rowNames = rows.length > 0;
  text.addEventListener("input", () => changed({ [name]: text.value.replaceAll("\n", "; ") }));
  text.addEventListener("change", () => changed({ [name]: text.value.replaceAll("\n", "; ") }, true));
  return h("div", { class: "card matrix", "data-matrix": name }, h("h2", {}, `${letter}: ${title} `, h("span", { class: "quiet" }, `[${values.length} × ${wide}]`)), h("p", { class: "quiet" }, about),
    h("div", { class: "scrolled" }, h("table", { class: "matrix-cells" }, ...head, ...cells)),
    h("div", { class: "matrix-buttons" },
      step("+ row", `add a row to ${letter}`, values.length < 12, () => { values.push(values[values.length - 1].slice()); if (rowNames) rows.push(`${name}${values.length}`); }),
      step("− row", `remove the last row of ${letter}`, values.length > 1, () => { values.pop(); rows.pop(); }),
      step("+ column", `add a column to ${letter}`, wide < 512, () => { values.forEach(row => row.push(same([...row, row[0]]) ? row[0] : 0)); if (columns.length) columns.push(`c${wide + 1}`); }),
      step("− column", `remove the last column of ${letter}`, wide > 1, () => { values.forEach(row => row.pop()); columns.pop(); })),
    h("details", {}, h("summary", {}, "as text"), text));
}

// Black or white, whichever has the larger contrast with rgb(..).
function inkOn(color) {
  const [r, g, b] = color.match(/\d+/g).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// One step of the formula. Weights have the colours of attention, other numbers those of their sign.
function stepTable(answer, { formula, matrix, hides }, number) {
  const rows = answer[matrix], columns = matrix === "output" ? answer.columns : answer.keys, wide = Math.min(rows[0].length, 12);
  const whole = rows.flat().every(x => x === Math.round(x) && Math.abs(x) < 1e6);
  const row = (values, i) => {
    const most = Math.max(1e-9, ...values.map(Math.abs));
    return h("tr", {}, h("th", { scope: "row" }, answer.queries[i]), ...values.slice(0, wide).map((x, j) => {
      const hidden = hides && !answer.visible[i][j], color = matrix === "weights" ? weightColor(x) : signedColor(x, 4 * most);
      return h("td", { class: hidden ? "number barred" : "number", style: hidden ? "" : `background:${color}; color:${inkOn(color)}` }, hidden ? "–" : x.toFixed(whole ? 0 : 2));
    }), rows[0].length > wide ? h("td", { class: "quiet" }, `… ${rows[0].length - wide} more`) : null);
  };
  return h("section", { class: "card worked", "data-worked": matrix }, h("h2", {}, `${number + 1}. ${formula}`),
    h("div", { class: "scrolled" }, h("table", {}, columns.length ? h("tr", {}, h("td"), ...columns.slice(0, wide).map(name => h("th", { scope: "col" }, name))) : null, ...rows.slice(0, 12).map(row))));
}

// What the output says in words, where the columns have names: a query gets a mixture of values.
function mixture(answer) {
  if (!answer.columns.length) return "";
  return answer.output.map((row, i) => `${answer.queries[i]} → ${row.map((x, j) => [x, answer.columns[j]]).filter(([x]) => x > 0.05).sort((a, b) => b[0] - a[0]).map(([x, name]) => `${x.toFixed(2)} ${name}`).join(" + ") || "nothing"}`).join(";  ");
}

const shell = text => `"${text.replace(/["\\$`]/g, "\\$&")}"`;
function command() {
  const { q, k, v, example, score, mask, scaled } = request();
  return ["attend attention", ...(example ? [`--example ${example}`] : [`--q ${shell(q)} --k ${shell(k)} --v ${shell(v)}`]), ...(score === "dot" ? [] : [`--score ${score}`]),
    ...(scaled === (score === "dot") ? [] : [`--scale ${scaled ? "sqrt" : "none"}`]), ...(mask === "causal" ? ["--mask causal"] : [])].join(" ");
}

// An edit keeps the cells that are being typed in and replaces the steps alone; another shape makes all of it anew.
export async function numbersView() {
  const wrong = h("p", { class: "wrong", role: "alert" }), steps = h("div", { class: "worked-steps", "aria-live": "polite" }), words = h("p", { class: "role", id: "mixture" }), line = h("code", { id: "worked-command" });
  let turn = 0;
  const show = answer => {
    say(wrong, ""), say(words, mixture(answer)), say(line, command());
    steps.replaceChildren(...answer.steps.map((step, i) => stepTable(answer, step, i)));
  };
  const compute = async () => {
    const mine = ++turn;
    try {
      const answer = await ask("worked", request());
      if (mine === turn) show(answer);
    } catch (error) {
      if (mine === turn) say(wrong, error.message);
    }
  };
  const first = await ask("worked", request()).catch(error => ({ error }));
  // Text that is wrong stays as it is until it is right: the cells are those of the example.
  const answer = first.error ? await ask("worked", { example: state.worked || "slide" }) : first;
  const texts = Object.fromEntries(matrices.map(([name]) => [name, state[name] || textOf(answer[name])]));
  const changed = (texted, shape = false) => {
    Object.assign(texts, texted);
    (shape ? set : remember)({ ...texts });
    if (!shape) compute();
  };
  const flip = (name, label, title) => h("button", { class: state[name] ? "flip on" : "flip", "aria-pressed": String(Boolean(state[name])), title, onclick: () => set({ [name]: state[name] ? 0 : 1 }) }, label);
  const root = h("div", { id: "numbers" },
    h("div", { class: "controls" }, choice("example", examples, state.q || state.k || state.v ? "" : state.worked, worked => set({ worked, q: "", k: "", v: "" })),
      h("label", {}, "score", choice("score", [["dot", "q·k"], ["additive", "additive"], ["general", "general"], ["cosine", "cosine"]], state.score, score => set({ score, scaled: score === "dot" ? 1 : 0 }))),
      flip("scaled", "divide by √d", "divide the scores by the square root of the number of columns of K"), flip("causal", "causal mask", "hide later keys")),
    wrong, h("div", { class: "columns three" }, ...matrices.map(one => editor(one, answer[one[0]], changed))),
    words, steps,
    h("p", { class: "note" }, "The same on the command line: ", line, " Computed by ", sourceLink("attend/view/worked_attention.cpp", "NamedMatrix softmax_of("), "."));
  if (first.error) say(wrong, first.error.message);
  else show(answer);
  return root;
}
