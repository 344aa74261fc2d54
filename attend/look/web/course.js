// The course: the topics of the lectures in their order. Its stops are the sections of docs/lectures.md, which the program
// carries; nothing is written twice. The browser remembers which stop one is at and which one has seen.
import { exported, set, shelf, state } from "look/state";
import { h } from "look/draw";
import { sourceLink } from "look/source";

const marks = ["Try this", "What to expect", "In the code", "In the page"];
const local = /^http:\/\/127\.0\.0\.1:8080\/#/;

// One stop: { title, blocks: [{ kind: text | commands | figure | table, .. }], and by mark what stands behind it }.
function stopOf(section) {
  const [title] = section.split("\n", 1), stop = { title: title.trim(), blocks: [] };
  for (const part of section.slice(title.length).split(/\n\s*\n/).map(one => one.trim()).filter(Boolean)) {
    const figure = /^!\[([^\]]*)\]\(images\/([^)]+)\)$/.exec(part);
    if (part.startsWith("```")) stop.blocks.push({ kind: "commands", lines: part.replace(/```\n?/g, "").trim().replace(/\\\n\s*/g, "").split("\n") });
    else if (figure) stop.blocks.push({ kind: "figure", alt: figure[1], file: figure[2] });
    else if (part.startsWith("|")) stop.blocks.push({ kind: "table", rows: part.split("\n").filter(line => !/^\|[-|]+$/.test(line)).map(line => line.slice(1, -1).split("|").map(cell => cell.trim())) });
    else for (const piece of part.replace(/\s*\n\s*/g, " ").split(new RegExp(`(?=(?:${marks.join("|")}): )`))) {
      const mark = marks.find(name => piece.startsWith(name + ": "));
      if (mark) stop[mark] = piece.slice(mark.length + 2).trim().replace(/^[a-z]/, letter => letter.toUpperCase());
      else if (piece.trim()) stop.blocks.push({ kind: "text", text: piece.trim() });
    }
  }
  return stop;
}
const asked = exported ? Promise.resolve([]) : fetch("./lectures.md").then(answer => answer.ok ? answer.text() : "").then(text => text.split(/^## /m).slice(1).map(stopOf).filter(stop => stop.blocks.some(block => block.kind === "commands" || block.kind === "table")));
export const canCourse = () => !exported && shelf.models.length > 0;
let stops = [];  // once they are there

// Which view of the page shows a stop: the address behind "In the page".
function pageOf(stop) {
  const link = /\]\(http:\/\/127\.0\.0\.1:8080\/#([^)]*)\)/.exec(stop["In the page"] || "");
  if (!link) return null;
  const model = new URLSearchParams(link[1]).get("model");
  return !model || shelf.models.some(one => one.name === model) ? link[1] : null;
}

// `code`, **bold**, *emphasis* and links as elements. A link to a source opens the line with its words; other pages of the
// documentation are not here.
function inline(text, n) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*|\[(?:`[^`]*`|[^\]])*\]\([^)]*\)|<http[^>]*>)/).filter(Boolean).map(piece => {
    const link = /^\[(.*)\]\((.*)\)$/.exec(piece);
    if (link && local.test(link[2])) return h("a", { class: "in-page", href: "#" + link[2].replace(local, "") + `&course=${n}` }, link[1]);
    if (link && link[2].startsWith("../attend/")) return sourceLink(link[2].slice(3), link[1].replace(/^`|`$/g, ""), `${link[2].slice(3)}: ${link[1].replace(/^`|`$/g, "")}`);
    if (link) return link[1].replace(/`/g, "");
    if (piece.startsWith("`")) return h("code", {}, piece.slice(1, -1));
    if (piece.startsWith("**")) return h("strong", {}, piece.slice(2, -2));
    if (piece.startsWith("*")) return h("em", {}, piece.slice(1, -1));
    return piece.replace(/^<|>$/g, "");
  });
}

// What was seen, by title, so that new stops do not move it.
const key = "attend-course";
function kept() {
  try {
    const known = JSON.parse(localStorage.getItem(key) || "{}");
    return { at: String(known.at || ""), seen: Array.isArray(known.seen) ? known.seen : [] };
  } catch { return { at: "", seen: [] }; }
}
function keep(title) {
  try {
    localStorage.setItem(key, JSON.stringify({ at: title, seen: [...new Set([...kept().seen, title])] }));
  } catch { /* a browser that keeps nothing */ }
}

