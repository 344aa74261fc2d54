// The calls of attend/c.h that compute.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "attend/capi/guard.h"
#include "attend/capi/model.h"

namespace attend::capi {

namespace {

using Lines = std::vector<std::string>;
using Item = Results::Item;

// Of an array that a caller says it has: so many never were.
void check_count(const char* who, size_t count, const char* things) {
  constexpr size_t kMost = size_t{1} << 27;
  check_argument(count <= kMost, "{}: {} {} at once, but {} are the most", who, count, things, kMost);
}

Lines lines_of(const char* who, const char* const* lines, size_t count) {
  check_argument(lines || count == 0, "{}: lines is null", who);
  check_count(who, count, "lines");
  Lines texts;
  for (size_t i = 0; i < count; ++i) {
    check_argument(lines[i], "{}: line {} of {} is null", who, i, count);
    texts.emplace_back(lines[i]);
  }
  return texts;
}

// A member of the options where it was given, and else what is usual.
template <class Member, class Usual>
Usual or_else(const attend_options& options, Member attend_options::*member, std::uint64_t bit, Usual usual) {
  const Member given = options.*member;
  return given != 0 || (options.given & bit) != 0 ? static_cast<Usual>(given) : usual;
}

std::int64_t beams_or(const attend_options& options, std::int64_t usual) {
  return or_else(options, &attend_options::beams, ATTEND_GIVEN_BEAMS, usual);
}
std::int64_t n_best_of(const attend_options& options) {
  return or_else(options, &attend_options::n_best, ATTEND_GIVEN_N_BEST, std::int64_t{1});
}
std::int64_t top_k_or(const attend_options& options, std::int64_t usual) {
  return or_else(options, &attend_options::top_k, ATTEND_GIVEN_TOP_K, usual);
}
std::int64_t batch_of(const attend_options& options) {
  return or_else(options, &attend_options::batch, ATTEND_GIVEN_BATCH, std::int64_t{32});
}
std::uint64_t seed_of(const attend_options& options) {
  return or_else(options, &attend_options::seed, ATTEND_GIVEN_SEED, std::uint64_t{1});
}

// Takes the model's turn and fills results, which stay null when something is wrong.
using Fill = std::function<void(LoadedModel& model, const attend_options& options, Results& results)>;
attend_status call(const char* who, attend_model* model, const attend_options* options, attend_results** results,
                   const Fill& fill) {
  if (results) *results = nullptr;
  return guarded([&] {
    check_argument(results, "{}: the place for the results is null", who);
    const attend_options given = options_of(who, options);
    auto made = std::make_shared<Results>();
    Turn turn(who, model);
    fill(turn.model(), given, *made);
    *results = keep<attend_results>(std::move(made));
  });
}

template <class Part>
Part& part_of(const char* who, const LoadedModel& model, const std::unique_ptr<Part>& part) {
  check(part != nullptr, "{}: this model does {}", who, catalogue::name_of(model.task));
  return *part;
}

// Whether a tensor's data may be touched: the caller's own, or memory of ours that was not freed.
void check_alive(const char* who, const attend_tensor& tensor) {
  check_argument(!tensor.owner || held(tensor.owner), "{}: the memory of this tensor was freed", who);
}

// Into the caller's memory, which must fit, or into new memory. What is empty has an address too, so that data other
// than NULL says on every machine that the call went well.
void hand_over(const char* who, attend_tensor* to, attend_dtype dtype, std::initializer_list<std::int64_t> shape,
               const void* values) {
  std::size_t bytes = dtype == ATTEND_U8 ? 1 : 4;
  for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  if (to->data) {
    check_alive(who, *to);
    check_argument(to->dtype == dtype && to->rank == static_cast<int>(shape.size()) &&
                       std::equal(shape.begin(), shape.end(), to->shape),
                   "{}: the tensor given is of another type or shape than the result, of {} dimensions, the first {}",
                   who, shape.size(), *shape.begin());
  } else {
    auto memory = std::make_shared<Memory>();
    memory->bytes = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(bytes, 1));
    void* data = memory->bytes.get();
    *to = {.data = data,
           .shape = {},
           .rank = static_cast<int>(shape.size()),
           .dtype = dtype,
           .owner = keep<attend_memory>(std::move(memory))};
    std::copy(shape.begin(), shape.end(), to->shape);
  }
  if (bytes) std::memcpy(to->data, values, bytes);
}

image::Image image_of(const attend_tensor& image, std::int64_t max_pixels) {
  check_alive("attend_see", image);
  check_argument(image.data && image.dtype == ATTEND_U8 && image.rank == 3 && image.shape[2] == 3,
                 "attend_see: an image is u8 [height, width, 3], and this one is not");
  const std::int64_t height = image.shape[0], width = image.shape[1];
  check_argument(max_pixels >= 0, "attend_see: max_pixels is {}", max_pixels);
  try {
    image::check_extent(width, height, max_pixels > 0 ? max_pixels : image::kMostPixels, "attend_see");
  } catch (const Error& error) {
    check_argument(false, "{}", error.what());
  }
  image::Image copy(static_cast<int>(width), static_cast<int>(height));
  std::memcpy(copy.pixels.data(), image.data, copy.pixels.size());
  return copy;
}

std::vector<Item> labels_of(const tasks::Classified& classified) {
  std::vector<Item> items;
  for (const tasks::ClassLabel& each : classified.labels)
    items.push_back({.label = each.label, .score = each.probability});
  if (items.empty()) items.push_back({.score = classified.number});
  return items;
}

void see(LoadedModel& model, std::span<const attend_tensor> images, const attend_options& options, Results& results) {
  std::vector<image::Image> prepared;
  std::vector<image::PixelSize> sizes;
  check(model.task != catalogue::Task::embed_images, "attend_see: this model does embed; open it without a task");
  check(model.detector || model.images || model.describer, "attend_see: this model does {}, with texts",
        catalogue::name_of(model.task));
  for (const attend_tensor& image : images) {
    const image::Image copy = image_of(image, options.max_pixels);
    sizes.push_back({copy.width, copy.height});
    prepared.push_back(model.detector    ? model.detector->prepare(copy)
                       : model.describer ? model.describer->prepare(copy)
                                         : model.images->prepare(copy));
  }
  if (model.describer) {
    for (const tasks::Description& each : model.describer->describe(prepared, {.beams = beams_or(options, 0)}))
      results.lines.push_back({{.text = each.text, .score = each.score}});
    return;
  }
  if (!model.detector) {
    for (const tasks::Classified& each : model.images->classify(prepared, options.top_k))
      results.lines.push_back(labels_of(each));
    return;
  }
  const float threshold = or_else(options, &attend_options::threshold, ATTEND_GIVEN_THRESHOLD, 0.7f);
  for (const auto& found : model.detector->detect(prepared, sizes, threshold)) {
    std::vector<Item>& items = results.lines.emplace_back();
    for (const tasks::Detected& each : found)
      items.push_back({.label = model.detector->labels().at(static_cast<std::size_t>(each.label)),
                       .score = each.score,
                       .box = {each.box.x, each.box.y, each.box.width, each.box.height}});
  }
}

tasks::EmbedOptions embed_options(const attend_options& options) {
  tasks::EmbedOptions embed{.batching = {.batch = batch_of(options)}};
  if (options.pooling) embed.pooling = tasks::pooling_named(options.pooling, "attend_embed");
  if (options.normalize || (options.given & ATTEND_GIVEN_NORMALIZE)) embed.normalize = options.normalize != 0;
  return embed;
}

tasks::GenerateOptions generate_options(const attend_options& options) {
  return {.max_tokens = or_else(options, &attend_options::max_tokens, ATTEND_GIVEN_MAX_TOKENS, std::int64_t{100}),
          .temperature = or_else(options, &attend_options::temperature, ATTEND_GIVEN_TEMPERATURE, 1.0f),
          .top_k = options.top_k,
          .top_p = or_else(options, &attend_options::top_p, ATTEND_GIVEN_TOP_P, 1.0f),
          .beams = options.beams,
          .samples = n_best_of(options),
          .seed = seed_of(options)};
}

}  // namespace

}  // namespace attend::capi

