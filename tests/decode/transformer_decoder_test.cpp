// The decoder one token at a time gives the logits of teacher forcing: sources of different lengths, several rows a
// source, rows that trade places, sources that leave, and caches that grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/models/transformer.h"
#include "attend/nn/kv_cache.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kWords = 37;

models::TransformerConfig config_of(bool pre_norm, std::int64_t decoder_heads = 0) {
  return {.vocabulary = kWords,
          .width = 32,
          .heads = 4,
          .hidden = 48,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .max_length = 64,
          .dropout = 0.1f,
          .pre_norm = pre_norm,
          .decoder_heads = decoder_heads};
}

nn::Sequences padded(Backend& backend, const std::vector<Ids>& rows) {
  std::size_t longest = 0;
  for (const Ids& row : rows) longest = std::max(longest, row.size());
  Ids ids, lengths;
  for (const Ids& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.resize(ids.size() + longest - row.size(), 0);
    lengths.push_back(static_cast<std::int32_t>(row.size()));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  nn::Sequences result{.ids = make_tensor(backend, {count, static_cast<std::int64_t>(longest)}, DType::i32),
                       .lengths = make_tensor(backend, {count}, DType::i32)};
  upload(result.ids, ids), upload(result.lengths, lengths);
  return result;
}

// The logits behind the last token of a target, alone with its source.
std::vector<float> forced(const models::Transformer& model, Backend& backend, const Ids& source, const Ids& target) {
  Pass pass(backend);
  const Tensor states = model.decode(padded(backend, {source}).in(pass), padded(backend, {target}).in(pass));
  const std::vector<float> all = download(model.logits(states));
  return {all.end() - kWords, all.end()};
}

class Decoding : public OnDevice {};

// The paper's model, and one of every other score and position encoding.
std::vector<models::TransformerConfig> all_configs() {
  std::vector<models::TransformerConfig> configs = {config_of(false), config_of(true), config_of(true, 2)};
  for (const char* score : {"dot", "general", "additive", "cosine"}) {
    configs.push_back(config_of(true));
    configs.back().attention.attention_score = score;
  }
  configs.back().positions = "rotary";
  for (const char* positions : {"learned", "rotary", "relative"}) {
    configs.push_back(config_of(false));
    configs.back().positions = positions, configs.back().attention.attention_bias = false;
  }
  configs.push_back(config_of(true));
  configs.back().positions = "relative", configs.back().attention.attention_score = "additive";
  configs.push_back(config_of(true));
  configs.back().combination.position_combination = "concatenate";
  return configs;
}

TEST_P(Decoding, GivesTheLogitsOfTeacherForcing) {
  for (const models::TransformerConfig& config : all_configs()) {
    SCOPED_TRACE(config.attention.attention_score + " " + config.positions);
    models::Transformer model(config);
    nn::Parameters parameters(backend(), model, {.seed = 5});
    for (const nn::Parameters::Entry& entry : parameters.entries()) {
      if (entry.name.find("relative_bias") == std::string::npos) continue;
      std::vector<float> values = parameters.read(entry);  // not the zeros it starts from
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(3 * i));
      parameters.write(entry, values);
    }
    model.place(backend(), DType::f32);
    const std::vector<Ids> sources = {{4, 5, 6, 7, 8, 9, 2}, {10, 2}, {11, 12, 13, 14, 2}};
    constexpr std::size_t kGroup = 3;
    Pass pass(backend());
    const auto decoder = model.start(pass, padded(backend(), sources), kGroup);

    struct Row {
      std::size_t source;
      Ids target;
    };
    std::vector<Row> rows;
    for (std::size_t i = 0; i < sources.size() * kGroup; ++i) rows.push_back({i / kGroup, {}});
    std::uint64_t draws = 0;
    const auto random = [&](std::uint32_t below) { return random_word(9, 1, draws++) % below; };
    for (int step = 0; step < 40; ++step) {
      Ids tokens;
      for (Row& row : rows) {
        row.target.push_back(step == 0 ? 1 : static_cast<std::int32_t>(random(kWords)));
        tokens.push_back(row.target.back());
      }
      const nn::StepModel::Scores scores = decoder->step(tokens);
      ASSERT_EQ(scores.logits.size(), rows.size() * kWords);
      for (std::size_t r = 0; r < rows.size(); r += step % 8 == 7 ? 1 : 4) {
        const std::vector<float> expected = forced(model, backend(), sources[rows[r].source], rows[r].target);
        double sum = 0;
        for (std::size_t v = 0; v < expected.size(); ++v) {
          ASSERT_NEAR(scores.logits[r * kWords + v], expected[v], 2e-5) << "step " << step << ", row " << r;
          sum += std::exp(static_cast<double>(expected[v]));
        }
        EXPECT_NEAR(scores.log_sums[r], std::log(sum), 2e-5);
      }
      // Any row may go on from any row of its group; the middle source leaves first, then the first one; now and then
      // nothing moves.
      const bool leaves = step == 11 || step == 27;
      const std::size_t gone = step == 11 ? 1 : 0;
      Ids from;
      std::vector<Row> next;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (leaves && r / kGroup == gone) continue;
        const std::size_t parent = step % 5 == 3 ? r : r / kGroup * kGroup + random(kGroup);
        from.push_back(static_cast<std::int32_t>(parent));
        next.push_back(rows[parent]);
      }
      decoder->reorder(from);
      rows = std::move(next);
    }
    EXPECT_EQ(rows.size(), kGroup);
  }
}

