// Training: the curves of a run, what it makes of fixed inputs, and their attention from noise to alignment, with a
// slider over the steps. While the run goes on, new lines are asked for every second. The run is the one that the page is
// about, or one that was started on it (train.js).
import { ask, labels, matrix, model, remember, state, titleOf } from "look/state";
import { choice, figure, h, paint, saves, short, thumbnailsFigure } from "look/draw";
import { matrixFigure } from "look/figures";
import { chart } from "look/charts";
import { imageSnapshot } from "look/image_view";
import { drawingFilm } from "look/drawing_film";
import { detectSnapshot } from "look/detect_view";
import { captionSnapshot } from "look/caption_view";

const run = { log: [], look: [], steps: 0, minutes: 0, smoothing: 0, ended: false, gone: false };
const others = [];  // runs it is compared with: { name, log, steps }
const colours = ["var(--accent)", "var(--second)", "#2f9e44", "#9c36b5", "#e8590c", "#1098ad"];

const ofPage = from => ask("run", from);
export async function readRun(lines) {
  let news = await lines({ log: run.log.length, look: run.look.length, others: others.map(other => other.log.length) });
  if (news.logs < run.log.length || news.looks < run.look.length) {  // the run went back
    run.log = [], run.look = [];
    news = await lines({ log: 0, look: 0 });
  }
  run.log.push(...news.log), run.look.push(...news.look);
  const over = Boolean(news.ended) !== run.ended;
  run.steps = news.steps || 0, run.minutes = news.minutes || 0, run.smoothing = news.label_smoothing || 0, run.ended = Boolean(news.ended), run.gone = false;
  let more = 0;
  (news.others || []).forEach(({ name, log, logs, steps }, i) => {
    others[i] ||= { name, log: [] };
    if (logs < others[i].log.length) others[i].log = [];  // it went back: whole at the next question
    else others[i].log.push(...log), more += log.length;
    others[i].steps = steps || 0;
  });
  return news.log.length + news.look.length + more > 0 || over;
}

// Bytes in base64 -> weights[head][row][column]; kept with the example.
function unpack(layer) {
  if (layer.weights) return layer;
  const bytes = atob(layer.packed), rows = layer.rows, columns = layer.columns;
  layer.weights = Array.from({ length: layer.heads }, (_, head) => Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => bytes.charCodeAt((head * rows + r) * columns + c) / 255)));
  return layer;
}

const whole = side => side.text ?? side.pieces.join("").replace(/ <\/s>$/, "").trim();
export const elapsed = () => Math.max(0, ...run.log.map(line => line.seconds || 0));
export const reachedStep = () => Math.max(0, ...run.log.map(line => line.step), ...run.look.map(line => line.step));
const image = () => run.look[state.at < 0 ? run.look.length - 1 : Math.min(state.at, run.look.length - 1)];
const points = key => run.log.filter(line => Number.isFinite(line[key])).map(line => [line.step, line[key]]);

function charts() {
  const end = Math.max(run.steps, reachedStep(), 1), mark = image() && state.at >= 0 ? image().step : -1;
  const valid = key => run.log.filter(line => line.validation && !line.averaged && Number.isFinite(line.validation[key])).map(line => [line.step, line.validation[key]]);
  const scores = Object.keys(run.log.find(line => line.validation)?.validation || {}).filter(key => key !== "loss" && key !== "images" && valid(key).some(([, value]) => value !== -1));  // how many were judged is no score, and COCO's -1 is none
  const list = [
    ["loss", { title: "loss", lines: [{ name: "training", points: points("loss") }, { name: "validation", points: valid("loss"), dots: true }], log: false }],
    ...scores.map(key => [key, { title: key === "bleu" ? "BLEU (greedy)" : key.replaceAll("_", " "), lines: [{ name: "validation", points: valid(key), dots: true }] }]),
    ["learning-rate", { title: "learning rate", lines: [{ name: "now", points: points("learning_rate") }] }],
    ...["tokens", "images"].map(items => ["throughput", { title: `${items} per second`, lines: [{ name: "now", points: points(`${items}_per_second`) }] }]),
  ].filter(([, options]) => options.lines[0].points.length);
  const smoothed = run.smoothing ? h("p", { class: "note", id: "smoothing" }, `Training loss includes label smoothing (${run.smoothing}) and dropout; validation loss has neither. Therefore the training curve may lie above the validation curve.`) : null;
  const cards = list.map(([name, options]) => [name, h("div", { class: name === "loss" && smoothed ? "card noted" : "card" }, figure(name, chart({ ...options, end, mark })), name === "loss" ? smoothed : null)]);
  const about = wanted => h("div", { class: "charts" }, ...cards.filter(([name]) => (name === "learning-rate" || name === "throughput") === wanted).map(([, card]) => card));
  return { quality: about(false), machine: about(true) };
}

