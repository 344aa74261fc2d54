// Marian's translation models on the inputs of a folder under verification.
#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/catalogue/marian.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

void put_attention(VerifyCase& verified, const view::Collector& collector, const models::TransformerConfig& config) {
  for (std::int64_t layer = 0; layer < config.encoder_layers; ++layer)
    verified.put_attention(collector, fmt::format("encoder.layers.{}.self_attn", layer),
                           fmt::format("encoder_attention.{}", layer));
  for (std::int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    verified.put_attention(collector, fmt::format("decoder.layers.{}.self_attn", layer),
                           fmt::format("decoder_attention.{}", layer));
    verified.put_attention(collector, fmt::format("decoder.layers.{}.multihead_attn", layer),
                           fmt::format("cross_attention.{}", layer));
  }
}

// The embedded texts outside of any pass, so that another can ask for their gradient.
Tensor embedded(const VerifyCase& verified, const models::Transformer& model, const nn::Sequences& texts,
                models::Transformer::Side side) {
  Pass pass(verified.backend);
  const Tensor states = model.embed(texts.in(pass), side);
  Tensor copy = make_tensor(verified.backend, states.shape(), states.dtype());
  upload(copy, download(states));
  return copy;
}

// What the loss asks of every tensor of the file; a parameter may be several of them, of equal height. What it asks of
// the embedded texts is added to the table by hand: transformers leaves out the row of padding there (padding_idx),
// which is also the row of the start token.
void put_gradients(VerifyCase& verified, const models::Transformer& model, nn::Parameters& parameters,
                   const nn::Sequences& target, const Tensor& labels, std::int32_t pad) {
  using Side = models::Transformer::Side;
  const nn::Sequences source = verified.texts(model.vocabulary());
  Pass pass(verified.backend, {.recording = true});
  parameters.start_gradients();
  const nn::Sequences read = source.in(pass), written = target.in(pass);
  const Tensor inputs[] = {pass.variable(embedded(verified, model, source, Side::source)),
                           pass.variable(embedded(verified, model, target, Side::target))};
  const Tensor memory = model.encode(inputs[0], mask_between(read, read));
  const Tensor states =
      model.decode(inputs[1], {.mask = causal_mask(written), .memory = {memory, {}, mask_between(written, read)}});
  pass.backward(model.loss(states, pass.input(labels), {}).mean);
  parameters.finish_gradients();
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    std::vector<float> whole = download(gradient_of(entry.parameter->value));
    if (entry.name == "embedding.weight")
      for (int side = 0; side < 2; ++side) {
        const auto width = static_cast<std::size_t>(model.settings().width);
        const float scale = model.settings().scaled_embeddings ? std::sqrt(static_cast<float>(width)) : 1.0f;
        const std::vector<std::int32_t> ids = download_ints(side ? target.ids : source.ids);
        const std::vector<float> rows = download(gradient_of(inputs[side]));
        for (std::size_t i = 0; i < rows.size(); ++i)
          if (const std::int32_t id = ids[i / width]; id != pad)
            whole[static_cast<std::size_t>(id) * width + i % width] += scale * rows[i];
      }
    const std::vector<std::string> names = catalogue::marian_names(entry);
    const std::size_t size = whole.size() / names.size();
    const Shape& all = entry.parameter->shape;
    const std::int64_t height = all[0] / static_cast<std::int64_t>(names.size());
    const Shape shape = all.rank() == 1 ? Shape{height} : Shape{height, all[1]};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(i * size);
      if (verified.wants("grad." + names[i]))
        verified.keep("grad." + names[i], {shape, {begin, begin + static_cast<std::ptrdiff_t>(size)}});
    }
  }
}

void put_search(VerifyCase& verified, const models::Transformer& model, const VerifyCase::Search& search) {
  const nn::Sequences texts = verified.texts(model.vocabulary());
  verified.put_written(search, texts.ids.dim(0), model.max_length() + 1,
                       [&](Pass& pass, std::int64_t group) { return model.start(pass, texts.in(pass), group); });
}

}  // namespace

void run_marian_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  const std::string& architecture = described.architecture;
  check(architecture == "MarianMTModel", "verify: {} has the architecture '{}'; known is MarianMTModel",
        verified.config_name(), architecture);
  models::TransformerConfig config = catalogue::marian_config(verified.config, verified.config_name());
  config.dropout = config.attention_dropout = 0;
  models::Transformer model(config);
  nn::Parameters parameters(verified.backend, model, verified.parameters);
  model.place(verified.backend, verified.dtype);
  catalogue::load_marian_weights(checkpoint::open_weights(verified.folder), parameters);
  view::Collector collector;
  Pass pass(verified.backend, {.probe = &collector});
  const nn::Sequences read = verified.texts(model.vocabulary()).in(pass);
  verified.put("encoder_last",
               model.encode(model.embed(read, models::Transformer::Side::source), mask_between(read, read)));
  if (verified.wants("decoder_input_ids")) {
    const nn::Sequences target{verified.ids("decoder_input_ids", model.vocabulary())};
    verified.put("logits", model.logits(model.decode(read, target.in(pass))));
  }
  if (verified.wants("labels")) {
    const auto start = verified.token("decoder_start_token_id", model.vocabulary()),
               pad = verified.token("pad_token_id", model.vocabulary());
    check(start && pad, "verify: {} lacks decoder_start_token_id or pad_token_id", verified.config_name());
    const Tensor labels = verified.labels("labels", model.vocabulary());
    check(labels.rank() == 2 && labels.dim(0) == read.ids.dim(0), "{}: labels are {}, but input_ids {}",
          verified.expected.source(), labels.shape(), read.ids.shape());
    const nn::Sequences target = verified.behind_start(labels, *start, *pad);
    verified.put("loss", model.loss({read, target.in(pass), pass.input(labels)}, {}).mean);
    verified.put("logits", model.logits(model.decode(read, target.in(pass))));
    if (verified.wants_gradients()) put_gradients(verified, model, parameters, target, labels, *pad);
  }
  put_attention(verified, collector, config);
  for (const VerifyCase::Search& search : verified.searches(config.vocabulary)) put_search(verified, model, search);
}

}  // namespace attend::verify
