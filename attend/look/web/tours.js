// What the tour says, for every kind of model. A stop has a title, a text, the state that it sets and the part of the page
// that it points at; prove() returns a sentence that the model itself has to confirm, computed when the stop opens.
import { easiest, find, inspect, matrix, model, sentences, set, shelf, state } from "look/state";
import { shown } from "look/draw";
import { roleOf } from "look/roles";

const quoted = piece => `‘${shown(piece)}’`;
const top = row => row.reduce((best, w, i) => w > row[best] ? i : best, 0);
const step = name => `[data-step="${name}"]`;

// Of all tokens but the marks at the ends, the one whose row in this head is the most decided.
function sharpest(weights) {
  const peaks = weights.map(row => Math.max(...row)), inner = peaks.slice(0, -1);
  return inner.length ? top(inner) : 0;
}

// The stops from query to feed-forward, for one token of one head.
function walkStops(walk, token, seen, weight) {
  return [
    { title: "Query, key, value", state: walk, mark: step("q"),
      text: `Three projections of the vector: the query says what ${quoted(token)} asks for, a key what a token offers, a value what it gives. The names of files are links to the line of code that computed it.` },
    { title: "Scores", state: walk, mark: step("scores"),
      text: "The dot product of the query with every key is a score. Orange bars are above zero, blue below. The scores are divided by the square root of the head’s width." },
    { title: "Softmax", state: walk, mark: step("softmax"),
      text: `Softmax turns scores into weights: exp of each, divided by the sum of all. The largest is ${weight.toFixed(4)}, on ${quoted(seen)}: the number in the figure before.` },
    { title: "The mix", state: walk, mark: step("weights·v"),
      text: "The output of the head is the average of the values, weighted by attention. The outputs of all heads are concatenated and projected once more (W_O)." },
    { title: "Add, norm, feed-forward", state: walk, mark: step("hidden"),
      text: "The result is added to the token’s vector: the residual stream. Then a feed-forward network works on each token alone, and its result is added too. That is one layer." },
  ];
}

// Positions: two sentences of the same words. The model says itself whether it can tell them apart.
const pair = () => sentences.find(one => one.swapped);
function positionStop(mark = "#places") {
  const two = pair();
  return { title: "Positions", state: { view: "positions", ...(two ? { text: two.text } : {}) }, mark: two ? ".orders" : mark,
    text: "Attention has no notion of order. So every position has a vector of its own, which is added to the token’s vector.",
    prove: two && (async () => {
      const [a, b, c, d] = await Promise.all([{ text: two.text }, { text: two.swapped }, { text: two.text, ablation: { positions: false } }, { text: two.swapped, ablation: { positions: false } }].map(inspect));
      return `With positions “${two.text}” becomes “${a.text}” and “${two.swapped}” becomes “${b.text}”. Without them both are the same bag of words: “${c.text}”${c.text === d.text ? ", twice" : ` and “${d.text}”`}.`;
    }) };
}