// Every curve that two runs have, in one chart for all of them; at the top what each ended with.
function comparison() {
  const runs = [{ name: model.name, ...run }, ...others], end = Math.max(1, ...runs.map(each => each.steps || 0), ...runs.flatMap(each => each.log.map(line => line.step)));
  const trained = key => line => line[key], judged = key => line => line.averaged ? NaN : line.validation?.[key];
  const scores = [...new Set(runs.flatMap(each => each.log.filter(line => line.validation).flatMap(line => Object.keys(line.validation))))].filter(key => key !== "images");
  const list = [["loss", "training loss", trained("loss"), false], ...scores.map(key => [`validation-${key}`, `validation: ${key}`, judged(key), true]), ["learning-rate", "learning rate", trained("learning_rate"), false]];
  const lines = (of, dots) => runs.map((each, i) => ({ stroke: colours[i % colours.length], dots, points: each.log.filter(line => Number.isFinite(of(line))).map(line => [line.step, of(line)]) }));
  const last = (each, of) => { const found = each.log.filter(line => Number.isFinite(of(line))); return found.length ? of(found[found.length - 1]) : NaN; };
  const shown = list.map(([name, title, of, dots]) => ({ name, title, of, lines: lines(of, dots) })).filter(each => each.lines.some(line => line.points.length));
  const cell = x => Number.isFinite(x) ? (Math.abs(x) < 0.01 && x ? x.toExponential(2) : x.toFixed(4)) : "—";
  const told = shown.filter(({ name }) => name !== "learning-rate");  // where a schedule ends says nothing
  const table = h("table", { id: "runs", style: "border-spacing:18px 4px; text-align:left; margin-left:-18px" }, h("tr", {}, h("th", {}, "run"), h("th", {}, "steps"), ...told.map(({ title }) => h("th", {}, title))),
    ...runs.map((each, i) => h("tr", {}, h("td", { style: `color:${colours[i % colours.length]}; font-weight:700` }, each.name),
      h("td", {}, String(Math.max(0, ...each.log.map(line => line.step)))), ...told.map(({ of }) => h("td", {}, cell(last(each, of)))))));
  return h("div", {}, h("div", { class: "card", style: "margin-bottom:16px" }, h("div", { class: "scrolled" }, table)),
    h("div", { class: "charts" }, ...shown.map(({ name, title, lines }) => h("div", { class: "card" }, figure(name, chart({ title, lines, end }))))));
}

function status() {
  const newest = run.log[run.log.length - 1], step = reachedStep();
  if (!newest) return "The run has just begun.";
  const seconds = elapsed(), time = s => s < 120 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`;
  const again = `attend look --run ${model.name}`;
  const end = run.gone ? ` The run has ended and its server has stopped. This page keeps what it has; \`${again}\` in the folder of the runs shows it again.`
    : run.ended ? ` The run has ended. This page stays; \`${again}\` shows it later.` : "";
  if (run.minutes) return `Step ${step}, after ${time(Math.min(seconds, 60 * run.minutes))} of ${time(60 * run.minutes)}.${end}`;
  return `Step ${step}${run.steps ? ` of ${run.steps}` : ""}, after ${time(seconds)}.${end}`;
}

