// Numbers as bars around zero, in the colours of the legend: blue below, orange above. What a mask hides is hatched.
import { h, short } from "look/draw";

// Three cells of a grid of class rows: name, bar, number. masked: the word that stands where the number would; shares, which
// have no sign, begin at the left.
export function barRow(name, x, most, { masked = "", share = false } = {}) {
  const bar = h("div", { class: "signed" + (share ? " share" : "") + (masked ? " masked" : ""), "data-value": masked ? null : x });
  if (!masked) {
    const part = h("i", { class: x < 0 ? "below" : "above" });
    part.style.width = (share ? 100 : 50) * Math.min(1, Math.abs(x) / (most || 1)) + "%";
    bar.append(part);
  }
  return [h("span", { class: masked ? "quiet" : "" }, short(name)), bar, h("span", { class: "number" }, masked || x.toFixed(4))];
}