function commands({ lines }) {
  const copy = line => h("button", { class: "small", "aria-label": `copy: ${line}`, onclick: event => { navigator.clipboard?.writeText(line).then(() => { event.target.textContent = "copied"; }); } }, "copy");
  return h("div", { class: "commands" }, ...lines.map(line => h("div", {}, h("code", {}, line), copy(line))));
}
const table = ({ rows }, n) => h("div", { class: "scrolled" }, h("table", { class: "orders" }, h("tr", {}, ...rows[0].map(cell => h("th", {}, ...inline(cell, n)))), ...rows.slice(1).map(row => h("tr", {}, ...row.map(cell => h("td", {}, ...inline(cell, n)))))));
const drawn = ({ kind, alt, file, text, ...more }, n) => kind === "commands" ? commands(more) : kind === "table" ? table(more, n) : kind === "text" ? h("p", {}, ...inline(text, n))
  : file.endsWith(".svg") ? h("div", { class: "scrolled course-figure" }, h("img", { src: "./" + file, alt, loading: "lazy" })) : null;

export async function courseView() {
  stops = await asked;
  if (!stops.length) return h("p", { class: "note" }, "This program carries no course.");
  const known = kept(), before = stops.findIndex(stop => stop.title === known.at);
  const n = Math.max(1, Math.min(stops.length, state.course || before + 1)), stop = stops[n - 1], go = to => set({ course: to, view: "course", tour: 0 });
  if (state.course !== n) state.course = n;
  keep(stop.title);
  const seen = new Set(kept().seen), part = (mark, title) => stop[mark] ? [h("h3", {}, title), h("p", { "data-mark": mark }, ...inline(stop[mark], n))] : [];
  const list = h("details", { class: "course-list card", open: innerWidth > 700 ? "" : null }, h("summary", {}, `${stops.filter(one => seen.has(one.title)).length} of ${stops.length} seen`),
    h("ol", {}, ...stops.map((one, i) => h("li", {}, h("button", { class: "plain" + (i + 1 === n ? " here" : ""), "aria-current": i + 1 === n ? "step" : null, onclick: () => go(i + 1) }, one.title, seen.has(one.title) && i + 1 !== n ? h("span", { class: "quiet", title: "seen" }, " ✓") : null)))));
  const page = pageOf(stop);
  return h("div", { class: "course" }, list, h("article", { class: "card", "data-stop": n },
    h("p", { class: "quiet" }, `${n} of ${stops.length}`), h("h2", {}, stop.title), ...stop.blocks.map(block => drawn(block, n)),
    ...part("Try this", "Try this"), ...part("What to expect", "What to expect"), ...part("In the code", "In the code"),
    h("div", { class: "controls" }, h("button", { id: "stop-back", disabled: n === 1 ? "" : null, onclick: () => go(n - 1) }, "← back"),
      page ? h("a", { id: "stop-page", class: "button on", href: `#${page}&course=${n}` }, "see it here") : null,
      h("button", { id: "stop-next", disabled: n === stops.length ? "" : null, onclick: () => go(n + 1) }, "next →"))));
}

// The stop that a view of the page was opened from, for the card of the tour; null: none, or the course itself is open.
export async function courseStop() {
  if (!canCourse() || !state.course || state.view === "course" || state.tour) return null;
  stops = await asked;
  const n = state.course, stop = stops[n - 1];
  if (!stop) return null;
  keep(stop.title);
  const text = stop.blocks.find(block => block.kind === "text"), next = stops[n] && (pageOf(stops[n]) || "view=course");
  return { n, count: stops.length, title: stop.title, body: [h("p", {}, ...inline(text ? text.text : "", n)), ...(stop["What to expect"] ? [h("p", { class: "proof" }, ...inline(stop["What to expect"], n))] : [])],
    open: () => set({ view: "course" }), leave: () => set({ course: 0 }), next: next ? () => { location.hash = `${next}&course=${n + 1}`; } : null };
}
