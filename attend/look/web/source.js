// The lines of attend that compute what a walk shows: a link opens the file over the page, with the line marked.
import { exported, set, state } from "look/state";
import { h } from "look/draw";

export const sourceLink = (file, line) => exported ? h("code", {}, `${file}:${line}`)
  : h("a", { class: "source", href: "#", title: "shows the file with this line", "data-source": `${file}:${line}`,
    onclick: event => { event.preventDefault(); set({ source: `${file}:${line}` }); } }, `${file}:${line}`);

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
  const [, file, line] = /^(.*?)(?::(\d+))?$/.exec(shown), wanted = shown;
  const head = h("header", {}, h("strong", {}, line ? `${file}, line ${line}` : file), h("button", { class: "plain", onclick: close, title: "Esc" }, "close"));
  const answer = exported || !/^attend\/[a-z0-9_/]+\.(cpp|h)$/.test(file) ? null : await fetch("/" + file);
  if (wanted !== shown) return;
  if (!answer || !answer.ok) return panel.replaceChildren(head, h("p", { class: "note" }, "This file is not in the page."));
  const lines = (await answer.text()).replace(/\n$/, "").split("\n").map((text, i) =>
    h("div", { class: i + 1 === Number(line) ? "line here" : "line", "data-line": i + 1 }, text || " "));
  panel.replaceChildren(head, h("pre", {}, ...lines));
  panel.querySelector(".here")?.scrollIntoView({ block: "center" });
}
