#include "attend/tasks/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "attend/base/error.h"
#include "attend/models/bert_heads.h"
#include "attend/models/detr.h"
#include "attend/models/gpt2.h"
#include "attend/models/sagan.h"
#include "attend/models/text_rnn.h"
#include "attend/tasks/head.h"
#include "attend/tensor/counting_backend.h"
#include "attend/tensor/pass.h"

namespace attend::tasks {

namespace {

constexpr std::int64_t kMostCounted = std::int64_t{1} << 24;  // tokens or pixels of a side in an input
constexpr std::int64_t kPairLength = 32;  // tokens of a sentence and of its translation, where nobody says how many
constexpr std::int64_t kCaptionLength = 16;
// The size at which DETR's R50 takes the 86 GFLOPS of its paper, a mean over the images of COCO's validation set.
constexpr Extent2 kDetrSize = {800, 1130};

// A model that is there but for its memory, and the pass to be counted. The forward's result gets a gradient.
struct Counted {
  std::shared_ptr<void> model;
  std::vector<nn::Parameters::Entry> parameters = {};
  std::function<void(Backend&)> place = {};  // tables that are not trained
  std::function<Tensor(Pass&)> forward = {};
  std::string unit = "tokens";
  std::int64_t units = 0, trained = 0;
  std::string input = {};
};

std::int64_t text_length(const CostInput& input, std::int64_t longest, std::int64_t usual, const std::string& path) {
  check(input.height == 0 && input.width == 0, "{}: it reads texts; --input is LENGTH or BATCHxLENGTH", path);
  const std::int64_t length = input.length ? input.length : usual;
  check(length >= 1 && length <= longest, "{}: the model reads 1 to {} tokens, not {}", path, longest, length);
  return length;
}

Extent2 image_size(const CostInput& input, const Extent2& usual, bool any, const std::string& path) {
  check(input.length == 0, "{}: it reads images; --input is HEIGHTxWIDTH or BATCHxHEIGHTxWIDTH", path);
  if (input.height == 0) return usual;
  check(any || (input.height == usual.h && input.width == usual.w),
        "{}: the model reads images of {} x {}, not {} x {}", path, usual.h, usual.w, input.height, input.width);
  return {input.height, input.width};
}

Tensor ids_of(Pass& pass, std::int64_t batch, std::int64_t length) {
  return pass.input(make_tensor(pass.backend(), {batch, length}, DType::i32));
}
Tensor pixels_of(Pass& pass, std::int64_t batch, const Extent2& size, std::int64_t channels) {
  return pass.input(make_tensor(pass.backend(), {batch, size.h, size.w, channels}, DType::f32));
}

template <class Model>
void keep(Counted& counted, const std::shared_ptr<Model>& model, std::vector<nn::Parameters::Entry> parameters) {
  counted.model = model;
  counted.parameters = std::move(parameters);
}

void set_texts(Counted& counted, std::int64_t batch, std::int64_t length) {
  counted.units = counted.trained = batch * length;
  counted.input = fmt::format("{} x {} tokens", batch, length);
}
void set_images(Counted& counted, std::int64_t batch, const Extent2& size) {
  counted.unit = "images", counted.units = counted.trained = batch;
  counted.input = fmt::format("{} x {} x {} pixels", batch, size.h, size.w);
}

Counted count_gpt2(const catalogue::ModelConfig& config, const CostInput& input) {
  check(config.task == catalogue::Task::generate, "{}: the cost of GPT-2 is counted for language models", config.path);
  const auto model = std::make_shared<models::GPT2LanguageModel>(models::gpt2_config(config.json, config.path));
  Counted counted;
  keep(counted, model, nn::Parameters::list(*model));
  const std::int64_t longest = model->body().config().max_length, batch = input.batch,
                     length = text_length(input, longest, longest, config.path);
  counted.forward = [model, batch, length](Pass& pass) { return model->logits({.ids = ids_of(pass, batch, length)}); };
  set_texts(counted, batch, length);
  return counted;
}

// A recurrent network for text: its length is free, so the usual one is short.
Counted count_text_rnn(const catalogue::ModelConfig& config, const CostInput& input) {
  const models::TextRnnConfig settings = models::text_rnn_config(config.json, config.path);
  Counted counted;
  const std::int64_t batch = input.batch, length = text_length(input, settings.max_length,
                                                               std::min(settings.max_length, kPairLength), config.path);
  if (config.task == catalogue::Task::classify) {
    const auto model = std::make_shared<models::RnnClassifier>(settings);
    keep(counted, model, nn::Parameters::list(*model));
    counted.forward = [model, batch, length](Pass& pass) {
      return model->logits({.ids = ids_of(pass, batch, length)});
    };
  } else {
    const auto model = std::make_shared<models::RnnLanguageModel>(settings);
    keep(counted, model, model->parameters());
    counted.forward = [model, batch, length](Pass& pass) {
      return model->logits({.ids = ids_of(pass, batch, length)});
    };
  }
  set_texts(counted, batch, length);
  return counted;
}

// A body of BERT's with the head of its task.
template <class Model, class Logits>
Counted count_bert(const catalogue::ModelConfig& config, const CostInput& input, Logits logits) {
  const models::BertConfig bert = models::bert_config(config.json, config.path);
  std::shared_ptr<Model> model;
  if constexpr (std::is_same_v<Model, models::Bert>)
    model =
        std::make_shared<Model>(bert, bert.distilled() ? models::Bert::Pooler::without : models::Bert::Pooler::with);
  else
    model = std::make_shared<Model>(bert);
  Counted counted;
  keep(counted, model, nn::Parameters::list(*model));
  const std::int64_t longest = text_settings(bert).longest, batch = input.batch,
                     length = text_length(input, longest, longest, config.path);
  counted.forward = [model, batch, length, logits, bert](Pass& pass) {
    models::BertInput texts{.texts = {.ids = ids_of(pass, batch, length)}};
    if (bert.counts_positions()) texts.texts.positions = ids_of(pass, batch, length);
    return logits(*model, texts);
  };
  set_texts(counted, batch, length);
  return counted;
}

Counted count_bert(const catalogue::ModelConfig& config, const CostInput& input) {
  using Input = models::BertInput;
  const auto states = [](const auto& model, const Input& texts) { return model.body().states(texts); };
  switch (config.task) {
    case catalogue::Task::fill:
      return count_bert<models::MaskedLanguageModel>(config, input, [states](const auto& model, const Input& texts) {
        return model.logits(states(model, texts));
      });
    case catalogue::Task::classify:
      return count_bert<models::SequenceClassifier>(config, input, [states](const auto& model, const Input& texts) {
        return model.logits(states(model, texts), texts.texts);
      });
    case catalogue::Task::tag:
      return count_bert<models::TokenTagger>(config, input, [states](const auto& model, const Input& texts) {
        return model.logits(states(model, texts));
      });
    case catalogue::Task::answer:
      return count_bert<models::QuestionAnswerer>(config, input, [states](const auto& model, const Input& texts) {
        return model.logits(states(model, texts));
      });
    default:
      return count_bert<models::Bert>(config, input,
                                      [](const auto& model, const Input& texts) { return model.states(texts); });
  }
}

Counted count_translator(const catalogue::ModelConfig& config, const CostInput& input) {
  const std::shared_ptr<models::Seq2Seq> model = catalogue::make_seq2seq(config.json, config.path);
  Counted counted;
  keep(counted, model, model->parameters());
  const std::int64_t longest = model->max_length(), batch = input.batch,
                     length = text_length(input, longest, std::min(longest, kPairLength), config.path);
  counted.place = [model](Backend& backend) { model->place(backend, DType::f32); };
  counted.forward = [model, batch, length](Pass& pass) {
    const Tensor states = model->decode({.ids = ids_of(pass, batch, length)}, {.ids = ids_of(pass, batch, length)});
    return model->loss(states, ids_of(pass, batch, length), {}).mean;
  };
  set_texts(counted, batch, length);
  counted.trained = 2 * batch * length;
  counted.input = fmt::format("{} x {} tokens and as many of a translation", batch, length);
  return counted;
}

Counted count_images(const catalogue::ModelConfig& config, const CostInput& input) {
  const std::shared_ptr<models::ImageModel> model = catalogue::make_image_model(config.json, config.path);
  Counted counted;
  keep(counted, model, model->parameters());
  const Extent2 size = image_size(input, model->size(), model->any_size(), config.path);
  const std::int64_t batch = input.batch;
  counted.forward = [model, batch, size](Pass& pass) {
    return model->logits(pixels_of(pass, batch, size, model->channels()));
  };
  set_images(counted, batch, size);
  return counted;
}

Counted count_detr(const catalogue::ModelConfig& config, const CostInput& input) {
  const auto model = std::make_shared<models::Detr>(models::detr_config(config.json, config.path));
  Counted counted;
  keep(counted, model, model->parameters());
  const Extent2 size = image_size(input, kDetrSize, true, config.path);
  const std::int64_t batch = input.batch;
  counted.forward = [model, batch, size](Pass& pass) {
    const std::vector<Extent2> sizes(static_cast<std::size_t>(batch), size);
    const models::PositionLayout places = model->places(pass.backend(), DType::f32, size, sizes);
    return model->detect(pixels_of(pass, batch, size, model->config().backbone.channels), places).logits;
  };
  set_images(counted, batch, size);
  return counted;
}

Counted count_captions(const catalogue::ModelConfig& config, const CostInput& input) {
  const std::shared_ptr<models::Captioner> model = catalogue::make_captioner(config.json, config.path);
  Counted counted;
  keep(counted, model, model->parameters());
  const models::ImageModel& encoder = model->encoder();
  const Extent2 size = image_size(input, encoder.size(), encoder.any_size(), config.path);
  const std::int64_t batch = input.batch, length = std::min(model->decoder().max_length(), kCaptionLength);
  counted.place = [model](Backend& backend) { model->place(backend, DType::f32); };
  counted.forward = [model, batch, size, length](Pass& pass) {
    const Tensor regions = model->regions(pixels_of(pass, batch, size, model->encoder().channels()));
    return model->decoder().logits(model->decoder().decode(regions, {.ids = ids_of(pass, batch, length)}));
  };
  set_images(counted, batch, size);
  counted.input += fmt::format(" and a caption of {} tokens", length);
  return counted;
}

Counted count_generator(const catalogue::ModelConfig& config, const CostInput& input) {
  const auto model = std::make_shared<models::Sagan>(models::sagan_config(config.json, config.path));
  Counted counted;
  keep(counted, model, model->generator_parameters());
  const std::int64_t side = model->config().image_size(), batch = input.batch;
  image_size(input, {side, side}, false, config.path);
  counted.forward = [model, batch](Pass& pass) {
    const Tensor noise = pass.input(make_tensor(pass.backend(), {batch, model->config().noise_size}, DType::f32)),
                 classes = pass.input(make_tensor(pass.backend(), {batch}, DType::i32));
    return model->generator()(noise, classes);
  };
  set_images(counted, batch, {side, side});
  return counted;
}

// How a forward pass of each family is counted, and what its input is made of.
struct CountedFamily {
  catalogue::Family family;
  Counted (*count)(const catalogue::ModelConfig& config, const CostInput& input);
  bool pixels = false;
};
using catalogue::Family;
constexpr catalogue::FamilyTable<CountedFamily> kFamilies({{Family::bert, count_bert},
                                                           {Family::gpt2, count_gpt2},
                                                           {Family::text_rnn, count_text_rnn},
                                                           {Family::marian, count_translator},
                                                           {Family::seq2seq, count_translator},
                                                           {Family::images, count_images, true},
                                                           {Family::detr, count_detr, true},
                                                           {Family::captions, count_captions, true},
                                                           {Family::sagan, count_generator, true}});

// Which parameter lies at an address.
class Addresses {
 public:
  explicit Addresses(const nn::Parameters& parameters) {
    for (const nn::Parameters::Entry& entry : parameters.entries())
      ends_[static_cast<const std::byte*>(entry.parameter->value.raw()) + entry.parameter->shape.size() * 4] = &entry;
  }
  const nn::Parameters::Entry* at(const std::byte* address) const {
    const auto found = ends_.upper_bound(address);
    if (!address || found == ends_.end()) return nullptr;
    return address >= static_cast<const std::byte*>(found->second->parameter->value.raw()) ? found->second : nullptr;
  }

