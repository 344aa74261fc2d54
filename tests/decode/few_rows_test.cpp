// The plan of a step of few rows in one kernel (attend/cuda/decode/few_rows_plan.h): everything is computed once, fits,
// and makes the steps of GPT-2.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attend/base/random.h"
#include "attend/models/gpt2.h"
#include "attend/nn/parameters.h"
#include "tests/decode/few_rows_emulation.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using LargeShape = cuda::FewShape<768, 12, 3072>;
using SmallShape = cuda::FewShape<256, 4, 1024>;

// Numbers 0 to size - 1, each once.
class Once {
 public:
  explicit Once(std::int64_t size) : seen_(static_cast<std::size_t>(size)) {}
  void add(std::int64_t i) {
    good_ = good_ && i >= 0 && i < static_cast<std::int64_t>(seen_.size()) && !seen_[static_cast<std::size_t>(i)];
    if (good_) seen_[static_cast<std::size_t>(i)] = true, ++count_;
  }
  bool all() const { return good_ && count_ == seen_.size(); }

 private:
  std::vector<bool> seen_;
  std::size_t count_ = 0;
  bool good_ = true;
};

template <class P>
void expect_whole_product(int clusters) {
  Once matrix(std::int64_t{P::kN} * P::kK), weights(P::kColumns * P::kSlice), partials(P::kPartials),
      tiles(P::kTiles * cuda::kFewTiles), x(P::kSlice * cuda::kFewGroupRows);
  for (int cluster = 0; cluster < clusters; ++cluster)
    for (int rank = 0; rank < cuda::kFewRanks; ++rank)
      for (int j = 0; j < P::kColumns; ++j)
        for (int k = 0; k < P::kSlice; ++k)
          matrix.add(std::int64_t{P::column(cluster, j)} * P::kK + P::summed(rank, k));
  for (int k = 0; k < P::kSlice; ++k) {
    for (int j = 0; j < P::kColumns; ++j) weights.add(P::weight_at(j, k));
    for (int row = 0; row < cuda::kFewGroupRows; ++row) x.add(P::x_at(row, k));
  }
  for (int warp = 0; warp < cuda::kFewWarps; ++warp)
    for (int i = 0; i < P::kEach; ++i)
      for (int j = 0; j < 2; ++j) {
        const int tile = P::tile_of(warp, i), row_tile = P::row_tile_of(warp, j);
        tiles.add(tile * cuda::kFewTiles + row_tile);
        for (int lane = 0; lane < 32; ++lane)
          for (int e = 0; e < 4; ++e) {
            const int at =
                P::partial_at(row_tile, tile * 16 + cuda::accumulator_column(lane, e), cuda::accumulator_row(lane, e));
            partials.add(at);
            EXPECT_EQ(at % 2, e % 2) << "two are written at once";
          }
      }
  EXPECT_TRUE(matrix.all());
  EXPECT_TRUE(weights.all());
  EXPECT_TRUE(partials.all());
  EXPECT_TRUE(tiles.all());
  EXPECT_TRUE(x.all());
  // A lane's 16 bytes of a block are 8 neighbours of its row; and a block of weights or activations is one run.
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 8; ++e) {
      EXPECT_EQ(P::weight_at(8 + cuda::lane_row(lane), cuda::lane_k(lane) + e), P::weight_at(8, 0) + lane * 8 + e);
      EXPECT_EQ(P::x_at(8 + cuda::lane_row(lane), cuda::lane_k(lane) + e), P::x_at(8, 0) + lane * 8 + e);
    }
  // Neighbours of 8 columns stay neighbours: they are written 16 bytes at a time.
  for (int j = 0; j < P::kColumns; ++j) EXPECT_EQ(P::column(1, j), P::column(1, j / 8 * 8) + j % 8);
  // A thread adds up four rows of a column, and sends 8 columns of a row.
  EXPECT_LE(P::kColumns * 2, cuda::kFewThreads);
}

