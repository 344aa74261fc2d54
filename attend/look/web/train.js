// Train: a small Transformer learns a made-up language while you watch, in the program or in a worker of the browser. One
// training at a time; leaving the page or the view does not harm it.
import { ask, exported, model, shelf } from "look/state";
import { h } from "look/draw";
import { elapsed, forgetRun, reachedStep, readRun, runBody } from "look/run";
import { serverless } from "look/server";

export const canTrain = () => !exported && model.kind === "translation" && Boolean(shelf.trainings?.length);

const training = question => body => ask(question, body, "");
const start = training("train"), lines = training("training");
let now = { number: 0, state: "none" }, shown = null;  // how it stands, and the cards and buttons that say so

// New lines of the run. When another training was started, all of its lines.
async function newLines(from) {
  const before = now.number;
  now = await lines(from);
  if (now.number !== before) forgetRun(), now = await lines({ log: 0, look: 0 });
  shown?.();
  return now;
}

function status() {
  const { test } = now, step = reachedStep(), left = Math.round(elapsed() / step * (now.steps - step));
  if (now.state === "failed") return `The training ended with an error: ${now.error}`;
  if (now.state === "stopped") return `Cancelled at step ${step}.`;
  if (now.state === "ended") return test ? `Trained: ${Math.round(test.exact_match * test.sentences)} of ${test.sentences} lines that it has never seen are exactly right.` : "Trained.";
  if (!step) return "Making 20,000 lines to learn from …";
  return step < now.steps ? `Step ${step} of ${now.steps}, about ${left < 100 ? `${left} s` : `${Math.round(left / 60)} min`} left` : "Translating lines that it has never seen …";
}

function open(name) {
  location.hash = `#model=${encodeURIComponent(name)}`;
  location.reload();
}

export async function trainView() {
  forgetRun();
  await readRun(newLines);
  const told = h("span", { role: "status", id: "training-status" }), bar = h("progress", { "aria-label": "steps", max: 1 });
  const cancel = h("button", { id: "cancel-training", onclick: () => act("") }, "Cancel");
  const use = h("button", { id: "open-trained", onclick: () => open(now.model) }, "Look inside the trained model");
  const state = h("div", { class: "controls training" }, told, bar, cancel, use), body = h("div");
  const cards = shelf.trainings.map(task => {
    const button = h("button", { "data-task": task.name, "aria-label": `Train: ${task.title}`, onclick: () => act(task.name) }, "Train");
    return { task, button, node: h("div", { class: "card" }, h("h2", {}, task.title), h("p", {}, task.reads, h("br"), h("span", { class: "quiet" }, "→ "), h("mark", {}, task.writes)), button) };
  });
  async function act(task) {
    for (const { button } of cards) button.disabled = true;
    try {
      await start({ task });
      forgetRun();
      await readRun(newLines);
      watch();
    } catch (error) {
      now = { ...now, state: "failed", error: error.message }, show();
    } finally {
      for (const { button } of cards) button.disabled = false;
    }
  }
  function show() {
    const running = now.state === "running";
    state.hidden = now.state === "none", bar.hidden = cancel.hidden = !running, use.hidden = now.state !== "ended";
    if (told.textContent !== status()) told.textContent = status();
    if (now.steps) bar.value = reachedStep() / now.steps;
    for (const { task, node } of cards) node.classList.toggle("chosen", task.name === now.task && now.state !== "none");
  }
  const watch = () => { body.replaceChildren(now.state === "none" ? "" : runBody({ lines: newLines, about: null })), show(); };
  shown = show;
  watch();
  const where = serverless ? "in this browser, on one core: nothing is uploaded" : "on this machine";
  return h("div", {}, h("p", { class: "note" }, `Choose a task. A Transformer with two layers, a hundred thousand weights and no knowledge at all learns it from 20,000 made-up lines, in a minute or two, ${where}. Watch how attention finds the words that belong together.`),
    h("div", { class: "columns three tasks" }, ...cards.map(({ node }) => node)), state, body);
}
