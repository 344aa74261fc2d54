// The frame: sentence, tabs, keys, theme. Each view is a function (result) -> element.
import { begin, exported, inspect, model, onChange, opening, readAddress, sentences, set, shelf, state, subject } from "look/state";
import { h } from "look/draw";
import { canCourse, courseView } from "look/course";
import { compareView, comparable } from "look/compare";
import { explain } from "look/glossary";
import { hint } from "look/hints";
import { takeOwnModels } from "look/own_model";
import { percent } from "look/percent";
import { showSource } from "look/source";
import { applyBareStop, canTour, showTour, startTour } from "look/tour";
import { mapView } from "look/map";
import { headsView } from "look/heads";
import { allHeadsView } from "look/all_heads";
import { stepsView } from "look/steps";
import { positionsView } from "look/positions";
import { answeredText, generateView, taggedText } from "look/generate";
import { ablateView } from "look/ablate";
import { numbersView } from "look/numbers";
import { runView } from "look/run";
import { canTrain, trainView } from "look/train";
import { imageView } from "look/image_view";
import { rolloutView } from "look/image_rollout";
import { windowsView } from "look/image_windows";
import { imageStepsView } from "look/image_steps";
import { imagePositionsView } from "look/image_positions";
import { imageAblateView } from "look/image_ablate";
import { imageInput } from "look/image_input";
import { besideView, gridView } from "look/drawing_grid";
import { whereView } from "look/drawing_where";
import { walkView } from "look/drawing_walk";
import { detectView } from "look/detect_view";
import { captionView } from "look/caption_view";

const alone = model.kind === "run", images = Boolean(model.samples);
const answers = { translation: ["Generate", "Translate"], "language-model": ["Generate", "Continue"], "masked-lm": ["Fill", "Fill"],
  classification: ["Answer", "Classify"], tagging: ["Answer", "Tag"], answering: ["Answer", "Answer"], encoder: [null, "Read"] }[model.kind] || [];
const reading = { detection: { objects: ["Objects", detectView] }, caption: { sentence: ["Sentence", captionView] } }[model.kind];
const looks = reading ? { ...(model.run ? { run: ["Training", runView] } : {}), ...reading } : {
  ...(model.run ? { run: ["Training", runView] } : {}), image: ["Image", imageView],
  ...(model.attention.length ? { rollout: ["Rollout", rolloutView] } : {}),
  ...(model.attention.some(a => a.window) ? { windows: ["Windows", windowsView] } : {}),
  ...(model.unwalked === "" ? { steps: ["Step by step", imageStepsView] } : {}),
  ...(model.positions ? { positions: ["Positions", imagePositionsView] } : {}),
  ablate: ["Ablate", imageAblateView],
};
const drawings = model.kind === "drawing" && {
  ...(model.run ? { run: ["Training", runView] } : {}), drawings: ["Drawings", gridView], where: ["Attention", whereView], walk: ["Walk", walkView],
  ...(model.beside ? { beside: ["Side by side", besideView] } : {}),
};
const views = { ...(drawings || images ? drawings || looks : {
  ...(model.run ? { run: ["Training", runView] } : {}),
  ...(alone || !model.attention.length ? {} : { map: ["Map", mapView], heads: ["Heads", headsView] }),
  ...(!alone && model.attention.some(a => a.heads > 1) ? { "all-heads": ["All heads", allHeadsView] } : {}),
  ...(model.layers ? { steps: ["Step by step", stepsView] } : {}),
  ...(model.positions ? { positions: ["Positions", positionsView] } : {}),
  ...(answers[0] ? { generate: [answers[0], generateView] } : {}),
  ...(alone ? {} : { ablate: ["Ablate", ablateView] }),
  ...(alone || exported ? {} : { numbers: ["Numbers", numbersView] }),
  ...(comparable() ? { compare: ["RNN or attention", compareView] } : {}),
  ...(canTrain() ? { train: ["Train", trainView] } : {}),
}), ...(canCourse() ? { course: ["Course", courseView] } : {}) };
const $ = id => document.getElementById(id);