// States that no encoder here made, without lengths: every memory is full.
TEST_P(Decoding, StartsFromAnyMemory) {
  models::Transformer model(config_of(false));
  nn::Parameters parameters(backend(), model, {.seed = 5});
  model.place(backend(), DType::f32);
  const Tensor memory = make_tensor(backend(), {2, 6, 32}, DType::f32);
  backend().random(memory, {RandomFill::normal, 0, 1, 3, 0});
  Pass pass(backend());
  const auto decoder = model.start(pass, models::Encoded{pass.input(memory)}, 2);
  std::vector<Ids> targets(4);
  for (std::int32_t step = 0; step < 5; ++step) {
    Ids tokens;
    for (std::int32_t row = 0; row < 4; ++row) {
      tokens.push_back((7 * step + 3 * row) % static_cast<std::int32_t>(kWords));
      targets[static_cast<std::size_t>(row)].push_back(tokens.back());
    }
    const nn::StepModel::Scores scores = decoder->step(tokens);
    for (std::int64_t row = 0; row < 4; ++row) {
      Pass forcing(backend());
      const models::Encoded its{forcing.input(memory.slice_first(row / 2, 1))};
      const nn::Sequences target = padded(backend(), {targets[static_cast<std::size_t>(row)]}).in(forcing);
      const std::vector<float> all = download(model.logits(model.decode(its, target)));
      for (std::int64_t v = 0; v < kWords; ++v)
        ASSERT_NEAR(scores.logits[static_cast<std::size_t>(row * kWords + v)],
                    all[static_cast<std::size_t>(step * kWords + v)], 2e-5);
    }
  }
  decoder->reorder(Ids{2, 3});  // the first memory is done
  EXPECT_EQ(decoder->step(Ids{1, 1}).logits.size(), static_cast<std::size_t>(2 * kWords));
  EXPECT_THROW(model.start(pass, models::Encoded{pass.input(memory.reshape({12, 32}))}, 1), Error);
}

TEST_P(Decoding, StopsAtTheLastPosition) {
  models::TransformerConfig config = config_of(true);
  config.max_length = 3;
  models::Transformer model(config);
  nn::Parameters parameters(backend(), model, {});
  model.place(backend(), DType::f32);
  Pass pass(backend());
  const auto decoder = model.start(pass, padded(backend(), {{4, 2}}), 1);
  for (int i = 0; i < 3; ++i) decoder->step(Ids{1});
  EXPECT_THROW(decoder->step(Ids{1}), Error);
  EXPECT_THROW(decoder->step(Ids{1, 1}), Error);
}

// Every number of a cache is known: position p of row r is 1000 r + p, values are negative keys.
TEST_P(Decoding, CachesGrowAndMove) {
  const std::int64_t width = 8, heads = 2;
  nn::KvCache cache(backend(), 4, {width, heads, DType::f32});
  std::vector<std::vector<float>> expected(4);  // by row, what each position holds
  for (int position = 0; position < 70; ++position) {
    std::vector<float> values;
    for (std::size_t row = 0; row < expected.size(); ++row) {
      const auto value = static_cast<float>(1000 * row + static_cast<std::size_t>(position));
      expected[row].push_back(value);
      values.insert(values.end(), 8, value), values.insert(values.end(), 8, -value);
    }
    cache.reserve(position + 1);
    const auto rows = static_cast<std::int64_t>(expected.size());
    Ids places;
    for (std::int64_t row = 0; row < rows; ++row)
      places.push_back(static_cast<std::int32_t>(row * cache.capacity() + position));
    const Tensor slots = make_tensor(backend(), {rows}, DType::i32);
    upload(slots, places);
    cache.put(tensor_of(backend(), {rows, 2 * width}, values), slots);
    cache.advance(1);
    if (position % 7 == 3) {
      const Ids from = position == 31 ? Ids{1, 0, 1} : position % 2 ? Ids{2, 0, 1} : Ids{0, 0, 2};
      std::vector<std::vector<float>> next;
      for (std::int32_t row : from) next.push_back(expected[static_cast<std::size_t>(row)]);
      expected = std::move(next);
      cache.reorder(nn::RowMoves(backend(), from));
    }
    ASSERT_EQ(cache.length(), position + 1);
    ASSERT_EQ(cache.by_heads(), backend().on_host());
    const std::vector<float> keys = download(cache.keys()), found = download(cache.values());
    const auto capacity = static_cast<std::size_t>(cache.capacity());
    ASSERT_EQ(cache.keys().dim(0), static_cast<std::int64_t>(expected.size()));
    for (std::size_t row = 0; row < expected.size(); ++row)
      for (std::size_t p = 0; p < expected[row].size(); ++p) {
        const auto by_heads = [&](std::size_t part) { return ((row * 4 + part) * capacity + p) * 4; };
        const std::size_t key = cache.by_heads() ? by_heads(1) + 1 : (row * capacity + p) * 8 + 5;
        const std::size_t value = cache.by_heads() ? by_heads(2) : (row * capacity + p) * 8;
        ASSERT_EQ(keys[key], expected[row][p]) << row << " " << p << " at " << position;
        ASSERT_EQ(found[value], -expected[row][p]);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Decoding, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