// A slider over the snapshots that can play them: show() draws the one at state.at.
function stepper(box, show) {
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "step", style: "flex:1; min-width:200px", oninput: event => { stop(); remember({ at: Number(event.target.value) }); show(); } });
  const label = h("span", { class: "quiet", id: "at" });
  let timer = 0;
  const stop = () => { cancelAnimationFrame(timer); timer = 0; button.textContent = "▶ play"; };
  const button = h("button", { onclick: () => {
    if (timer) return stop();
    button.textContent = "■ stop";
    let begin = 0;
    const from = state.at < 0 || state.at >= run.look.length - 1 ? 0 : state.at;
    const frame = now => {
      begin ||= now;
      const at = from + Math.floor((now - begin) / 160);
      if (at !== state.at) remember({ at: Math.min(at, run.look.length - 1) }), show();
      if (at >= run.look.length - 1 || !box.isConnected) return stop();
      timer = requestAnimationFrame(frame);
    };
    timer = requestAnimationFrame(frame);
  } }, "▶ play");
  return { node: h("div", { class: "controls" }, button, slider, label), update() {
    const last = run.look.length - 1;
    slider.max = last, slider.value = state.at < 0 ? last : Math.min(state.at, last);
    label.textContent = `step ${image().step}`;
  } };
}

// Of a model that looks at images: the image as its attention lights it, and its labels.
function runImages() {
  const box = h("div"), body = h("div"), one = () => image().examples[Math.min(state.example, image().examples.length - 1)];
  let turn = 0;
  const show = async () => {
    const mine = ++turn, snapshot = one().boxes ? detectSnapshot : one().tokens ? captionSnapshot : imageSnapshot, node = await snapshot(one(), changes => { remember(changes); show(); });
    if (mine !== turn) return;
    steps.update();
    body.replaceChildren(node);
  };
  const steps = stepper(box, show), names = image().examples.map((example, i) => [i, short(whole(example.target) || `image ${i + 1}`, 28)]);
  const which = choice("example", names, Math.min(state.example, names.length - 1), example => { remember({ example }); which.show(example); show(); });
  box.append(steps.node, h("div", { class: "controls" }, which), body);
  show();
  return { box, show };
}

// What depends on the slider alone is redrawn alone: playing is 60 frames per second.
function images() {
  if (image().examples[0]?.seen && image().examples[0].labels?.length === 0) return drawingFilm(image, stepper);
  if (image().examples[0]?.seen) return runImages();
  const box = h("div"), one = () => image().examples[Math.min(state.example, image().examples.length - 1)];
  const places = () => one().attention, here = () => places().find(a => a.stack === state.stack && a.kind === state.kind && a.layer === state.layer) || places()[places().length - 1];
  const thumbs = [], large = h("div"), words = h("div"), title = h("h3");
  const pick = changes => { remember(changes); build(); };
  const drawLarge = () => {
    if (!here()) {
      title.textContent = "no attention";
      return large.replaceChildren(h("p", { class: "note", id: "no-attention" }, "This model has no attention: its decoder gets one vector for the whole input, and there are no weights to draw."));
    }
    const place = here(), head = Math.min(state.head, place.heads - 1);
    title.textContent = titleOf(place) + (places().length > 1 ? `, layer ${place.layer + 1}, ` + (head < 0 ? "all heads averaged" : `head ${head + 1}`) : "");
    const words = labels(one(), place), key = JSON.stringify([words, document.documentElement.dataset.theme]), weights = matrix(unpack(place), head);
    if (large.key === key) return large.image.update(weights);
    large.key = key, large.image = matrixFigure({ ...words, weights });
    large.replaceChildren(figure("attention", large.image));
  };
  const show = () => {
    const now = image();
    steps.update();
    for (const { canvas, index, head } of thumbs) paint(canvas, matrix(unpack(places()[index]), head));
    drawLarge();
    const example = one(), goesOn = example.attention.length > 0 && !example.attention.some(a => a.kind === "cross" || a.stack === "encoder");
    words.replaceChildren(h("h3", {}, goesOn ? "begins with" : "reads"), h("p", {}, whole(example.source)),
      h("h3", {}, `says at step ${now.step}`), h("p", {}, h("mark", { id: "sample" }, example.text || "—")),
      ...(whole(example.target) ? [h("h3", {}, goesOn ? "goes on in the text with" : "should say"), h("p", {}, whole(example.target))] : []));
  };
  const steps = stepper(box, show);
  function build() {
    thumbs.length = 0;
    const rows = places().length < 2 ? [] : places().map((place, index) => h("div", { class: "kind" }, h("div", { class: "quiet" }, `${titleOf(place)} ${place.layer + 1}`),
      h("div", { class: "thumbs small" }, ...Array.from({ length: place.heads }, (_, head) => {
        const canvas = h("canvas", { width: 1, height: 1 }), name = `${titleOf(place)}, layer ${place.layer + 1}, head ${head + 1}`;
        thumbs.push({ canvas, index, head, name: `${place.stack} ${place.kind} ${place.layer + 1}.${head + 1}` });
        return h("button", { title: name, "aria-label": name, onclick: () => { remember({ stack: place.stack, kind: place.kind, layer: place.layer, head }); show(); } }, canvas);
      }))));
    const examples = image().examples.map((example, i) => [i, short(whole(example.source), 28)]);
    box.replaceChildren(steps.node, h("div", { class: "controls" }, choice("example", examples, Math.min(state.example, examples.length - 1), example => pick({ example }))),
      h("div", { class: "columns" }, h("div", { class: "card" }, words, title, large), !rows.length ? null :
        h("div", { class: "card" }, h("h3", {}, "every head; click one"), ...rows, saves("heads", () => thumbnailsFigure(thumbs.map(t => [t.name, t.canvas]), Math.max(...places().map(a => a.heads)))))));
    show();
  }
  build();
  return { box, show };
}

