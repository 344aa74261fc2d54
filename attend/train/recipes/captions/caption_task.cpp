#include "attend/train/recipes/captions/caption_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/translator.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/detection/reading_examples.h"

namespace attend::train {

namespace {

constexpr std::uint32_t kWhichCaption = 0x63617074;  // a stream of random numbers
constexpr std::int64_t kSteps = 4;                   // lengths of batches are multiples: few shapes, little padding

// Rows of one length, as the device takes them. A null row counts for nothing.
struct HostCaptions {
  std::vector<std::int32_t> ids, labels;
  std::vector<float> counted;
};

HostCaptions padded(std::span<const std::vector<std::int32_t>* const> rows, std::int64_t length,
                    const tasks::Describer::Tokens& tokens) {
  const auto places = rows.size() * static_cast<std::size_t>(length);
  HostCaptions host{.ids = std::vector<std::int32_t>(places, tokens.end),
                    .labels = std::vector<std::int32_t>(places, data::kIgnoredLabel),
                    .counted = std::vector<float>(places)};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t begin = row * static_cast<std::size_t>(length);
    host.ids[begin] = tokens.start;
    if (!rows[row]) continue;
    const std::vector<std::int32_t>& caption = *rows[row];
    std::ranges::copy(caption, host.ids.begin() + static_cast<std::ptrdiff_t>(begin + 1));
    std::ranges::copy(caption, host.labels.begin() + static_cast<std::ptrdiff_t>(begin));
    host.labels[begin + caption.size()] = tokens.end;
    std::fill_n(host.counted.begin() + static_cast<std::ptrdiff_t>(begin), caption.size() + 1, 1.0f);
  }
  return host;
}

// With start or end token.
std::int64_t length_of(std::span<const std::vector<std::int32_t>* const> rows, std::int64_t most) {
  std::size_t longest = 0;
  for (const auto* row : rows) longest = std::max(longest, row ? row->size() : 0);
  return std::min((static_cast<std::int64_t>(longest) + kSteps) / kSteps * kSteps, most);
}

models::CaptionBatch place_for(Backend& backend, const Shape& shape) {
  return {{make_tensor(backend, shape, DType::i32)},
          make_tensor(backend, shape, DType::i32),
          make_tensor(backend, shape, DType::f32)};
}

}  // namespace

CaptionIds encode_captions(const std::vector<std::vector<std::string>>& captions, const text::Tokenizer& tokenizer,
                           std::int64_t max_length) {
  CaptionIds result;
  for (const auto& of_image : captions) {
    auto& all = result.ids.emplace_back();
    for (const std::string& caption : of_image) {
      std::vector<std::int32_t> ids = tokenizer.encode_ids(caption, {.add_special_tokens = false});
      if (ids.size() > static_cast<std::size_t>(max_length)) ids.resize(static_cast<std::size_t>(max_length));
      all.push_back(std::move(ids));
    }
  }
  return result;
}

CaptionTask::CaptionTask(const Parts& parts, const CaptionTaskOptions& options)
    : parts_(parts),
      options_(options),
      describer_(parts.model, parts.tokenizer, parts.backend,
                 tasks::Describer::tokens_of(parts.model.config(), parts.tokenizer, parts.model.decoder().vocabulary(),
                                             "training")),
      pixels_(make_tensor(
          parts.backend, {parts.batch, parts.model.encoder().size().h, parts.model.encoder().size().w, 3}, DType::f32)),
      attention_share_(make_tensor(parts.backend, {1}, DType::f32)) {}

const models::CaptionBatch& CaptionTask::put(std::span<const std::vector<std::int32_t>* const> rows) {
  length_ = length_of(rows, parts_.model.decoder().max_length());
  const Shape shape{static_cast<std::int64_t>(rows.size()), length_};
  auto found = places_.find(length_);
  if (found == places_.end()) found = places_.emplace(length_, place_for(parts_.backend, shape)).first;
  const HostCaptions host = padded(rows, length_, describer_.tokens());
  const models::CaptionBatch& place = found->second;
  words_ = std::reduce(host.counted.begin(), host.counted.end(), 0.0);
  upload(place.captions.ids, host.ids), upload(place.labels, host.labels), upload(place.counted, host.counted);
  return place;
}

// Which of its captions an image comes with is drawn for its place among all that were ever shown.
std::uint64_t CaptionTask::next_batch() {
  const std::uint64_t first = parts_.training.number() * static_cast<std::uint64_t>(parts_.batch);
  data::HostImageBatch batch = parts_.training.next();
  upload(pixels_, batch.values);
  std::vector<const std::vector<std::int32_t>*> rows;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const auto& captions = parts_.captions.ids[static_cast<std::size_t>(batch.labels[i])];
    rows.push_back(&captions[random_word(options_.seed, kWhichCaption, first + i) % captions.size()]);
  }
  put(rows);
  parts_.training.give_back(std::move(batch));
  return static_cast<std::uint64_t>(length_);
}

Tensor CaptionTask::pixels_of(Pass& pass, const Tensor& pixels) const {
  const Tensor read = pass.input(pixels);
  return parts_.dtype == DType::f32 ? read : ops::cast(read, parts_.dtype);
}

void CaptionTask::weigh(std::span<const double> own, std::span<const double> all) {
  upload(attention_share_, std::vector<float>{static_cast<float>(own[1] / all[1] * all[0] / own[0])});
}

train::Loss CaptionTask::loss(Pass& pass) {
  const models::CaptionLoss loss =
      parts_.model.loss(pixels_of(pass, pixels_), places_.at(length_).in(pass), options_.label_smoothing);
  if (!loss.attention.defined()) return loss.total;
  const Tensor attention = ops::multiply(loss.attention, pass.input(attention_share_));
  return {ops::add(loss.words.mean, attention), {{"words", loss.words.mean}, {"attention", attention}}};
}

