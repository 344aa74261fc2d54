// What the page's words mean, one list; on the page they are underlined with dots and explained under the mouse, or when
// they get the focus.
import { h } from "look/draw";

export const glossary = {
  "token": "A piece of text that the model reads or writes as one: a word, part of a word, a character.",
  "tokens": "Pieces of text that the model reads or writes as one: words, parts of words, characters.",
  "embedding": "The vector that stands for a token, learned with the model.",
  "position": "Where a token stands. Attention itself does not know, so a vector for the place is added to the token's.",
  "positions": "Where tokens stand. Attention itself does not know, so a vector for the place is added to each token's.",
  "encoder": "The stack of layers that reads: every token may look at every other.",
  "decoder": "The stack of layers that writes, one token after another; each looks only at what stands before it.",
  "attention": "For each token a weighted mean over others. The weights say where it looks; they sum to 1.",
  "self-attention": "Attention of a sentence to itself: queries, keys and values come from the same tokens.",
  "masked self-attention": "Self-attention in which no token sees those after it, so that writing cannot look ahead.",
  "cross-attention": "Attention of what is written to what was read: queries from the decoder, keys and values from the encoder.",
  "head": "One attention of several that work side by side in a layer, each with projections of its own.",
  "heads": "The attentions that work side by side in a layer, each with projections of its own.",
  "layer": "Attention and a feed-forward network, each with a residual sum and a norm. Layers stand on each other.",
  "query": "What a token asks for: q = W_Q x. Of a DETR: a learned vector that may find one object.",
  "key": "What a token offers to be found by: k = W_K x.",
  "value": "What a token gives when it is looked at: v = W_V x.",
  "score": "How well a query fits a key: their dot product. Of an answer: its log-probability, divided by a power of its length.",
  "mask": "What hides tokens: their scores become −∞ and their weights 0.",
  "softmax": "exp of each number, divided by the sum of all: positive numbers that sum to 1.",
  "logits": "One number for every word of the vocabulary, before softmax makes probabilities of them.",
  "temperature": "The logits are divided by it before softmax: below 1 the likeliest word gains, above 1 the others do.",
  "top-k": "Only the k likeliest words may be drawn; the others get probability 0.",
  "residual stream": "The vector of a token that passes all layers. Each sublayer reads it and adds to it.",
  "feed-forward": "Two projections with an activation between them, on each token alone.",
  "norm": "Layer norm: a vector less its mean, divided by its standard deviation, scaled and moved by learned numbers.",
  "beam search": "Writing with several beginnings kept at a time: the best few of all their continuations go on.",
  "vocabulary": "All tokens that the model knows.",
  "permutation equivariant": "Moving the inputs moves the outputs the same way and changes nothing else.",
  "bag of words": "Which words there are, without their order.",
  "recurrent": "Reading one token after another into a state, as RNNs do.",
  "patch": "A small square of an image. A Vision Transformer turns each into one vector, as if it were a word.",
  "patches": "Small squares of an image. A Vision Transformer turns each into one vector, as if it were a word.",
  "class token": "A learned vector put in front of the patches. What it has collected after the last layer decides the label.",
  "rollout": "The attention of all layers multiplied, so that it refers to the patches of the image (Abnar & Zuidema 2020).",
  "queries": "Vectors that ask. Those of attention come from tokens (q = W_Q x); those of a DETR are learned, and each may find one object.",
  "matching": "Each true object is assigned to exactly one query of a DETR, so that all pairs together cost least (the Hungarian algorithm).",
  "mode collapse": "A generator that makes nearly the same image from all noise: it fools the discriminator with a few images only.",
  "label smoothing": "The target of training gives the right token a little less than 1 and the others the rest. It makes the model less certain.",
  "bottleneck": "The one vector through which an RNN without attention has to pass all that it knows of a sentence.",
};

const names = Object.keys(glossary).sort((a, b) => b.length - a.length);
const pattern = new RegExp(`(?<![\\p{L}-])(${names.join("|")})(?![\\p{L}-])`, "iu");
const tip = h("div", { id: "tip", role: "tooltip", hidden: "" });
document.body.append(tip);

function show(event) {
  const word = event.target, edge = word.getBoundingClientRect();
  tip.replaceChildren(h("strong", {}, word.textContent), " ", glossary[word.dataset.term]);
  tip.hidden = false;
  const width = Math.min(320, innerWidth - 24);
  tip.style.width = width + "px";
  tip.style.left = Math.max(12, Math.min(edge.left, innerWidth - width - 12)) + "px";
  const above = edge.bottom + tip.offsetHeight + 12 > innerHeight;
  tip.style.top = (above ? edge.top - tip.offsetHeight - 6 : edge.bottom + 6) + "px";
}
const hide = () => { if (!tip.hidden) tip.hidden = true; };
addEventListener("scroll", hide, { passive: true, capture: true });

// Marks the first use of each term in the running text of a view.
export function explain(root, where = "p.note, .step .quiet, h2, .kind > .quiet, .controls > label") {
  const seen = new Set();
  for (const node of root.querySelectorAll(where)) {
    if (node.querySelector("dfn")) continue;
    for (let text of [...node.childNodes].filter(child => child.nodeType === Node.TEXT_NODE))
      for (let found; text && (found = pattern.exec(text.data));) {
        const term = found[1].toLowerCase(), word = text.splitText(found.index);
        text = word.splitText(found[1].length);
        if (seen.has(term)) continue;
        seen.add(term);
        word.replaceWith(h("dfn", { tabindex: 0, "data-term": term, onmouseenter: show, onmouseleave: hide, onfocus: show, onblur: hide }, found[1]));
      }
  }
}
