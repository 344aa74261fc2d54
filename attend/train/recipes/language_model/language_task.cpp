#include "attend/train/recipes/language_model/language_task.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

LanguageTask::LanguageTask(const models::LanguageModel& model, Backend& backend, const data::TokenStream& training,
                           const data::TokenStream& validation, const LanguageTaskOptions& options)
    : model_(model),
      training_(training),
      validation_(validation),
      options_(options),
      ids_(make_tensor(backend, {options.batch, options.block}, DType::i32)),
      labels_(make_tensor(backend, {options.batch, options.block}, DType::i32)) {
  if (options.lines.end >= 0)
    training_lines_.emplace(training, options.lines), validation_lines_.emplace(validation, options.lines);
  start_prefetch();
}

void LanguageTask::start_prefetch() {
  prefetch_.reset();
  made_ = taken_;
  prefetch_ = std::make_unique<Prefetch>([this]() -> Prefetch::Entry {
    const std::int64_t batch = options_.batch, block = options_.block;
    const std::uint64_t number = made_ + shard_.rank;
    data::TokenWindows windows = training_lines_ ? training_lines_->random(batch, block, options_.seed, number)
                                                 : data::random_windows(training_, batch, block, options_.seed, number);
    made_ += shard_.size;
    return {std::move(windows), made_};
  });
}

void LanguageTask::put(const data::TokenWindows& windows) {
  upload(ids_, windows.ids);
  upload(labels_, windows.labels);
}

std::uint64_t LanguageTask::next_batch() {
  const auto [windows, after] = prefetch_->next();
  taken_ = after;
  put(windows);
  return 1;
}

train::Loss LanguageTask::loss(Pass& pass) {
  return model_.loss(nn::Sequences{ids_}.in(pass), pass.input(labels_)).mean;
}

void LanguageTask::take_shard(const data::Shard& shard) {
  prefetch_.reset();
  shard_ = shard;
  start_prefetch();
}

Json LanguageTask::position() const { return {{"batch", taken_}}; }

void LanguageTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  taken_ = position["batch"].get<std::uint64_t>();
  start_prefetch();
}

double LanguageTask::characters_per_token() const {
  if (!options_.tokenizer || validation_lines_ || validation_.size() == 0) return 1;
  constexpr std::int64_t kEnough = 100'000;
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < std::min(validation_.size(), kEnough); ++i) ids.push_back(validation_[i]);
  const std::string text = replace_invalid_utf8(options_.tokenizer->decode(ids));
  return std::max(1.0, static_cast<double>(count_characters(text))) / static_cast<double>(ids.size());
}

train::Validation LanguageTask::validate(world::World& world) {
  Pass pass(ids_.backend());
  const auto& lines = validation_lines_;
  const std::int64_t windows = lines ? lines->count() : data::window_count(validation_, options_.block);
  train::SharedBatches shared(world, static_cast<std::size_t>((windows + options_.batch - 1) / options_.batch), 2);
  for (std::int64_t first = 0; first < windows; first += options_.batch) {
    const auto batch = static_cast<std::size_t>(first / options_.batch);
    if (!shared.mine(batch)) continue;
    put(lines ? lines->at(first, options_.batch, options_.block)
              : data::window_at(validation_, first, options_.batch, options_.block));
    const std::vector<float> total = download(model_.loss(nn::Sequences{ids_}.in(pass), pass.input(labels_)).total);
    const auto tokens = static_cast<double>(total[1]);
    shared.set(batch, {static_cast<double>(total[0]) * tokens, tokens});
  }
  const std::vector<double> sums = shared.sums();
  train::Validation result;
  result.loss = sums[0] / std::max(sums[1], 1.0);
  result.score = -result.loss;
  result.json = {{"loss", result.loss}};
  result.text = fmt::format("validation loss {:.4f}", result.loss);
  // Losses of different tokens can only be compared per character.
  constexpr double kMore = 1.05;
  if (const double characters = characters_per_token(); characters > kMore) {
    result.json["loss_per_character"] = result.loss / characters;
    result.text += fmt::format(" ({:.4f} per character)", result.loss / characters);
  }
  return result;
}

// Pieces of the validation text, from its beginning, its middle and near its end.
std::vector<train::Example> LanguageTask::examples(const train::ExampleLimits& limits) {
  const auto [count, tokens] = limits;
  std::vector<train::Example> list;
  const std::int64_t length = std::min({tokens, options_.block, validation_.size()});
  if (!options_.tokenizer || length < 2) return list;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first =
        (validation_.size() - length) * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(count);
    std::vector<std::int32_t> ids;
    for (std::int64_t at = first; at < first + length; ++at) ids.push_back(validation_[at]);
    list.push_back(text_example(model_, *options_.tokenizer, ids_.backend(), ids));
  }
  return list;
}

}  // namespace attend::train
