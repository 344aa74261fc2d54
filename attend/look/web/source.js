// The lines of attend that compute what a walk shows: a link opens the file over the page, with the line marked.
import { exported, set, state } from "look/state";
import { h } from "look/draw";

// line: its number, or words that stand in it.
export const sourceLink = (file, line, text = Number(line) ? `${file}:${line}` : file) => exported ? h("code", {}, text)
  : h("a", { class: "source", href: "#", title: "shows the file with this line", "data-source": `${file}:${line}`,
    onclick: event => { event.preventDefault(); set({ source: `${file}:${line}` }); } }, text);

const panel = h("section", { id: "source", role: "dialog", "aria-label": "source", hidden: "" });
document.body.append(panel);
const close = () => set({ source: "" });
addEventListener("keydown", event => { if (event.key === "Escape" && state.source) close(); });

let shown = "";
export async function showSource() {
  if (shown === state.source) return;
  shown = state.source;
  panel.hidden = !shown;
  if (!shown) return;
  const [, file, place] = /^(.*?)(?::(.+))?$/.exec(shown), wanted = shown, title = h("strong", {}, file);
  const head = h("header", {}, title, h("button", { class: "plain", onclick: close, title: "Esc" }, "close"));
  const answer = exported || !/^attend\/[a-z0-9_/]+\.(cpp|h)$/.test(file) ? null : await fetch("./" + file);
  if (wanted !== shown) return;
  if (!answer || !answer.ok) return panel.replaceChildren(head, h("p", { class: "note" }, "This file is not in the page."));
  const texts = (await answer.text()).replace(/\n$/, "").split("\n"), line = Number(place) || texts.findIndex(text => place && text.includes(place)) + 1;
  if (line) title.textContent = `${file}, line ${line}`;
  const lines = texts.map((text, i) =>
    h("div", { class: i + 1 === line ? "line here" : "line", "data-line": i + 1 }, text || " "));
  panel.replaceChildren(head, h("pre", {}, ...lines));
  panel.querySelector(".here")?.scrollIntoView({ block: "center" });
}
