// Which image: one of the samples, a file, a drop or a paste. It is sent once, and then known by its name.
import { addressOf, apiAddress, exported, model, set, state } from "look/state";
import { h } from "look/draw";
import { request, showImage } from "look/server";

const kinds = ["image/png", "image/jpeg", "image/webp"];

async function send(file) {
  if (!kinds.includes(file.type)) throw new Error(`${file.name || "that"} is no PNG, JPEG or WebP image`);
  if (file.size > model.limits.bytes) throw new Error(`the image has ${(file.size / 1048576).toFixed(0)} MB, at most ${model.limits.bytes / 1048576} are taken`);
  const response = await request(apiAddress("image"), { method: "POST", headers: { "Content-Type": file.type }, body: file });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || "the server said " + response.status);
  show(answer.image);
}
const show = image => set({ image, masked: "", query: -1 });

// fail(error) tells a person.
export function imageInput(fail) {
  if (exported) return { node: h("span"), show() {} };
  const choose = h("input", { type: "file", accept: kinds.join(","), id: "file", hidden: "", onchange: event => { if (event.target.files[0]) send(event.target.files[0]).catch(fail); event.target.value = ""; } });
  // One of them is wrong on purpose, and says so.
  const samples = model.samples.map(name => {
    const fooled = name.startsWith("fooled"), title = fooled ? `a mistake: the model is fooled by this ${name.slice(7) || "image"}` : name.replaceAll("-", " ");
    const image = h("img", { alt: title, width: 44, height: 44, class: "blocks" });
    showImage(image, addressOf(`/samples/${name}`));
    return h("button", { type: "button", class: "sample", title, "aria-label": title, "data-sample": name, onclick: () => show(name) }, image, fooled ? h("span", {}, "fooled") : null);
  });
  const first = files => [...files].find(file => file.type.startsWith("image/")) || files[0];
  addEventListener("dragover", event => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", event => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", event => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files.length) send(first(event.dataTransfer.files)).catch(fail);
  });
  addEventListener("paste", event => { if (event.clipboardData.files.length) send(first(event.clipboardData.files)).catch(fail); });
  return { node: h("div", { class: "images" }, ...samples, h("button", { type: "button", id: "choose", onclick: () => choose.click() }, "Choose an image"), choose, h("span", { class: "quiet" }, "or drop or paste one")),
    show() { samples.forEach(button => button.classList.toggle("marked", button.dataset.sample === state.image)); } };
}
