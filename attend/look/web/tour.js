// The card over the views: the tour, whose stops (tours.js) drive the page's own views from the input to the answer, and the
// stop of the course (course.js) that a view was opened from. The address holds the number of the stop.
import { bare, exported, model, set, state } from "look/state";
import { h } from "look/draw";
import { explain } from "look/glossary";
import { courseStop } from "look/course";
import { stopsOf } from "look/tours";

// Only a network without attention, or a run without a model, has nothing to show.
export const canTour = () => !exported && model.kind !== "run" && (model.kind === "drawing" || model.samples || model.attention.length > 0);

const box = h("section", { class: "tour", "aria-label": "tour", hidden: "" });
document.body.append(box);
let shownStop = "", marked = null;

// A stop may show another input. What the others say is about the one that the tour began with.
let home = null;  // { input, result }
const input = () => model.samples ? state.image : state.text;
const homeOf = result => {
  if (!home || home.model !== model.name) home = { input: input(), result, model: model.name };
  return home;
};
const stops = result => { const { input, result: first } = homeOf(result); return stopsOf(first, input); };

function go(result, n) {
  set({ heads: "", layers: "", masked: "", prefix: "", order: 1, ...(model.samples ? { image: home.input } : {}), ...stops(result)[n - 1].state, tour: n });
}

// A bare link (#tour=5) does not say what the stop looks like.
export function applyBareStop(result) {
  if (!canTour() || !state.tour || !bare()) return false;
  const all = stops(result);
  Object.assign(state, all[Math.min(state.tour, all.length) - 1].state);
  return true;
}

export function startTour(result) {
  home = null;
  homeOf(result || {});
  go(result || {}, 1);
}

// A stop of the course: its sentence and what to expect, the way back to the course, and on to the next stop.
function showCourse({ n, count, title, body, open, leave, next }) {
  document.body.classList.add("touring");
  box.hidden = false;
  const id = `course ${n}`;
  if (id === shownStop) return;
  shownStop = id;
  box.replaceChildren(h("div", {}, h("strong", {}, title), h("span", { class: "quiet" }, ` ${n} of ${count}`), h("button", { class: "plain", id: "skip", onclick: leave }, "close")), ...body,
    h("div", { class: "controls" }, h("button", { id: "back", onclick: open }, "← course"), next ? h("button", { id: "next", class: "on", onclick: next }, "next →") : ""));
  explain(box, "p");
}

export async function showTour(result) {
  const lesson = await courseStop();
  if (lesson) return showCourse(lesson);
  const on = canTour() && state.tour > 0;
  document.body.classList.toggle("touring", Boolean(on));
  box.hidden = !on;
  marked?.classList.remove("pointed");
  if (!on) { shownStop = ""; home = null; return; }
  const all = stops(result || {}), n = Math.min(state.tour, all.length), stop = all[n - 1], key = `${n} ${input()}`;
  if (key !== shownStop) {
    const dots = h("div", { class: "dots" }, ...all.map((one, i) => h("button", { class: i + 1 === n ? "on" : "", title: one.title, "aria-label": `stop ${i + 1}: ${one.title}`, onclick: () => go(result, i + 1) })));
    const proof = h("p", { class: "proof", hidden: stop.prove ? null : "" }, stop.prove ? "The model is asked …" : "");
    box.replaceChildren(h("div", {}, h("strong", {}, stop.title), h("span", { class: "quiet" }, ` ${n} of ${all.length}`),
      h("button", { class: "plain", id: "skip", onclick: () => set({ tour: 0 }) }, innerWidth < 700 ? "skip" : "skip the tour")),
    h("p", {}, stop.text), proof, stop.more ? h("p", {}, h("a", { id: "more", href: "#" + stop.more[1] }, stop.more[0] + " →")) : "", h("div", { class: "controls" }, h("button", { id: "back", disabled: n === 1 ? "" : null, onclick: () => go(result, n - 1) }, "← back"),
      h("button", { id: "next", class: "on", onclick: () => n < all.length ? go(result, n + 1) : set({ tour: 0 }) }, n < all.length ? "next →" : "the end"), dots));
    explain(box, "p");
    stop.prove?.().then(text => { proof.textContent = text; point(stop); }, error => { proof.textContent = error.message; });
  }
  point(stop, key !== shownStop);
  shownStop = key;
}

// Marks what the stop is about and scrolls to it, above the card of the tour.
function point(stop, scroll = true) {
  marked?.classList.remove("pointed");
  marked = stop.mark ? document.querySelector((stop.page ? "" : "#view ") + stop.mark) : null;
  marked?.classList.add("pointed");
  if (!scroll) return;
  if (!marked) return scrollTo({ top: 0 });
  const edge = marked.getBoundingClientRect(), room = innerHeight - box.offsetHeight;
  scrollTo({ top: Math.max(0, scrollY + edge.top - Math.max(16, (room - edge.height) / 2)) });
}
