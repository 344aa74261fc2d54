// What is wider than the page is scrolled: where there is more, its edge fades, so that nobody takes a part for the whole.
const watched = new WeakSet();

function mark(box) {
  const more = box.scrollWidth - box.clientWidth;
  box.classList.toggle("more-right", more > 2 && box.scrollLeft < more - 2);
  box.classList.toggle("more-left", more > 2 && box.scrollLeft > 2);
}
const sizes = new ResizeObserver(entries => entries.forEach(entry => mark(entry.target.matches(".figure, nav, .scrolled") ? entry.target : entry.target.parentElement)));

export function hint(root) {
  for (const box of root.querySelectorAll(".figure, nav, .scrolled")) {
    if (watched.has(box)) continue;
    watched.add(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
    sizes.observe(box);
    if (box.firstElementChild) sizes.observe(box.firstElementChild);
  }
}
