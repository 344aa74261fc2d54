#include "attend/tasks/inspect/anatomy.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/transformer.h"

namespace attend::tasks {

namespace {

Activation activation_named(const std::string& name) {
  for (const Activation kind : {Activation::gelu, Activation::gelu_tanh, Activation::silu})
    if (name == name_of(kind)) return kind;
  return Activation::relu;
}

void add_layer(Anatomy& anatomy, const std::string& stack, std::int64_t layer, std::int64_t heads) {
  const std::string name = fmt::format("{}.layers.{}", stack, layer);
  const auto attention = [&](const char* kind, const std::string& part, int norm) {
    anatomy.attention.push_back({.place = {stack, kind, layer},
                                 .heads = heads,
                                 .label = part,
                                 .input_weight = part + ".in_proj_weight",
                                 .input_bias = part + ".in_proj_bias",
                                 .output = part + ".out_proj",
                                 .norm = fmt::format("{}.norm{}", name, norm)});
  };
  const bool decoder = stack == "decoder";
  attention("self", name + ".self_attn", 1);
  if (decoder) attention("cross", name + ".multihead_attn", 2);
  anatomy.feed_forward.push_back(
      {stack, layer, name + ".linear1", name + ".linear2", name + (decoder ? ".norm3" : ".norm2")});
}

}  // namespace

const Anatomy::Attention& Anatomy::at(const AttentionPlace& place, std::int64_t head) const {
  for (const Attention& one : attention)
    if (one.place == place && head >= 0 && head < one.heads) return one;
  fail("there is no head {} of {} {} {}", head, place.stack, place.kind, place.layer);
}

const Anatomy::FeedForward& Anatomy::feed_forward_of(const std::string& stack, std::int64_t layer) const {
  for (const FeedForward& one : feed_forward)
    if (one.stack == stack && one.layer == layer) return one;
  fail("there is no layer {} {}", stack, layer);
}

Anatomy anatomy_of(const models::Seq2Seq& model) {
  Anatomy anatomy;
  const auto* transformer = dynamic_cast<const models::Transformer*>(&model);
  if (!transformer) {
    anatomy.family = "rnn";
    if (!model.alignment_label().empty())
      anatomy.attention.push_back({.place = {}, .heads = 1, .label = model.alignment_label()});
    return anatomy;
  }
  const models::TransformerConfig& config = transformer->settings();
  anatomy.family = "transformer";
  anatomy.width = config.width, anatomy.pre_norm = config.pre_norm;
  anatomy.activation = activation_named(config.activation);
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) add_layer(anatomy, "encoder", i, config.heads);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i)
    add_layer(anatomy, "decoder", i, config.decoder_heads ? config.decoder_heads : config.heads);
  // Pictures show one kind after another.
  std::stable_partition(anatomy.attention.begin(), anatomy.attention.end(),
                        [](const Anatomy::Attention& one) { return one.place.kind == "self"; });
  return anatomy;
}

Anatomy anatomy_of(const models::GPT2Config& config, const std::string& prefix) {
  Anatomy anatomy{.family = "gpt2", .width = config.width, .pre_norm = true, .input_major = true};
  anatomy.norm_eps = config.norm_eps;
  anatomy.activation = models::hugging_face_activation(config.activation, anatomy.family);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string name = fmt::format("{}h.{}.", prefix, i);
    anatomy.attention.push_back({.place = {"decoder", "self", i},
                                 .heads = config.heads,
                                 .label = models::GPT2::attention_label(i),
                                 .input_weight = name + "attn.c_attn.weight",
                                 .input_bias = name + "attn.c_attn.bias",
                                 .output = name + "attn.c_proj",
                                 .norm = name + "ln_1"});
    anatomy.feed_forward.push_back({"decoder", i, name + "mlp.c_fc", name + "mlp.c_proj", name + "ln_2"});
  }
  return anatomy;
}

Anatomy anatomy_of(const models::BertConfig& config, const std::string& prefix) {
  Anatomy anatomy{.family = "bert", .width = config.width, .norm_eps = config.norm_eps};
  anatomy.activation = models::hugging_face_activation(config.activation, anatomy.family);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const bool distilled = config.distilled();
    const std::string name = fmt::format("{}{}.layer.{}.", prefix, distilled ? "transformer" : "encoder", i);
    const std::string input = name + (distilled ? "attention.q_lin|k_lin|v_lin" : "attention.self.query|key|value");
    anatomy.attention.push_back({.place = {"encoder", "self", i},
                                 .heads = config.heads,
                                 .label = models::Bert::attention_label(i),
                                 .input_weight = input + ".weight",
                                 .input_bias = input + ".bias",
                                 .output = name + (distilled ? "attention.out_lin" : "attention.output.dense"),
                                 .norm = name + (distilled ? "sa_layer_norm" : "attention.output.LayerNorm")});
    anatomy.feed_forward.push_back({"encoder", i, name + (distilled ? "ffn.lin1" : "intermediate.dense"),
                                    name + (distilled ? "ffn.lin2" : "output.dense"),
                                    name + (distilled ? "output_layer_norm" : "output.LayerNorm")});
  }
  return anatomy;
}

}  // namespace attend::tasks
