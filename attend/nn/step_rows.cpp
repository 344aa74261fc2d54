// Rows of a step-by-step decoder: uploading tokens, sampling, the top k, and reordering.
#include "attend/nn/step_rows.h"

#include <algorithm>
#include <iterator>

#include "attend/base/error.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

StepRows::StepRows(Pass& pass, std::int64_t groups, std::int64_t group)
    : pass_(pass), count_(groups * group), group_(group) {
  check(!pass.recording(), "decoder: a recording pass would keep every step");
  check(group >= 1, "decoder: {} rows for each source", group);
}

Tensor StepRows::ints(std::span<const std::int32_t> values) const {
  Tensor tensor = pass_.tensor({static_cast<std::int64_t>(values.size())}, DType::i32);
  upload(tensor, values);
  return tensor;
}

void StepRows::start(std::span<const std::int32_t> tokens) {
  check(static_cast<std::int64_t>(tokens.size()) == count_, "decoder: {} tokens for {} rows", tokens.size(), count_);
  let_go();
}

std::span<const std::int32_t> StepRows::all_at(std::int64_t position) {
  positions_.assign(static_cast<std::size_t>(count_), static_cast<std::int32_t>(position));
  return positions_;
}

std::int64_t StepRows::suppress(std::span<const std::int32_t> ids, std::int64_t vocabulary) {
  std::vector<std::uint8_t> suppressed(static_cast<std::size_t>(vocabulary));
  for (std::int32_t id : ids)
    if (id >= 0 && id < vocabulary) suppressed[static_cast<std::size_t>(id)] = 1;
  const std::int64_t left = std::ranges::count(suppressed, 0);
  suppressed_ = Tensor();
  if (left == vocabulary) return left;
  suppressed_ = make_tensor(pass_.backend(), {vocabulary}, DType::u8);
  pass_.backend().to_device(suppressed_.raw(), suppressed.data(), suppressed.size());
  return left;
}

void StepRows::draw(const Tensor& logits, std::span<const SamplingParams> draws) {
  check(static_cast<std::int64_t>(draws.size()) == logits.rows(), "decoder: {} draws for {} rows", draws.size(),
        logits.rows());
  std::vector<std::int32_t> words, positions;
  for (const SamplingParams& one : draws) {
    std::ranges::copy(words_of(one), std::back_inserter(words));
    positions.push_back(static_cast<std::int32_t>(one.position));
  }
  const Tensor tokens = like(logits, {logits.rows()}, DType::i32);
  const Tensor values = like(logits, {logits.rows()}, DType::f32), sums = like(values, values.shape());
  // Sampling runs on the device, so that only a few numbers per row are downloaded.
  logits.backend().sample_tokens({logits, suppressed_, ints(words), ints(positions), tokens, values, sums});
  drawn_ = download_ints(tokens), drawn_logits_ = download(values), log_sums_ = download(sums);
}

StepModel::Scores StepRows::scores(const Tensor& logits, const StepModel::Wanted& wanted) {
  const std::int64_t top_k = wanted.top_k;
  if (!wanted.draws.empty()) draw(logits, wanted.draws);
  if (top_k == 0 && !wanted.draws.empty()) return {{}, log_sums_, {}, drawn_, drawn_logits_};
  if (top_k > 0) {
    const Tensor values = like(logits, {logits.rows(), top_k}, DType::f32),
                 ids = like(values, values.shape(), DType::i32);
    const Tensor sums = like(values, {logits.rows()});
    logits.backend().top_k(logits, suppressed_, values, ids, sums);
    logits_ = download(values), log_sums_ = download(sums), ids_ = download_ints(ids);
    if (!wanted.draws.empty()) return {logits_, log_sums_, ids_, drawn_, drawn_logits_};
    return {logits_, log_sums_, ids_};
  }
  // All logits are wanted. They are kept, because the caller reads them in place on the host.
  last_logits_ = logits;
  last_log_sums_ = ops::log_sum_exp(logits);
  if (pass_.backend().on_host() && logits.dtype() == DType::f32)
    return {{logits.data<float>(), static_cast<std::size_t>(logits.size())},
            {last_log_sums_.data<float>(), static_cast<std::size_t>(last_log_sums_.size())}};
  logits_ = download(last_logits_), log_sums_ = download(last_log_sums_);
  return {logits_, log_sums_};
}

bool StepRows::move(std::span<const std::int32_t> from) {
  const auto rows = static_cast<std::int64_t>(from.size());
  check(rows % group_ == 0 && rows <= count_, "decoder: {} rows from {} do not come in groups of {}", rows, count_,
        group_);
  bool moved = rows != count_;
  for (std::size_t i = 0; i < from.size(); ++i) {
    check(from[i] >= 0 && from[i] < count_, "decoder: row {} of {}", from[i], count_);
    // Validates the row before anything moves.
    moved = moved || from[i] != static_cast<std::int32_t>(i);
  }
  count_ = rows;
  return moved;
}

std::vector<std::int32_t> StepRows::sources(std::span<const std::int32_t> from) const {
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < from.size(); i += static_cast<std::size_t>(group_))
    kept.push_back(from[i] / static_cast<std::int32_t>(group_));
  return kept;
}

}  // namespace attend::nn