const readable = ["translation", "language-model", "classification", "tagging"];  // others have more than words in them
let live = 0;
export async function runView() {
  await readRun(ofPage);
  // What the other views begin with: a text of the kind the model knows.
  if (state.text === model.example && run.look.length && readable.includes(model.kind)) state.text = whole(run.look[0].examples[0].source);
  return runBody({ lines: ofPage, about: status });
}

export function forgetRun() {
  Object.assign(run, { log: [], look: [], steps: 0, ended: false, gone: false });
}

// Curves and attention, kept up to date by lines(): what the run has written since. about() is a sentence on how it stands;
// null: that is told elsewhere.
export function runBody({ lines, about }) {
  clearInterval(live);
  const head = h("p", { class: "note", id: "status" }, about?.() || ""), curves = h("div"), machine = h("div"), below = h("div");
  // What is learned stands first, then attention; learning rate and throughput come last.
  const redraw = () => {
    const { quality, machine: rest } = others.length ? { quality: comparison(), machine: h("div") } : charts();
    curves.replaceChildren(quality), machine.replaceChildren(rest);
  };
  redraw();
  let snapshots = run.look.length ? images() : null;
  const seen = !run.look.length || run.look[0].examples.some(example => example.attention?.length || example.seen);
  const empty = () => h("p", { class: "note" }, !about ? "…" : "This run has no images of its attention. `attend train … --look` takes them.");
  below.replaceChildren(snapshots ? snapshots.box : empty());
  live = setInterval(async () => {
    if (!head.isConnected) return clearInterval(live);
    const news = await readRun(lines).catch(() => { run.gone = true; return null; });
    if (about && head.textContent !== about()) head.textContent = about();
    if (!news) return;
    redraw();
    if (!snapshots && run.look.length) below.replaceChildren((snapshots = images()).box);
    else if (snapshots) snapshots.show();
  }, 1000);
  return h("div", {}, head, curves, h("h2", { style: "margin:18px 0 4px" }, model.kind === "drawing" ? "From noise to drawings" : seen ? "From noise to attention" : "From noise to words"),
    h("p", { class: "note" }, "The same inputs at every stop of the slider, with the weights the model had then."), below, h("div", { style: "margin-top:18px" }, machine));
}
