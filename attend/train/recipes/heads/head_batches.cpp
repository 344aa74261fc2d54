#include "attend/train/recipes/heads/head_batches.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/data/shapes.h"

namespace attend::train {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rows are filled up to a multiple of an eighth of the next power of two with texts of padding, none of them empty and
// none longer than the longest may be: their number follows from the shape.
void fill_up(const tasks::EncoderReader& reader, HostHeadBatch& batch) {
  tasks::PackedTexts& texts = batch.texts;
  const auto rows = static_cast<std::int64_t>(texts.ids.size());
  const auto step = std::max<std::int64_t>(64, static_cast<std::int64_t>(std::bit_ceil(texts.ids.size())) / 8);
  texts.longest =
      std::clamp<std::int64_t>(data::round_length(texts.longest), 2, std::max(reader.longest(), texts.longest));
  const std::int64_t fillers = ceil_div(step, std::max<std::int64_t>(texts.longest - 1, 1));
  std::int64_t left = ceil_div(rows + fillers, step) * step - rows;
  for (std::int64_t i = fillers; i > 0; --i) {
    const std::int64_t length = ceil_div(left, i);
    for (std::int64_t at = 0; at < length; ++at) {
      texts.ids.push_back(static_cast<std::int32_t>(reader.settings().pad));
      texts.types.push_back(0);
      texts.positions.push_back(reader.settings().first_position + static_cast<std::int32_t>(at));
    }
    texts.offsets.push_back(static_cast<std::int32_t>(texts.ids.size()));
    left -= length;
  }
  batch.key = hash_key(data::shape_key(texts.longest, static_cast<std::int64_t>(texts.ids.size())) +
                       static_cast<std::uint64_t>(fillers));
}

// [batch, longest] with padding behind every text.
void pad_up(const tasks::EncoderReader& reader, HostHeadBatch& batch) {
  const tasks::PackedTexts& packed = batch.texts;
  const std::int64_t longest = std::min(data::round_length(packed.longest), std::max(reader.longest(), packed.longest));
  tasks::PaddedTexts padded = reader.pad(packed, longest);
  batch.texts = std::move(padded.texts), batch.lengths = std::move(padded.lengths);
  batch.key = data::shape_key(batch.texts.longest, static_cast<std::int64_t>(batch.lengths.size()));
}

// Which tokens are global, of a model that wants to know. Questions differ in length: sixteen more places at a time.
void mark_globals(const models::GlobalRule& rule, HostHeadBatch& batch) {
  const tasks::PackedTexts& texts = batch.texts;
  if (rule.first == 0 && rule.question_end < 0) return;
  const auto layout =
      texts.offsets.empty()
          ? ops::AttentionLayout::padded(static_cast<std::int64_t>(batch.lengths.size()), texts.longest, batch.lengths)
          : ops::AttentionLayout::packed(texts.offsets);
  std::vector<std::vector<std::int32_t>> sets;
  for (const auto& sequence : layout.sequences)
    sets.push_back(rule(std::span(texts.ids).subspan(static_cast<std::size_t>(sequence.key_row),
                                                     static_cast<std::size_t>(sequence.visible))));
  const bool questions = rule.question_end >= 0;
  batch.globals = ops::global_lists(layout, sets, {.multiple = questions ? 16 : 1, .always_copies = questions});
  batch.key = hash_key(batch.key + hash_key(static_cast<std::uint64_t>(batch.globals.front) << 32 |
                                            static_cast<std::uint64_t>(batch.globals.first)));
}

auto lists_of(const HostHeadBatch& batch) {
  return [&batch](auto fn) {
    for (const auto* list : {&batch.texts.ids, &batch.texts.types, &batch.texts.positions, &batch.texts.offsets,
                             &batch.lengths, &batch.targets, &batch.last})
      fn(*list);
    ops::GlobalLists::visit(batch.globals, fn);
  };
}

}  // namespace

HostHeadBatch make_head_batch(const tasks::EncoderReader& reader, tasks::TargetKind kind,
                              std::span<const HeadExample* const> examples) {
  HostHeadBatch batch;
  std::vector<const tasks::EncoderText*> texts;
  for (const HeadExample* example : examples) texts.push_back(&example->text);
  batch.texts = reader.pack(texts);
  batch.tokens = static_cast<std::int64_t>(batch.texts.ids.size());
  for (const HeadExample* example : examples) {
    const std::size_t wanted = kind == tasks::TargetKind::tags   ? example->text.ids.size()
                               : kind == tasks::TargetKind::span ? 2
                                                                 : 1;
    check(example->targets.size() == wanted, "training: {} targets for a text that wants {}", example->targets.size(),
          wanted);
    if (kind != tasks::TargetKind::span)
      batch.targets.insert(batch.targets.end(), example->targets.begin(), example->targets.end());
  }
  if (kind == tasks::TargetKind::span) {
    for (std::size_t side : {0u, 1u})
      for (const HeadExample* example : examples) batch.targets.push_back(example->targets[side]);
    pad_up(reader, batch);
    mark_globals(reader.settings().globals, batch);
    return batch;
  }
  if (reader.settings().padded) {
    pad_up(reader, batch);
    return batch;
  }
  for (std::size_t i = 1; i <= examples.size(); ++i) batch.last.push_back(batch.texts.offsets[i] - 1);
  fill_up(reader, batch);
  mark_globals(reader.settings().globals, batch);
  if (kind == tasks::TargetKind::tags) batch.targets.resize(batch.texts.ids.size(), tasks::kIgnored);
  return batch;
}

HeadBatches::Place HeadBatches::make(const HostHeadBatch& batch) const {
  Place place{ListMemory(backend_, lists_of(batch)), {}};
  const bool span = kind_ == tasks::TargetKind::span, padded = span || reader_.settings().padded;
  const auto rows = static_cast<std::int64_t>(batch.texts.ids.size());
  const Shape texts = padded ? Shape{rows / batch.texts.longest, batch.texts.longest} : Shape{rows};
  const auto take = [&](const auto& list, const Shape& shape) { return place.memory.take(list, shape); };
  const auto size = [](const std::vector<std::int32_t>& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
  models::BertInput& input = place.batch.input;
  input.texts.ids = take(batch.texts.ids, texts);
  input.types = take(batch.texts.types, texts);
  input.texts.positions = take(batch.texts.positions, texts);
  input.texts.offsets = take(batch.texts.offsets, size(batch.texts.offsets));
  input.texts.lengths = take(batch.lengths, size(batch.lengths));
  if (!padded) input.texts.longest = batch.texts.longest;
  if (reader_.settings().types == 0) input.types = {};
  place.batch.targets = take(batch.targets, span ? Shape{2, size(batch.lengths)[0]} : size(batch.targets));
  if (kind_ == tasks::TargetKind::number) {  // the same bits
    Window window = place.batch.targets.window();
    window.dtype = DType::f32;
    place.batch.targets = Tensor(place.batch.targets.memory(), window);
  }
  place.batch.last = take(batch.last, size(batch.last));
  if (batch.globals.front > 0)
    input.globals = std::make_shared<const ops::GlobalPositions>(
        batch.globals, [&](const std::vector<std::int32_t>& list) { return take(list, size(list)); });
  return place;
}

const tasks::HeadBatch& HeadBatches::put(const HostHeadBatch& batch) {
  auto found = places_.find(batch.key);
  if (found == places_.end()) found = places_.emplace(batch.key, make(batch)).first;
  found->second.memory.put(lists_of(batch), staged_);
  return found->second.batch;
}

}  // namespace attend::train