function fail(error) {
  $("error").textContent = error.message;
  $("error").hidden = false;
  setTimeout(() => { $("error").hidden = true; }, 6000);
}

takeOwnModels(fail);

// The answer over the views: a translation, a text that goes on, a text whose masks are filled, a label, a text with its
// tags or with what answers the question.
function answer(result) {
  if (model.kind === "language-model") return [state.text, h("mark", {}, result.text)];
  if (model.kind === "masked-lm" && !result.steps.length) return [h("span", { class: "quiet" }, `Write ${model.mask} for the word to predict.`)];
  if (model.kind === "tagging") return taggedText(state.text, result.steps);
  if (model.kind === "answering" && result.steps.length) return [...answeredText(state.text, result.steps[0].span), h("span", { class: "quiet" }, " " + percent(result.steps[0].probability))];
  return [result.text];
}

const tabs = Object.fromEntries(Object.entries(views).map(([name, [title]]) =>
  [name, h("a", { href: "#", onclick: event => { event.preventDefault(); set({ view: name }); } }, title)]));
$("tabs").append(...Object.values(tabs));
let open = "";
function showTab() {
  if (open === state.view) return;
  tabs[open]?.removeAttribute("aria-current");
  const tab = tabs[open = state.view];
  tab.setAttribute("aria-current", "page");
  const apart = ["run", "train", "numbers", "course"].includes(open);  // of other inputs than the one above the views
  $("form").hidden = images || drawings || apart;
  $("images").hidden = !images || apart;
  $("sentences").hidden = images || drawings || apart || exported !== null || sentences.length < 2;
  $("translation").hidden = drawings || apart;
  $("tabs").scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - $("tabs").clientWidth / 2 - $("tabs").offsetLeft;
}

// Only what has changed is put into the page: a head by key has to fit between two frames.
let turn = 0, answered = null;
async function draw() {
  const mine = ++turn;
  if (!views[state.view]) state.view = views.compare ? "compare" : Object.keys(views)[0];
  showTab();
  if ($("text") !== document.activeElement && $("text").value !== state.text) $("text").value = state.text;
  try {
    let result = alone || drawings ? null : await inspect(subject());
    if (mine !== turn) return;
    const asked = JSON.stringify(subject());
    if (result || drawings) begin(applyBareStop(result || {}) || !result || images ? null : result);
    if (result && JSON.stringify(subject()) !== asked) result = await inspect(subject());  // a stop with an input of its own
    if (mine !== turn) return;
    showTab();
    const view = await views[state.view][1](result);
    if (mine !== turn) return;
    input?.show();
    if (result && result !== answered) $("translation").replaceChildren(...answer(answered = result));
    if ($("view").firstChild !== view) {
      $("view").replaceChildren(view);
      explain(view), hint(document.body);
    }
    showSentence(), showSource();
    await showTour(answered);
    if (mine !== turn) return;
    const title = `${result ? result.text || state.text : model.name} · attend look`;
    if (document.title !== title) document.title = title;
    document.body.dataset.ready = String(mine);
  } catch (error) {
    if (mine !== turn) return;
    fail(error);
    if (images && !exported && !model.samples.includes(state.image)) set({ image: model.samples[0], masked: "" });  // the server has forgotten it
  }
}
// However many keys were pressed since, once a frame.
let waiting = 0;
onChange(() => { waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); }); });

