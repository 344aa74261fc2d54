// The npm clients of four families against a running attend serve, unmodified: node clients_test.mjs URL PICTURE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { InferenceClient } from "@huggingface/inference";
import { libreTranslate } from "libretranslate-ts";
import OpenAI from "openai";
import translate from "translate";

const [url, picture] = process.argv.slice(2);
const expected = "Je suis étudiant.";
let failed = 0;
async function test(name, body) {
  try {
    await body();
    console.log(`ok      ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}: ${error.stack}`);
  }
}

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
await test("openai: models", async () => {
  const names = [];
  for await (const model of openai.models.list()) names.push(model.id);
  assert.ok(names.includes("bert") && names.includes("shakespeare"));
  assert.equal((await openai.models.retrieve("bert")).id, "bert");
});
await test("openai: embeddings, which it asks for in base64", async () => {
  const coded = await openai.embeddings.create({ model: "bert", input: ["a text", "another"] });
  const plain = await openai.embeddings.create({ model: "bert", input: ["a text", "another"], encoding_format: "float" });
  assert.equal(coded.data.length, 2);
  assert.equal(coded.data[0].embedding.length, 256);
  assert.deepEqual(Array.from(coded.data[1].embedding), plain.data[1].embedding.map(Math.fround));
  assert.ok(coded.usage.total_tokens > 0);
});
await test("openai: completions, whole and as a stream", async () => {
  const request = { model: "shakespeare", prompt: "ROMEO:", max_tokens: 20, seed: 5, n: 2, logprobs: 2 };
  const whole = await openai.completions.create(request);
  assert.equal(whole.choices.length, 2);
  assert.equal(whole.choices[0].logprobs.tokens.length, 20);
  const texts = ["", ""];
  let usage;
  for await (const event of await openai.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
    for (const choice of event.choices) texts[choice.index] += choice.text;
    usage ??= event.usage;
  }
  assert.deepEqual(texts, whole.choices.map(choice => choice.text));
  assert.equal(usage.completion_tokens, 40);
});
await test("openai: a stream that is left", async () => {
  const stream = await openai.completions.create({ model: "shakespeare", prompt: "ROMEO:", max_tokens: 200, stream: true });
  for await (const event of stream) {
    assert.ok(event.id);
    break;
  }
});
await test("openai: errors", async () => {
  await assert.rejects(openai.embeddings.create({ model: "nobody", input: "a" }), error => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
  await assert.rejects(openai.completions.create({ model: "shakespeare", prompt: "a", max_tokens: -1 }), OpenAI.BadRequestError);
});

const hugging = name => new InferenceClient().endpoint(`${url}/models/${name}`);
await test("@huggingface/inference: texts", async () => {
  const labels = await hugging("bert-sst2").textClassification({ inputs: "a wonderful film" });
  assert.equal(labels[0].label, "positive");
  const filled = await hugging("bert").fillMask({ inputs: "the [MASK] is red" });
  assert.equal(filled.length, 5);
  const vector = await hugging("bert").featureExtraction({ inputs: "a text" });
  assert.equal(vector.length, 256);
  const near = await hugging("bert").sentenceSimilarity({ inputs: { source_sentence: "a text", sentences: ["a text", "no"] } });
  assert.ok(near[0] > near[1]);
  const translated = await hugging("en-fr").translation({ inputs: "I am a student." });
  assert.equal((Array.isArray(translated) ? translated[0] : translated).translation_text, expected);
  const text = await hugging("shakespeare").textGeneration({ inputs: "ROMEO:", parameters: { max_new_tokens: 10 } });
  assert.ok(text.generated_text.length > 0);
});
await test("@huggingface/inference: pictures", async () => {
  const labels = await hugging("vit-cifar10").imageClassification({ data: new Blob([readFileSync(picture)], { type: "image/png" }) });
  assert.equal(labels.length, 5);
  assert.ok(labels[0].score >= labels[4].score);
});

await test("translate", async () => {
  translate.engine = "libre";
  translate.url = `${url}/translate`;
  assert.equal(await translate("I am a student.", { from: "en", to: "fr" }), expected);
});
await test("libretranslate", async () => {
  const { translate: libre } = createRequire(import.meta.url)("libretranslate");
  assert.equal(await libre({ query: "I am a student.", source: "auto", target: "fr", apiurl: url }), expected);
});
await test("libretranslate-ts", async () => {
  libreTranslate.setApiEndpoint(url);
  libreTranslate.setApiKey("none");
  assert.ok((await libreTranslate.listLanguages()).some(language => language.code === "en" && language.targets.includes("fr")));
  assert.equal((await libreTranslate.detect("Where is the station?")).language, "en");
  const answer = await libreTranslate.translate("I am a student.", "en", "fr", 2);
  assert.equal(answer.status, 200);
  assert.equal(answer.translatedText, expected);
  assert.equal(answer.alternatives.length, 2);
  assert.ok((await libreTranslate.translate("a", "en", "xx")).error);
});
await test("64 at once", async () => {
  const all = await Promise.all(Array.from({ length: 64 }, (_, i) => i % 2
    ? openai.embeddings.create({ model: "bert", input: `text ${i}` }).then(answer => answer.data[0].embedding.length === 256)
    : libreTranslate.translate("I am a student.", "en", "fr").then(answer => answer.translatedText === expected)));
  assert.ok(all.every(Boolean));
});
process.exit(failed ? 1 : 0);
