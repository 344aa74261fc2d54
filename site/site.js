// The search box of every page, the sentence on the front page, and the copy that is kept for use without a network.
const root = new URL(document.documentElement.dataset.root, location.href);
navigator.serviceWorker?.register(new URL("offline.js", root)).catch(() => {});

// Search: every word must occur in a section; titles count most.
const query = document.getElementById("query"), found = document.getElementById("found");
let sections = null;
query?.addEventListener("focus", () => sections ??= fetch(new URL("search.json", root)).then(answer => answer.json()), { once: true });
query?.addEventListener("input", async () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length ? (await (sections ??= fetch(new URL("search.json", root)).then(answer => answer.json()))).map(section => {
    const title = section.title.toLowerCase(), text = section.text.toLowerCase();
    return { section, score: words.every(word => title.includes(word) || text.includes(word)) ? words.reduce((sum, word) => sum + (title.includes(word) ? 10 : 0) + Math.min(5, text.split(word).length - 1), 1) : 0 };
  }).filter(hit => hit.score).sort((a, b) => b.score - a.score).slice(0, 8) : [];
  found.replaceChildren(...hits.map(({ section }) => {
    const at = Math.max(0, section.text.toLowerCase().indexOf(words[0]) - 30), link = document.createElement("a"), excerpt = document.createElement("small");
    link.href = new URL(section.address, root), link.textContent = section.title, excerpt.textContent = section.text.slice(at, at + 110);
    link.append(excerpt);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
});
query?.addEventListener("keydown", event => { if (event.key === "Escape") query.value = "", found.replaceChildren(); });

// The sentence: the worker of the page in look/ translates it.
const live = document.getElementById("live"), answer = document.getElementById("answer"), sentence = document.getElementById("sentence");
let worker = null, count = 0;
if (live) live.querySelector("button").disabled = false;  // before, a press would only open the page anew
live?.addEventListener("submit", event => {
  event.preventDefault();
  const id = ++count, text = sentence.value;
  if (!worker) answer.textContent = "loading …";
  worker ??= new Worker(new URL("look/worker.js", root));
  worker.onmessage = ({ data }) => {
    if (data.total) answer.textContent = `loading the model: ${Math.round(100 * data.loaded / data.total)} %`;
    if (data.id !== count) return;
    const said = JSON.parse(new TextDecoder().decode(data.body));
    if (data.fatal) worker.terminate(), worker = null;  // the next sentence starts another one
    answer.textContent = data.status === 200 ? `→ ${said.text}` : said.error;
    document.getElementById("inside").href = `look/#model=en-fr&text=${encodeURIComponent(text)}`;
  };
  worker.onerror = event => { worker = null, answer.textContent = `attend.wasm cannot run here: ${event.message || "the worker ended"}`; };
  worker.postMessage({ id, method: "POST", path: "/api/inspect", type: "application/json", body: JSON.stringify({ text, beams: 4 }) });
});
