// A training run as a film: the same noise and classes at every stop of the slider, drawn with the weights of then.
import { h } from "look/draw";

// now() is the moment under the slider, stepper(box, show) the slider.
export function drawingFilm(now, stepper) {
  const box = h("div"), images = now().examples.map(example => h("img", { class: "blocks", alt: example.text }));
  const show = () => {
    steps.update();
    now().examples.forEach((example, i) => { if (images[i]) images[i].src = example.seen; });
  };
  const steps = stepper(box, show);
  box.append(steps.node, h("div", { class: "card film" }, ...images.map((image, i) => h("figure", {}, image, h("figcaption", { class: "quiet" }, now().examples[i].text)))));
  show();
  return { box, show };
}