template <class Shape>
void expect_whole_plan() {
  expect_whole_product<typename Shape::Input>(Shape::kClusters);
  expect_whole_product<typename Shape::Output>(Shape::kClusters);
  expect_whole_product<typename Shape::Expand>(Shape::kClusters);
  expect_whole_product<typename Shape::Contract>(Shape::kClusters);
  EXPECT_LE(sizeof(typename Shape::Shared), static_cast<std::size_t>(cuda::kSharedOfBlock));
  // A head's queries, keys and values are its cluster's.
  for (int cluster = 0; cluster < Shape::kClusters; ++cluster)
    for (int j = 0; j < 3 * cuda::kFewHead; ++j)
      EXPECT_EQ(Shape::Input::column(cluster, j),
                j / cuda::kFewHead * Shape::kWidth + cluster * cuda::kFewHead + j % cuda::kFewHead);
  // Activations, and a rank's slice of a group of them as one run.
  for (const int width : {Shape::kWidth, Shape::kHidden}) {
    Once places(std::int64_t{cuda::kFewMostRows} * width);
    for (int row = 0; row < cuda::kFewMostRows; ++row)
      for (int k = 0; k < width; ++k) places.add(cuda::activation_at(row, k, width));
    EXPECT_TRUE(places.all());
  }
  for (const int row : {0, 7, 63, 64, 127})
    for (int k = 0; k < Shape::Contract::kSlice; ++k)
      EXPECT_EQ(cuda::activation_at(row, Shape::Contract::summed(5, k), Shape::kHidden),
                cuda::activation_at(row / 64 * 64, Shape::Contract::summed(5, 0), Shape::kHidden) +
                    Shape::Contract::x_at(row % 64, k));
  // Partial softmaxes of all rows lie beside each other.
  Once found(std::int64_t{cuda::kFewMostRows} * (cuda::kFewHead + 2));
  for (int row = 0; row < cuda::kFewMostRows; ++row) {
    for (int d = 0; d < cuda::kFewHead; ++d) found.add(Shape::found_at(row, d));
    found.add(Shape::maximum_at(row)), found.add(Shape::maximum_at(row) + 1);
  }
  EXPECT_TRUE(found.all());
  EXPECT_LE(cuda::kFewMostRows * (cuda::kFewHead + 2), Shape::kPartials);
}

TEST(FewRowsPlan, EverythingOnce) {
  expect_whole_plan<LargeShape>();
  expect_whole_plan<SmallShape>();
  EXPECT_LE(LargeShape::kBlocks, 132) << "one block per multiprocessor";
  EXPECT_EQ(LargeShape::barriers(12), 49);
}

TEST(FewRowsPlan, EveryKeyAndRowOnce) {
  for (int length = 1; length < 300; ++length) {
    Once keys(length);
    for (int rank = 0; rank < cuda::kFewRanks; ++rank) {
      const int each = cuda::keys_of_rank(length), begin = std::min(rank * each, length);
      for (int key = begin; key < std::min(begin + each, length); ++key) keys.add(key);
    }
    ASSERT_TRUE(keys.all()) << length;
  }
  for (int rows = 1; rows <= cuda::kFewMostRows; ++rows) {
    Once joined(rows);
    for (int rank = 0; rank < cuda::kFewRanks; ++rank)
      for (int i = 0; i < cuda::joined_rows(rank, rows); ++i) joined.add(cuda::joined_row(rank, i));
    ASSERT_TRUE(joined.all()) << rows;
  }
}