 private:
  std::map<const std::byte*, const nn::Parameters::Entry*> ends_;
};

// The parts in the order of the parameters. Attention has no weights: it counts for the part that was multiplied last.
std::vector<CostPart> parts_of(const nn::Parameters& parameters, const std::vector<CountingBackend::Work>& work) {
  std::vector<CostPart> parts;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> places;
  const auto place_of = [&](const std::string& name) {
    std::int64_t layer = -1;
    const std::string part = part_of(name, layer);
    const auto [place, added] = places.emplace(std::pair{part, layer}, parts.size());
    if (added) parts.push_back({.name = part, .layer = layer});
    return place->second;
  };
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (const std::size_t place = place_of(entry.name); entry.learned())
      parts[place].parameters += entry.parameter->shape.size();
  const Addresses addresses(parameters);
  std::size_t last = 0;
  for (const CountingBackend::Work& step : work) {
    const nn::Parameters::Entry* entry = addresses.at(step.first);
    if (!entry) entry = addresses.at(step.second);
    if (entry) last = place_of(entry->name);
    if (last < parts.size()) parts[last].multiply_adds += step.multiply_adds;
  }
  return parts;
}

// Twice: the first step plans the memory, the second has it as planned.
Cost::Pass counted_pass(CountingBackend& backend, const Counted& counted, nn::Parameters& parameters, bool training) {
  Pass pass(backend, {.recording = training});
  for (int step = 0; step < 2; ++step) {
    backend.forget();
    pass.begin({.plan = 1});
    parameters.start_gradients();
    const Tensor result = counted.forward(pass);
    if (training) pass.backward(result, make_tensor(backend, result.shape(), result.dtype()));
  }
  return {backend.multiply_adds(), static_cast<std::int64_t>(pass.arena().slab_bytes())};
}

}  // namespace

CostInput cost_input(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, size);
    check(error == std::errc() && stop == text.data() + end && size >= 1 && size <= kMostCounted && sizes.size() < 3,
          "--input '{}' is no shape: 512 or 8x512 for texts, 224x224 or 8x224x224 for images", text);
    sizes.push_back(size);
    at = end + 1;
  }
  if (sizes.size() == 1) return {.length = sizes[0]};
  if (sizes.size() == 3) return {.batch = sizes[0], .height = sizes[1], .width = sizes[2]};
  return {.batch = sizes[0], .length = sizes[1]};  // of images: see cost_of()
}

