// The frame: sentence, tabs, keys, theme. Each view is a function (result) -> element.
import { exported, model, onChange, readAddress, set, state, translate } from "look/state";
import { h } from "look/draw";
import { mapView } from "look/map";
import { headsView } from "look/heads";
import { stepsView } from "look/steps";
import { positionsView } from "look/positions";
import { generateView } from "look/generate";
import { ablateView } from "look/ablate";

const transformer = model.config.model_type === "transformer";
const views = {
  map: ["Map", mapView], heads: ["Heads", headsView],
  ...(transformer ? { steps: ["Step by step", stepsView], positions: ["Positions", positionsView] } : {}),
  generate: ["Generate", generateView], ablate: ["Ablate", ablateView],
};
const $ = id => document.getElementById(id);

function fail(error) {
  $("error").textContent = error.message;
  $("error").hidden = false;
  setTimeout(() => { $("error").hidden = true; }, 6000);
}

let turn = 0;
async function draw() {
  const mine = ++turn;
  if (!views[state.view]) state.view = "map";
  $("tabs").replaceChildren(...Object.entries(views).map(([name, [title]]) =>
    h("a", { href: "#", "aria-current": name === state.view ? "page" : null, onclick: event => { event.preventDefault(); set({ view: name }); } }, title)));
  const tab = $("tabs").querySelector("[aria-current]");
  $("tabs").scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - $("tabs").clientWidth / 2 - $("tabs").offsetLeft;
  if ($("text") !== document.activeElement) $("text").value = state.text;
  try {
    const result = await translate({ text: state.text });
    const view = await views[state.view][1](result);
    if (mine !== turn) return;
    $("translation").textContent = result.text;
    $("view").replaceChildren(view);
    document.title = `${result.text} · attend look`;
    document.body.dataset.ready = String(mine);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

// Arrows go through layers and heads of the attention at hand; [ and ] through tokens.
function key(event) {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const here = model.attention.filter(a => a.stack === state.stack && a.kind === state.kind);
  if (!here.length || !["heads", "steps", "map"].includes(state.view)) return;
  const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
  const token = { "[": -1, "]": 1 }[event.key];
  if (move) {
    event.preventDefault();
    set({ layer: Math.max(0, Math.min(here.length - 1, state.layer + move[0])),
          head: Math.max(state.view === "heads" ? -1 : 0, Math.min(here[0].heads - 1, state.head + move[1])) });
  } else if (token) set({ token: Math.max(0, state.token + token) });
}

function theme(name) {
  document.documentElement.dataset.theme = name;
}
const preferred = matchMedia("(prefers-color-scheme: dark)");
theme(preferred.matches ? "dark" : "light");
preferred.addEventListener("change", () => { theme(preferred.matches ? "dark" : "light"); draw(); });
$("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); draw(); });

$("model").textContent = `${model.name} · ${model.config.model_type} · ${(model.parameters / 1e6).toFixed(1)} M parameters` + (exported ? " · exported" : "");
$("form").addEventListener("submit", event => {
  event.preventDefault();
  set({ text: $("text").value, token: 0, prefix: "", step: 0, masked: "" });
});
if (exported) { $("text").readOnly = true; $("go").hidden = true; }
addEventListener("keydown", key);
addEventListener("hashchange", () => { readAddress(); draw(); });
readAddress();
if (!transformer && !location.hash) state.view = "heads";
onChange(draw);
draw();