// A model of the small shape, and what the kernel reads of it.
class FewRowsStep : public testing::Test {
 protected:
  static constexpr std::int64_t kVocabulary = 96, kCapacity = 24;
  static models::GPT2Config config() {
    models::GPT2Config config;
    config.vocabulary = kVocabulary, config.max_length = kCapacity;
    config.width = 256, config.heads = 4, config.layers = 2;
    config.init_deviation = 0.08f;
    return config;
  }
  FewRowsStep() {
    // Norms and biases of a new model are ones and zeros, which would hide much.
    for (const auto& entry : parameters_.entries()) {
      std::vector<float> values = parameters_.read(entry);
      const auto stream = static_cast<std::uint32_t>(weights_.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += 0.05f * (static_cast<float>(random_word(5, stream, i) % 2001) / 1000 - 1);
      parameters_.write(entry, values);
      weights_[entry.name] = std::move(values);
    }
  }
  const std::vector<float>& weight(const std::string& ending) const {
    for (const auto& [name, values] : weights_)
      if (name.ends_with(ending)) return values;
    throw std::runtime_error("no weight ends with " + ending);
  }
  std::vector<EmulatedLayer> layers() const {
    std::vector<EmulatedLayer> all;
    for (std::int64_t i = 0; i < config().layers; ++i) {
      const std::string h = "h." + std::to_string(i) + ".";
      all.push_back({weight(h + "ln_1.weight"), weight(h + "ln_1.bias"), weight(h + "attn.c_attn.weight"),
                     weight(h + "attn.c_attn.bias"), weight(h + "attn.c_proj.weight"), weight(h + "attn.c_proj.bias"),
                     weight(h + "ln_2.weight"), weight(h + "ln_2.bias"), weight(h + "mlp.c_fc.weight"),
                     weight(h + "mlp.c_fc.bias"), weight(h + "mlp.c_proj.weight"), weight(h + "mlp.c_proj.bias")});
    }
    return all;
  }
  // The stream behind the last layer at every position of texts, [texts, T, C]: what the layers make of them.
  std::vector<float> expected(const std::vector<std::int32_t>& ids, std::int64_t texts) {
    Pass pass(cpu());
    const Tensor tensor = make_tensor(cpu(), {texts, static_cast<std::int64_t>(ids.size()) / texts}, DType::i32);
    upload(tensor, ids);
    return download(model_.body().states(nn::Sequences{tensor}.in(pass)));
  }
  // The norm behind the last layer.
  std::vector<float> normed(const std::vector<float>& stream) const {
    const std::vector<float>&w = weight("ln_f.weight"), &b = weight("ln_f.bias");
    std::vector<float> states;
    for (std::size_t row = 0; row < stream.size() / w.size(); ++row) {
      const float* x = stream.data() + row * w.size();
      double mean = 0, squares = 0;
      for (std::size_t i = 0; i < w.size(); ++i) mean += x[i] / static_cast<double>(w.size());
      for (std::size_t i = 0; i < w.size(); ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(w.size()) + config().norm_eps);
      for (std::size_t i = 0; i < w.size(); ++i)
        states.push_back(static_cast<float>((x[i] - mean) * scale) * w[i] + b[i]);
    }
    return states;
  }

  models::GPT2LanguageModel model_{config()};
  nn::Parameters parameters_{cpu(), model_, {.seed = 3, .trained = false}};
  std::map<std::string, std::vector<float>> weights_;
};

TEST_F(FewRowsStep, IsAStepOfTheLayers) {
  const auto gelu = [](float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); };
  // Few rows and many positions, and rows in two groups, both with tiles that are not full. Odd rows begin a step late.
  for (const auto& [rows, steps] : {std::pair{5, 10}, std::pair{66, 2}}) {
    FewRowsEmulation<SmallShape, decltype(gelu)> step(layers(), config().norm_eps, kCapacity, gelu);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < rows * steps; ++i)
      ids.push_back(static_cast<std::int32_t>(random_word(7, 1, static_cast<std::uint64_t>(i)) % kVocabulary));
    const std::vector<float> all = expected(ids, rows);
    const std::vector<float>&tokens = weight("wte.weight"), &positions = weight("wpe.weight");
    constexpr std::size_t kWidth = 256;
    for (int i = 0; i < steps; ++i) {
      std::vector<float> x;
      std::vector<int> lengths;
      for (int row = 0; row < rows; ++row) {
        const int position = std::max(0, i - row % 2);
        lengths.push_back(position + 1);
        const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(row * steps + position)]);
        for (std::size_t c = 0; c < kWidth; ++c)
          x.push_back(tokens[id * kWidth + c] + positions[static_cast<std::size_t>(position) * kWidth + c]);
      }
      const std::vector<float> states = normed(step.step(x, lengths));
      float worst = 0, largest = 0;
      for (int row = 0; row < rows; ++row)
        for (std::size_t c = 0; c < kWidth; ++c) {
          const float truth =
              all[static_cast<std::size_t>(row * steps + lengths[static_cast<std::size_t>(row)] - 1) * kWidth + c];
          const float difference = std::abs(states[static_cast<std::size_t>(row) * kWidth + c] - truth);
          ASSERT_FALSE(std::isnan(difference)) << "row " << row << ", step " << i;
          worst = std::max(worst, difference), largest = std::max(largest, std::abs(truth));
        }
      EXPECT_LT(worst, 1e-4f * largest) << rows << " rows, step " << i;
    }
  }
}

}  // namespace
}  // namespace attend::test