Cost cost_of(const catalogue::ModelConfig& model, const CostInput& given) {
  CostInput input = given;
  const CountedFamily& family = kFamilies[model.entry->family];
  // Two numbers are a batch of texts, or a side and a side.
  if (family.pixels && input.length > 0 && input.height == 0)
    input = {.batch = 1, .height = input.batch, .width = input.length};
  CountingBackend backend;  // outlives the tensors of the model
  const Counted counted = family.count(model, input);
  nn::Parameters parameters(
      backend, counted.parameters,
      {.initialized = false, .most = std::numeric_limits<std::int64_t>::max(), .source = model.path});
  if (counted.place) counted.place(backend);
  Cost cost{.parameters = parameters.count(),
            .unit = counted.unit,
            .units = counted.units,
            .trained = counted.trained,
            .input = counted.input};
  cost.forward = counted_pass(backend, counted, parameters, false);
  cost.parts = parts_of(parameters, backend.work());
  cost.training = counted_pass(backend, counted, parameters, true);
  return cost;
}

std::string part_of(const std::string& parameter, std::int64_t& layer) {
  std::vector<std::string> words(1);
  for (const char c : parameter)
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  std::string part;
  layer = -1;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].empty() &&
        std::all_of(words[i].begin(), words[i].end(), [](unsigned char c) { return std::isdigit(c); })) {
      layer = words[i].size() < 6 ? std::stoll(words[i]) : 0;
      return part;
    }
    part += (part.empty() ? "" : ".") + words[i];
  }
  return part.empty() ? parameter : part;
}

}  // namespace attend::tasks