Json CaptionTask::position() const { return {{"batch", parts_.training.position()}}; }

void CaptionTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  parts_.training.seek(position["batch"].get<std::uint64_t>());
}

// Of every caption: the regions of an image are made once for all of its.
std::pair<double, double> CaptionTask::sums_of(Pass& pass, const data::HostImageBatch& batch,
                                               const CaptionIds& captions) const {
  const Extent2 size = parts_.model.encoder().size();
  const Tensor pixels =
      make_tensor(parts_.backend, {static_cast<std::int64_t>(batch.labels.size()), size.h, size.w, 3}, DType::f32);
  upload(pixels, batch.values);
  const Tensor regions = parts_.model.regions(pixels_of(pass, pixels));
  double sum = 0, tokens = 0;
  for (std::size_t which = 0;; ++which) {
    std::vector<const std::vector<std::int32_t>*> rows;
    bool any = false;
    for (const std::int32_t image : batch.labels) {
      const auto* of_image = image == data::kIgnoredLabel ? nullptr : &captions.ids[static_cast<std::size_t>(image)];
      rows.push_back(of_image && which < of_image->size() ? &(*of_image)[which] : nullptr);
      any = any || rows.back();
    }
    if (!any) return {sum, tokens};
    const std::int64_t length = length_of(rows, parts_.model.decoder().max_length());
    const models::CaptionBatch place = place_for(parts_.backend, {static_cast<std::int64_t>(rows.size()), length});
    const HostCaptions host = padded(rows, length, describer_.tokens());
    upload(place.captions.ids, host.ids), upload(place.labels, host.labels), upload(place.counted, host.counted);
    const std::vector<float> total = download(parts_.model.decoder().loss(regions, place.in(pass), 0).words.total);
    sum += static_cast<double>(total[0]) * static_cast<double>(total[1]);
    tokens += static_cast<double>(total[1]);
  }
}

double CaptionTask::loss_on(const EvaluatedCaptions& evaluated, world::World& world) const {
  Pass pass(parts_.backend);
  train::SharedBatches shared(world, static_cast<std::size_t>(evaluated.images.batches()), 2);
  evaluated.images.for_each_of(train::shard_of(world), [&](std::size_t number, const data::HostImageBatch& batch) {
    const auto found = sums_of(pass, batch, evaluated.captions);
    shared.set(number, {found.first, found.second});
  });
  const std::vector<double> sums = shared.sums();
  return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

// What is shared of an image: its number, which may be another than its place, and what was said of it.
metrics::CaptionScores CaptionTask::evaluate(const EvaluatedCaptions& evaluated, std::int64_t images,
                                             std::int64_t beams, world::World& world) const {
  const Extent2 size = parts_.model.encoder().size();
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(images, 0));
  train::SharedFindings shared(world, wanted);
  evaluated.images.for_each_of(train::shard_of(world), [&](std::size_t number, const data::HostImageBatch& batch) {
    const std::size_t first = number * batch.labels.size();
    if (first >= wanted) return;
    const Tensor pixels =
        make_tensor(parts_.backend, {static_cast<std::int64_t>(batch.labels.size()), size.h, size.w, 3}, DType::f32);
    upload(pixels, batch.values);
    const std::vector<tasks::Description> found =
        describer_.describe(parts_.dtype == DType::f32 ? pixels : ops::cast(pixels, parts_.dtype), {.beams = beams});
    for (std::size_t i = 0; i < found.size() && first + i < wanted; ++i)
      if (batch.labels[i] != data::kIgnoredLabel)
        shared.set(first + i, std::to_string(batch.labels[i]) + ' ' + found[i].text);
  });
  std::vector<metrics::Captioned> all;
  for (const std::string& said : shared.all()) {
    if (said.empty()) continue;
    const std::size_t space = said.find(' ');
    const std::size_t number = std::stoul(said.substr(0, space));
    all.push_back(metrics::captioned(said.substr(space + 1), evaluated.references.at(number)));
  }
  return metrics::caption_scores(all);
}

train::Validation CaptionTask::validate(world::World& world) {
  train::Validation result;
  result.loss = loss_on(parts_.validation, world);
  result.score = -result.loss;
  result.json = {{"loss", result.loss}};
  result.text = fmt::format("validation loss {:.4f}", result.loss);
  if (options_.score_images == 0) return result;
  const metrics::CaptionScores scores = evaluate(parts_.validation, options_.score_images, 1, world);
  result.json["bleu4"] = scores.bleu[3], result.json["cider"] = scores.cider;
  result.text += fmt::format("  greedy BLEU-4 {:.2f}, CIDEr {:.3f}", 100 * scores.bleu[3], scores.cider);
  if (options_.select == "cider") result.score = scores.cider;
  if (options_.select == "bleu") result.score = scores.bleu[3];
  return result;
}

std::vector<train::Example> CaptionTask::examples(const train::ExampleLimits& limits) {
  if (!shown_) shown_ = parts_.validation.images.some(limits.count);
  std::vector<train::Example> examples;
  for (const data::ValidationImages::Shown& shown : *shown_) {
    const auto& references = parts_.validation.references[static_cast<std::size_t>(shown.label)];
    examples.push_back(caption_example({parts_.model, describer_, parts_.tokenizer, parts_.backend, parts_.dtype,
                                        parts_.validation.images.normalization()},
                                       shown.prepared, references.empty() ? "" : references.front()));
  }
  return examples;
}

}  // namespace attend::train
