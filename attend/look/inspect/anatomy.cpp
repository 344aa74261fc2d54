#include "attend/look/inspect/anatomy.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/models/transformer.h"
#include "attend/nn/attention.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/parameter.h"

namespace attend::look {

namespace {

// Walks through a model as its visit() lists it, and writes down the sublayers it meets.
class Finder {
 public:
  Finder(Anatomy& anatomy, std::string stack) : anatomy_(anatomy), stack_(std::move(stack)) {}

  template <class Module>
  void walk(Module& module, const std::string& path) {
    module.visit([&]<class Member>(std::string_view name, Member&& member) {
      const std::string here = nn::joined_name(path, name);
      if constexpr (requires { found(member, here); }) {
        found(member, here);
      } else if constexpr (requires { member.begin(); }) {
        layer_ = 0;
        for (auto& layer : member) walk(layer, fmt::format("{}.{}", here, layer_)), ++layer_;
      } else if constexpr (requires { member.visit([](auto&&...) {}); }) {
        if (name == "encoder" || name == "decoder") stack_ = name;  // the two of a Transformer
        walk(member, here);
      }
    });
  }

 private:
  void found(const nn::SelfAttention& attention, const std::string& path) {
    anatomy_.width = attention.config().width, anatomy_.input_major = attention.config().input.input_major;
    add(attention.config(), "self", path);
  }
  void found(const nn::CrossAttention& attention, const std::string& path) { add(attention.config(), "cross", path); }
  void found(const nn::FeedForward& feed_forward, const std::string& path) {
    const nn::FeedForwardConfig& config = feed_forward.config();
    anatomy_.activation = config.activation;
    anatomy_.feed_forward.push_back({stack_, layer_, config.label, nn::joined_name(path, config.contract_name)});
  }
  void add(const nn::AttentionConfig& config, const char* kind, const std::string& path) {
    anatomy_.attention.push_back({.place = {stack_, kind, layer_},
                                  .heads = config.heads,
                                  .label = config.label,
                                  .output = nn::joined_name(path, config.output_name),
                                  .window = config.window,
                                  .query = nn::joined_name(path, config.input_name),
                                  .score = config.score});
  }

  Anatomy& anatomy_;
  std::string stack_;
  std::int64_t layer_ = 0;
};

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
  models::Transformer shape(transformer->settings());
  anatomy.family = "transformer", anatomy.pre_norm = transformer->settings().pre_norm;
  anatomy.relative = transformer->settings().positions == "relative";
  Finder(anatomy, "").walk(shape, "");
  // Images show one kind after another.
  std::stable_partition(anatomy.attention.begin(), anatomy.attention.end(),
                        [](const Anatomy::Attention& one) { return one.place.kind == "self"; });
  return anatomy;
}

Anatomy anatomy_of(const models::GPT2Config& config, const std::string& prefix) {
  Anatomy anatomy{.family = "gpt2", .pre_norm = true, .relative = config.positions == "relative"};
  models::GPT2 shape(config);
  Finder(anatomy, "decoder").walk(shape, prefix);
  return anatomy;
}

Anatomy anatomy_of(const models::BertConfig& config, const std::string& prefix) {
  Anatomy anatomy{.family = "bert"};
  models::Bert shape(config, models::Bert::Pooler::without);
  Finder(anatomy, "encoder").walk(shape, prefix);
  return anatomy;
}

Anatomy anatomy_of(std::span<const models::AttentionPlace> places, std::span<const nn::Parameters::Entry> entries) {
  Anatomy anatomy{
      .places = {places.begin(), places.end()}, .family = "vit", .pre_norm = true, .activation = Activation::gelu};
  // In the order of visit(), which is that of the layers.
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> outputs, contracts;
  for (const nn::Parameters::Entry& entry : entries) {
    const std::string_view name = entry.name;
    if (!name.ends_with(kWeight)) continue;
    const std::string path(name.substr(0, name.size() - kWeight.size()));
    if (path.ends_with(".attention.output.dense") || path.ends_with(".attn.proj")) {
      outputs.push_back(path), anatomy.width = entry.parameter->shape[0];
    } else if (path.ends_with(".output.dense") || path.ends_with(".mlp.fc2")) {
      contracts.push_back(path);
    }
  }
  const bool known = outputs.size() == places.size() && contracts.size() == places.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const std::string& label = places[i].label;
    anatomy.attention.push_back({.place = {"encoder", "self", layer},
                                 .heads = places[i].heads,
                                 .label = label,
                                 .output = known ? outputs[i] : ""});
    constexpr std::string_view kEnding = "attention";
    if (known && label.ends_with(kEnding))
      anatomy.feed_forward.push_back(
          {"encoder", layer, label.substr(0, label.size() - kEnding.size()) + "feed_forward", contracts[i]});
  }
  return anatomy;
}

}  // namespace attend::look