// Digits choose a view, arrows go through layers and heads of the attention at hand, or through the steps of an answer;
// [ and ] go through tokens, / goes to the sentence.
function key(event) {
  if (event.target.matches?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const names = Object.keys(views), side = { ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0;
  if (event.key >= "1" && event.key <= String(names.length)) return set({ view: names[event.key - 1] });
  if (event.key === "/") { event.preventDefault(); return $(images ? "choose" : "text")?.focus(); }
  if (state.view === "generate" && side) { event.preventDefault(); return set({ step: Math.max(0, state.step + side) }); }
  const here = model.attention.filter(a => a.stack === state.stack && a.kind === state.kind);
  if (!here.length || !["heads", "all-heads", "steps", "map", "image", "windows", "objects", "sentence"].includes(state.view)) return;
  const up = { ArrowUp: 1, ArrowDown: -1 }[event.key] || 0, token = { "[": -1, "]": 1 }[event.key];
  if (side || up) {
    event.preventDefault();
    set({ layer: Math.max(0, Math.min(here.length - 1, state.layer + up)),
          head: Math.max(state.view === "steps" || state.view === "map" ? 0 : -1, Math.min(Math.max(...here.map(a => a.heads)) - 1, state.head + side)) });
  } else if (token) set(state.view === "image" ? { query: Math.max(-1, state.query + token) } : ["heads", "all-heads"].includes(state.view) ? { focus: Math.max(-1, state.focus + token) } : { token: Math.max(0, state.token + token) });
}

function theme(name) {
  document.documentElement.dataset.theme = name;
}
const preferred = matchMedia("(prefers-color-scheme: dark)");
theme(preferred.matches ? "dark" : "light");
preferred.addEventListener("change", () => { theme(preferred.matches ? "dark" : "light"); draw(); });
$("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); draw(); });

const named = shelf.models.length ? [] : [model.name];  // the switch says it already
const size = model.parameters >= 1e6 ? `${(model.parameters / 1e6).toFixed(1)} M` : `${Math.round(model.parameters / 1e3)} k`;
$("model").textContent = alone ? `${model.name} · training` : [...named, ...(model.config.model_type === model.name ? [] : [model.config.model_type]), `${size} parameters`, ...(exported ? ["exported"] : [])].join(" · ");
$("go").textContent = answers[1] || "";
$("translation").classList.toggle("translated", model.kind === "translation");
$("form").addEventListener("submit", event => {
  event.preventDefault();
  set({ text: $("text").value, token: 0, focus: -1, prefix: "", step: 0, masked: "" });
});
// The shelf, the telling sentences, the tour.
const chooser = h("select", { id: "switch", "aria-label": "model", title: "another model", onchange: event => { location.hash = "model=" + event.target.value; } },
  ...[...(shelf.models.some(one => one.name === model.name) ? [] : [{ name: model.name, about: "" }]), ...shelf.models].map(({ name, about }) =>
    h("option", { value: name, selected: name === model.name ? "" : null, title: about }, about ? `${name}: ${about}` : name)));
if (!alone && shelf.models.length) $("model").before(chooser);
const picker = h("select", { id: "telling", "aria-label": "examples", onchange: async event => {
  if (!event.target.value) return;
  Object.assign(state, { text: event.target.value, token: 0, focus: -1, prefix: "", step: 0, masked: "" });
  const result = await inspect(subject()).catch(() => null);  // an example opens with the head that shows its point
  set(result && result.attention.length ? opening(result) : {});
} }, h("option", { value: "" }, "examples …"), ...sentences.flatMap(({ text, swapped, why }) => [text, ...(swapped ? [swapped] : [])].map((one, i) =>
  h("option", { value: one }, `${one} — ${i ? "the same in another order" : why}`))));
$("sentences").append(picker);
function showSentence() {
  const known = sentences.some(one => one.text === state.text || one.swapped === state.text), value = known ? state.text : "";
  if (picker.value !== value) picker.value = value;
}
if (canTour()) $("theme").before(h("button", { id: "tour", title: "what this model does, step by step", "aria-label": "Take the tour", onclick: () => startTour(answered) }, h("span", { class: "long" }, "Take the tour"), h("span", { class: "brief" }, "Tour")));
const input = images ? imageInput(fail) : null;
if (input) $("images").replaceChildren(input.node);
if (exported) { $("text").readOnly = true; $("go").hidden = true; }
addEventListener("keydown", key);
function start() {
  const wrong = readAddress();
  if (wrong) fail(new Error(wrong));
  draw();
}
addEventListener("hashchange", start);
start();