using namespace attend;
using namespace attend::capi;

extern "C" {

attend_status attend_translate(attend_model* model, const char* const* lines, size_t count,
                               const attend_options* options, attend_results** results) {
  return call("attend_translate", model, options, results,
              [&](LoadedModel& on, const attend_options& given, Results& made) {
                const auto& translator = part_of("attend_translate", on, on.translator).translator;
                for (const auto& line : translator.translate(
                         lines_of("attend_translate", lines, count),
                         {.beams = beams_or(given, 0), .n_best = n_best_of(given), .batch = batch_of(given)})) {
                  std::vector<Item>& items = made.lines.emplace_back();
                  for (const tasks::Translation& each : line.translations)
                    items.push_back({.text = each.text, .score = each.score});
                }
              });
}

attend_status attend_classify(attend_model* model, const char* const* lines, size_t count,
                              const attend_options* options, attend_results** results) {
  return call("attend_classify", model, options, results,
              [&](LoadedModel& on, const attend_options& given, Results& made) {
                const tasks::Classifier& classifier = part_of("attend_classify", on, on.classifier);
                for (const tasks::Classified& each :
                     classifier.classify(lines_of("attend_classify", lines, count),
                                         {.top_k = given.top_k, .batching = {.batch = batch_of(given)}}))
                  made.lines.push_back(labels_of(each));
              });
}

attend_status attend_tag(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                         attend_results** results) {
  return call("attend_tag", model, options, results, [&](LoadedModel& on, const attend_options& given, Results& made) {
    for (const tasks::TaggedLine& line :
         part_of("attend_tag", on, on.tagger).tag(lines_of("attend_tag", lines, count), {.batch = batch_of(given)})) {
      std::vector<Item>& items = made.lines.emplace_back();
      for (const tasks::TaggedWord& word : line)
        items.push_back({.text = word.word,
                         .label = word.label,
                         .score = word.probability,
                         .begin = static_cast<std::int64_t>(word.span.begin),
                         .end = static_cast<std::int64_t>(word.span.end)});
    }
  });
}

attend_status attend_fill(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                          attend_results** results) {
  return call("attend_fill", model, options, results, [&](LoadedModel& on, const attend_options& given, Results& made) {
    for (const tasks::FilledLine& line :
         part_of("attend_fill", on, on.filler)
             .fill(lines_of("attend_fill", lines, count),
                   {.top_k = top_k_or(given, 5), .batching = {.batch = batch_of(given)}})) {
      std::vector<Item>& items = made.lines.emplace_back();
      for (std::size_t mask = 0; mask < line.size(); ++mask)
        for (const tasks::FilledToken& token : line[mask])
          items.push_back({.text = token.token,
                           .score = token.probability,
                           .begin = static_cast<std::int64_t>(mask),
                           .end = static_cast<std::int64_t>(mask)});
    }
  });
}

attend_status attend_answer(attend_model* model, const char* question, const char* context,
                            const attend_options* options, attend_results** results) {
  return call("attend_answer", model, options, results,
              [&](LoadedModel& on, const attend_options& given, Results& made) {
                check_argument(question && context, "attend_answer: {} is null", question ? "context" : "question");
                std::vector<Item>& items = made.lines.emplace_back();
                for (const tasks::Answer& answer :
                     part_of("attend_answer", on, on.answerer).answer(question, context, {.top_k = top_k_or(given, 1)}))
                  items.push_back({.text = answer.text,
                                   .score = answer.score,
                                   .begin = static_cast<std::int64_t>(answer.span.begin),
                                   .end = static_cast<std::int64_t>(answer.span.end)});
              });
}

attend_status attend_embed(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                           attend_tensor* vectors) {
  return guarded([&] {
    check_argument(vectors, "attend_embed: the place for the vectors is null");
    const attend_options given = options_of("attend_embed", options);
    Turn turn("attend_embed", model);
    const tasks::Embedder& embedder = part_of("attend_embed", turn.model(), turn.model().embedder);
    std::vector<float> flat;
    for (const std::vector<float>& row : embedder.embed(lines_of("attend_embed", lines, count), embed_options(given)))
      flat.insert(flat.end(), row.begin(), row.end());
    hand_over("attend_embed", vectors, ATTEND_F32, {static_cast<std::int64_t>(count), embedder.width()}, flat.data());
  });
}

attend_status attend_see(attend_model* model, const attend_tensor* images, size_t count, const attend_options* options,
                         attend_results** results) {
  return call("attend_see", model, options, results, [&](LoadedModel& on, const attend_options& given, Results& made) {
    check_argument(images || count == 0, "attend_see: images is null");
    check_count("attend_see", count, "images");
    see(on, {images, count}, given, made);
  });
}

attend_status attend_draw(attend_model* model, const char* of_class, size_t count, const attend_options* options,
                          attend_tensor* images) {
  return guarded([&] {
    check_argument(images, "attend_draw: the place for the images is null");
    check_argument(count > 0, "attend_draw: no image was asked for");
    const attend_options given = options_of("attend_draw", options);
    Turn turn("attend_draw", model);
    const tasks::ImageGenerator& drawer = part_of("attend_draw", turn.model(), turn.model().drawer);
    std::vector<std::uint8_t> flat;
    std::int64_t height = 0, width = 0;
    for (const image::Image& each : drawings(drawer, of_class ? of_class : "", count, seed_of(given))) {
      flat.insert(flat.end(), each.pixels.begin(), each.pixels.end());
      height = each.height, width = each.width;
    }
    hand_over("attend_draw", images, ATTEND_U8, {static_cast<std::int64_t>(count), height, width, 3}, flat.data());
  });
}

attend_status attend_generate(attend_model* model, const char* prompt, const attend_options* options,
                              attend_piece_callback callback, void* user, attend_results** results) {
  attend_results* unwanted = nullptr;
  const attend_status status = call(
      "attend_generate", model, options, results ? results : &unwanted,
      [&](LoadedModel& on, const attend_options& given, Results& made) {
        check_argument(prompt, "attend_generate: prompt is null");
        const tasks::Generator& generator = part_of("attend_generate", on, on.generator);
        tasks::GenerateOptions how = generate_options(given);
        check_argument(!callback || (how.samples == 1 && how.beams == 0),
                       "attend_generate: with a callback there is one text, and no beams");
        bool stop = false;
        if (callback) {
          how.on_text = [&](std::string_view piece) { stop = stop || callback(user, std::string(piece).c_str()) != 0; };
          how.interrupted = [&] { return stop; };
        }
        std::vector<Item>& items = made.lines.emplace_back();
        for (const tasks::Generated& each : generator.generate(prompt, how)) items.push_back({.text = each.text});
      });
  attend_results_free(&unwanted);
  return status;
}

attend_status attend_tokenize(attend_model* model, const char* text, attend_tensor* ids) {
  return guarded([&] {
    const auto open = opened("attend_tokenize", model);
    check_argument(text && ids, "attend_tokenize: {} is null", text ? "the place for the ids" : "text");
    const std::vector<text::TokenId> tokens = tokenizer_of(*open).encode_ids(text);
    hand_over("attend_tokenize", ids, ATTEND_I32, {static_cast<std::int64_t>(tokens.size())}, tokens.data());
  });
}

attend_status attend_detokenize(attend_model* model, const attend_tensor* ids, attend_results** text) {
  return call("attend_detokenize", model, nullptr, text, [&](LoadedModel& on, const attend_options&, Results& made) {
    check_argument(ids && ids->data && ids->dtype == ATTEND_I32 && ids->rank == 1 && ids->shape[0] >= 0,
                   "attend_detokenize: ids are i32 [tokens], and these are not");
    check_alive("attend_detokenize", *ids);
    check_count("attend_detokenize", static_cast<size_t>(ids->shape[0]), "tokens");
    const auto* first = static_cast<const text::TokenId*>(ids->data);
    made.lines.push_back({{.text = tokenizer_of(on).decode({first, static_cast<std::size_t>(ids->shape[0])})}});
  });
}

attend_status attend_attention(attend_model* model, const char* line, attend_tensor* weights,
                               attend_results** results) {
  return call("attend_attention", model, nullptr, results, [&](LoadedModel& on, const attend_options&, Results& made) {
    check_argument(line && weights, "attend_attention: {} is null", line ? "the place for the weights" : "line");
    const Lines lines = {line};
    const auto translated =
        part_of("attend_attention", on, on.translator).translator.translate(lines, {.attention = true});
    made.lines.resize(3);
    view::AttentionMap map;
    if (!translated[0].translations.empty()) {
      map = translated[0].translations[0].attention;
      made.lines[0].push_back({.text = translated[0].text()});
    }
    for (const std::string& token : map.source) made.lines[1].push_back({.text = token});
    for (const std::string& token : map.target) made.lines[2].push_back({.text = token});
    hand_over("attend_attention", weights, ATTEND_F32,
              {static_cast<std::int64_t>(map.target.size()), static_cast<std::int64_t>(map.source.size())},
              map.weights.data());
  });
}

}  // extern "C"
