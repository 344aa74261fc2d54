#include "attend/train/recipes/masked_lm/masked_task.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/ops/embedding.h"
#include "attend/ops/reduce.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

MaskedTask::MaskedTask(const models::MaskedLanguageModel& model, Backend& backend, const data::MaskedText& training,
                       const data::MaskedText& validation, const data::MaskingOptions& masking, std::int64_t batch,
                       const text::Tokenizer& tokenizer)
    : model_(model),
      training_(training),
      validation_(validation),
      tokenizer_(tokenizer),
      batch_(batch),
      ids_(make_tensor(backend, {batch, masking.block}, DType::i32)),
      places_(make_tensor(backend, {batch * training.hidden()}, DType::i32)),
      labels_(make_tensor(backend, {batch * training.hidden()}, DType::i32)) {
  const models::BertConfig& config = model.body().config();
  if (config.counts_positions()) {
    positions_ = make_tensor(backend, {batch, masking.block}, DType::i32);
    const std::vector<std::int32_t> text(static_cast<std::size_t>(ids_.size()), masking.mask);  // none is padding
    upload(positions_, models::roberta_positions(text, masking.block, static_cast<std::int32_t>(config.pad)));
  }
  start_prefetch();
}

void MaskedTask::start_prefetch() {
  prefetch_.reset();
  made_ = taken_;
  prefetch_ = std::make_unique<Prefetch>([this]() -> Prefetch::Entry {
    data::MaskedBlocks blocks = training_.random(batch_, made_ + shard_.rank);
    made_ += shard_.size;
    return {std::move(blocks), made_};
  });
}

void MaskedTask::put(const data::MaskedBlocks& blocks) {
  upload(ids_, blocks.ids);
  upload(places_, blocks.places);
  upload(labels_, blocks.labels);
}

std::uint64_t MaskedTask::next_batch() {
  const auto [blocks, after] = prefetch_->next();
  taken_ = after;
  hidden_ = static_cast<double>(std::ranges::count_if(blocks.labels, [](std::int32_t l) { return l >= 0; }));
  put(blocks);
  return 1;
}

models::BertInput MaskedTask::input(Pass& pass) const {
  return models::BertInput{{.ids = ids_, .positions = positions_}}.in(pass);
}

train::Loss MaskedTask::loss(Pass& pass) {
  return model_.loss(input(pass), pass.input(labels_), pass.input(places_)).mean;
}

void MaskedTask::take_shard(const data::Shard& shard) {
  prefetch_.reset();
  shard_ = shard;
  start_prefetch();
}

Json MaskedTask::position() const { return {{"batch", taken_}}; }

void MaskedTask::seek(const Json& position) {
  check(position.is_object() && position.contains("batch") && position["batch"].is_number_unsigned(),
        "training: the saved place in the data is damaged");
  taken_ = position["batch"].get<std::uint64_t>();
  start_prefetch();
}

train::Validation MaskedTask::validate(world::World& world) {
  Pass pass(ids_.backend());
  const auto per_block = static_cast<std::size_t>(validation_.hidden());
  train::SharedBatches shared(world, static_cast<std::size_t>((validation_.count() + batch_ - 1) / batch_), 3);
  for (std::int64_t first = 0; first < validation_.count(); first += batch_) {
    const auto batch = static_cast<std::size_t>(first / batch_);
    if (!shared.mine(batch)) continue;
    double loss = 0, guessed_right = 0, counted = 0;
    const data::MaskedBlocks blocks = validation_.at(first, batch_);
    put(blocks);
    const Tensor states = model_.body().states(input(pass)).flat_rows();
    const Tensor logits = model_.logits(ops::gather(states, pass.input(places_)));  // [batch · hidden, V]
    const std::vector<std::int32_t> guessed = download_ints(ops::max(logits, 1).index);
    const std::vector<float> losses = download(ops::cross_entropy(logits, pass.input(labels_)).losses);
    // Behind the last block it comes again.
    const auto blocks_here = static_cast<std::size_t>(std::min(batch_, validation_.count() - first));
    for (std::size_t i = 0; i < blocks_here * per_block; ++i) {
      if (blocks.labels[i] < 0) continue;
      loss += static_cast<double>(losses[i]), guessed_right += guessed[i] == blocks.labels[i], ++counted;
    }
    shared.set(batch, {loss, guessed_right, counted});
  }
  const std::vector<double> sums = shared.sums();
  const double sum = sums[0], right = sums[1], hidden = sums[2];
  train::Validation result;
  result.loss = sum / std::max(hidden, 1.0);
  result.score = -result.loss;
  const double accuracy = right / std::max(hidden, 1.0);
  result.json = {{"loss", result.loss}, {"accuracy", accuracy}};
  result.text = fmt::format("validation loss {:.4f}  hidden tokens guessed {:.2f} %", result.loss, 100 * accuracy);
  return result;
}

// The beginnings of blocks of the validation text, which hide the same tokens every time.
std::vector<train::Example> MaskedTask::examples(const train::ExampleLimits& limits) {
  const auto [count, tokens] = limits;
  std::vector<train::Example> list;
  for (std::int64_t i = 0; i < validation_.count() && list.size() < count; ++i) {
    const data::MaskedBlocks block = validation_.at(i, 1);
    MaskedExample example;
    const auto length = std::min(block.ids.size(), static_cast<std::size_t>(tokens));
    example.ids.assign(block.ids.begin(), block.ids.begin() + static_cast<std::ptrdiff_t>(length));
    example.ids.back() = block.ids.back();  // what ends a text
    for (std::size_t k = 0; k < block.places.size(); ++k)
      if (block.labels[k] >= 0 && static_cast<std::size_t>(block.places[k]) + 1 < length)
        example.places.push_back(block.places[k]), example.labels.push_back(block.labels[k]);
    list.push_back(masked_example(model_, tokenizer_, ids_.backend(), example));
  }
  return list;
}

}  // namespace attend::train