// Ablation: the head whose loss changes the answer most, found by switching each of them off.
const words = text => text.toLowerCase().split(/[\s'’]+/).filter(Boolean);
const kept = (a, b) => words(a).filter(word => words(b).includes(word)).length / Math.max(1, words(a).length, words(b).length);
let broken = null;
async function breaking(text, result) {
  if (broken?.text === text) return broken;
  const wanted = result.attention.some(a => a.kind === "cross") ? a => a.kind === "cross" : () => true;
  const all = model.attention.filter(wanted).flatMap(a => Array.from({ length: a.heads }, (_, head) => ({ stack: a.stack, kind: a.kind, layer: a.layer, head }))).slice(0, 24);
  const changed = await Promise.all(all.map(one => inspect({ text, ablation: { heads: [{ ...one, scale: 0 }] } })));
  const worst = top(changed.map(other => other.text === result.text ? -1 : 1 - kept(result.text, other.text)));
  return broken = { text, at: all[worst], answer: changed[worst].text, name: ({ stack, kind, layer, head }) => `${stack} ${kind} ${layer} ${head}=0` };
}
function ablationStop(home, result, text, more = null) {
  return { title: "Without one head", state: { view: "ablate", text: home, heads: "", layers: "", masked: "", order: 1 }, mark: "#ablated", text, more,
    prove: async () => {
      const { at, answer, name } = await breaking(home, result), role = roleOf(find(result, at), at.head);
      if (state.heads !== name(at)) set({ heads: name(at) });
      return answer === result.text ? "For this sentence no single head decides: the others make up for it."
        : `Layer ${at.layer + 1}, head ${at.head + 1}${role ? ` (${role.name})` : ""} matters most here: without it “${result.text}” becomes “${answer}”.`;
    } };
}

function translationTour(result, home) {
  const read = easiest(result, a => a.stack === "encoder") || {}, cross = easiest(result, a => a.kind === "cross");
  const own = easiest(result, a => a.stack === "decoder" && a.kind === "self");
  const source = result.source.pieces, target = result.target.pieces, tokens = source.slice(0, -1).map(shown);
  const reading = matrix(find(result, read), read.head), token = sharpest(reading), seen = top(reading[token]);
  const writing = matrix(find(result, cross), cross.head), written = sharpest(writing), looked = top(writing[written]);
  const layers = Math.max(...model.attention.filter(a => a.stack === "encoder").map(a => a.layer)) + 1, role = roleOf(find(result, read), read.head);
  const walk = { view: "steps", ...read, token }, first = result.steps[written];
  const last = { ...cross, layer: Math.max(...model.attention.filter(a => a.kind === "cross").map(a => a.layer)) };
  return [
    { title: "One sentence, from end to end", state: { view: "map", ...cross, focus: -1 }, mark: ".words-card",
      text: `“${home}” becomes “${result.text}”. The curves are attention between the words. The encoder reads the sentence, the decoder writes the translation. We follow the sentence through both.` },
    { title: "Tokens", state: { view: "map" }, mark: ".stack.encoder > p",
      text: `The text is split into ${source.length} tokens: ${tokens.join(" · ")}, and an end token. Each becomes a vector of ${model.config.width ?? model.config.d_model ?? "some hundred"} numbers, its embedding.` },
    positionStop(),
    { title: "A head that is easy to read", state: { view: "heads", ...read, focus: -1 }, mark: ".pair",
      text: `The encoder’s layer ${read.layer + 1}, head ${read.head + 1}${role ? ` (${role.name})` : ""}: the clearest of its heads for this sentence. Each token (left, or down) attends to tokens of the same sentence (right, or across). Thick or dark is much.` },
    { title: "One token attends", state: { view: "heads", ...read, focus: token }, mark: ".values",
      text: `${quoted(source[token])} attends to ${quoted(source[seen])} with weight ${reading[token][seen].toFixed(2)}. The weights of a row sum to 1: each output is a weighted average of the sentence. Where do the weights come from?` },
    ...walkStops(walk, source[token], source[seen], reading[token][seen]),
    { title: "Layers on layers", state: { view: "map" }, mark: ".stack.encoder",
      text: `The same ${layers} times. The output of the last layer, one vector for each token, is all that the decoder reads of the sentence.` },
    { title: "Masked self-attention", state: { view: "heads", ...own, focus: -1 }, mark: ".pair",
      text: "While it writes, the decoder attends to the tokens written so far and never to later ones: the upper right of the matrix is masked." },
    { title: "Cross-attention", state: { view: "heads", ...cross, focus: written }, mark: ".pair",
      text: `To write ${quoted(target[written])} the decoder attends to ${quoted(source[looked])} (${writing[written][looked].toFixed(2)}). Nobody taught it this alignment. Keys ← → show the other heads.` },
    { title: "A number for every word", state: { view: "steps", ...last, token: written, temperature: 1, topk: 0 }, mark: step("logits"),
      text: `The last vector is multiplied with the embeddings of all ${model.vocabulary} tokens of the vocabulary: the logits. ${first.candidates[0].id === result.target.ids[written] ? `The largest is that of ${quoted(target[written])}, which was written.` : `The largest is that of ${quoted(first.candidates[0].text)}; beam search chose ${quoted(target[written])}, because of what follows.`}` },
    { title: "Softmax over words", state: { view: "steps", ...last, token: written }, mark: step("softmax over words"),
      text: `Softmax again: ${quoted(target[written])} has probability ${first.probability.toFixed(4)}. Move the temperature: a low one favours the likeliest word, a high one gives the others a chance. Top-k drops all but k.` },
    { title: "Word after word", state: { view: "generate", step: Math.min(written, result.steps.length - 1), prefix: "" }, mark: ".card",
      text: "The chosen token is the next input. Click another candidate, and the model continues from there. Below is the tree of beam search." },
    ablationStop(home, result, "Is a head important? Switch it off and compare: heads, layers, tokens and positions can all be removed.", shelf.models.some(m => m.name === "reverse-transformer") ? ["What was there before attention? Three networks, side by side", "model=reverse-transformer&view=compare"] : null),
  ].map(stop => ({ ...stop, state: { text: home, ...stop.state } }));
}

function textTour(result, home) {
  const writes = model.kind === "language-model", at = easiest(result), rows = matrix(find(result, at), at.head), pieces = [...result.source.pieces, ...(writes ? result.target.pieces : [])];
  const token = sharpest(rows), seen = top(rows[token]), role = roleOf(find(result, at), at.head), first = result.steps[0], named = { "masked-lm": "Fill", classification: "Answer", tagging: "Answer", answering: "Answer", "language-model": "Generate" }[model.kind];
  return [
    { title: "One text, through one model", state: { view: "map", ...at, focus: -1 }, mark: ".words-card",
      text: `“${home}” has ${result.source.pieces.length} tokens. The curves are the attention of one head between them${role ? `: ${role.words}` : ""}.` },
    { title: "Every head has a job", state: { view: "map" }, mark: ".model-card",
      text: "The label of a head names the pattern with the most weight: previous token, next token, same word, or a token that collects weight nobody needs, such as [CLS]. Point at a head to see it between the words." },
    ...(model.positions ? [positionStop()] : []),
    { title: "One token attends", state: { view: "heads", ...at, focus: token }, mark: ".values",
      text: `${quoted(pieces[token])} attends to ${quoted(pieces[seen])} with weight ${rows[token][seen].toFixed(2)}. The weights of a row sum to 1.${writes ? " Later tokens are masked: the model writes from left to right." : " The model reads in both directions."}` },
    ...(model.layers ? walkStops({ view: "steps", ...at, token }, pieces[token], pieces[seen], rows[token][seen]) : []),
    ...(named && first ? [{ title: writes ? "Token after token" : "The answer", state: { view: "generate", step: 0, prefix: "" }, mark: ".card",
      text: `${writes ? "The model continues the text with the likeliest token" : "The last layer turns vectors into candidates"}: ${first.candidates.slice(0, 3).map(one => `${quoted(one.text)} ${one.probability.toFixed(2)}`).join(", ")}. Click another candidate to try it.` }] : []),
    ...(model.layers ? [ablationStop(home, result, "Is a head important? Switch it off and compare. Hide a token the same way.")] : []),
  ].map(stop => ({ ...stop, state: { text: home, ...stop.state } }));
}

const labelled = result => result.labels?.length ? `${result.labels[0].text} (${(100 * result.labels[0].probability).toFixed(0)} %)` : "a vector";
const fooled = () => model.samples.find(name => name.startsWith("fooled"));
const fooledStop = (view, text) => fooled() ? [{ title: "A mistake", state: { view, image: fooled() }, mark: "#translation", page: true, text }] : [];

function imageTour(result, home) {
  const here = { image: home, query: -1 }, last = model.attention.length - 1;
  return [
    { title: "An image becomes patches", state: { ...here, view: "image", head: -1 }, mark: ".plain-image",
      text: `A model of images sees ${model.patches[0]} × ${model.patches[1]} patches. Each patch becomes one vector, as a word does in a text. Here the model answers: ${labelled(result)}.` },
    ...(model.attention.length ? [{ title: "Attention over the image", state: { ...here, view: "image", layer: last, head: -1 }, mark: ".seen",
      text: `The colours are the weights of the last layer, all heads averaged${model.attention[last].tokens ? ", from the class token: the vector that becomes the label" : ""}. Point at a patch to see where it attends. The slider changes the opacity.` },
    { title: "Every head of every layer", state: { ...here, view: "image", layer: 0, head: 0 }, mark: ".wide",
      text: "Heads of the first layers attend near by, later ones to what belongs together. Click one." },
    { title: "Rollout", state: { ...here, view: "rollout" }, mark: ".columns",
      text: "After some layers every vector is a mixture of many patches. Rollout multiplies the attention of all layers, so it refers to the patches of the image itself." }] : []),
    ...(model.positions ? [{ title: "Positions", state: { ...here, view: "positions" }, mark: ".card",
      text: "Nobody told the model that patches form a grid. Its learned positions show it: each is most similar to its neighbours." }] : []),
    { title: "Hide a patch", state: { ...here, view: "ablate", masked: String(Math.floor(model.patches[0] / 2) * model.patches[1] + Math.floor(model.patches[1] / 2)) }, mark: "#ablated",
      text: "A patch in the middle is hidden. The labels are shown beside the original. Hide more until the answer changes." },
    ...fooledStop(model.attention.length ? "image" : "ablate", "This sample is chosen because the model is wrong. Compare its attention with that of the right ones: often the background decides."),
  ];
}
const detectionTour = (result, home) => {
  const here = { view: "objects", image: home, focus: -1, kind: "cross", stack: "decoder", layer: 99, head: -1 }, one = result.boxes[0];
  return [
    { title: "Queries find objects", state: { ...here, query: -1 }, mark: ".seen",
      text: `${model.queries} learned queries read the image; each answers with a label and a box, or with “no object”. Here: ${result.text || "nothing"}.` },
    { title: "Attention of one query", state: { ...here, query: one.query }, mark: ".seen",
      text: `The query that found “${one.text}” (${one.score.toFixed(2)}) attends to the coloured places. Click another box.` },
    { title: "All of them", state: { ...here, query: -1 }, mark: ".tiles",
      text: "Queries attend to the edges and ends of their object, because these decide the box." },
    { title: "The encoder separates objects", state: { ...here, kind: "self", stack: "encoder", query: -1, focus: Math.floor((one.box[1] + one.box[3] / 2) * result.grid[0]) * result.grid[1] + Math.floor((one.box[0] + one.box[2] / 2) * result.grid[1]) }, mark: ".seen",
      text: "From a point inside an object the encoder attends to the rest of it. Click another point." },
    { title: "Matching", state: { ...here, query: one.query }, mark: ".candidates",
      text: "In training every object is matched to exactly one query, so that all pairs together cost least. All other queries learn “no object”. Therefore no box is found twice." },
    ...fooledStop("objects", "This image is no scene of the kind it was trained on. The model still finds its own shapes in it."),
  ];
};
const captionTour = (result, home) => {
  const here = { view: "sentence", image: home }, word = result.tokens.findIndex((piece, i) => i > 1 && piece.trim().length > 2);
  return [
    { title: "A caption, word by word", state: { ...here, focus: -1 }, mark: ".words", text: `The model writes “${result.text}”, one word after another.` },
    ...(result.attention.length ? [{ title: "Every word attends to the image", state: { ...here, focus: -1 }, mark: ".captioned", text: "One map for each word: the regions that the model attended to before it wrote the word." },
    { title: "One word", state: { ...here, focus: Math.max(0, word) }, mark: ".columns", text: `The map of ${quoted(result.tokens[Math.max(0, word)])}, large, and the words it might have written instead.` }] : []),
    ...fooledStop("sentence", "A cat is not in its training data as often as dogs are. The caption shows what the model expects, not what it sees."),
  ];
};
const drawingTour = () => [
  { title: "Images from noise", state: { view: "drawings" }, mark: ".drawings", text: "Each image is generated from random numbers and a class. A column has the same noise, so it shows what the class changes." },
  { title: "Mode collapse", state: { view: "drawings", seed: 2 }, mark: ".drawing-row", text: "A generator that makes nearly the same image from all noise suffers from mode collapse. Compare the images of a row, and try other seeds." },
  ...(model.attention.length ? [{ title: "Attention inside the generator", state: { view: "where", query: 27 }, mark: ".seen", text: "While it generates, a place attends to other places of the image. So distant parts fit each other. Point at a place." }] : []),
  { title: "Between two images", state: { view: "walk" }, mark: ".card", text: "Interpolating between two noise vectors changes the image smoothly: the generator has learned more than single images." },
];

export function stopsOf(result, home) {
  if (model.kind === "translation" && model.layers) return translationTour(result, home);
  if (model.kind === "image") return imageTour(result, home);
  if (model.kind === "detection") return detectionTour(result, home);
  if (model.kind === "caption") return captionTour(result, home);
  if (model.kind === "drawing") return drawingTour();
  return textTour(result, home);
}
