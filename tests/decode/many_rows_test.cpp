// The step of many rows in one kernel (attend/cuda/decode/many_rows_kernel.cuh) on a Hopper without a GPU, beside plain
// loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attend/base/random.h"
#include "tests/decode/emulated_hopper.h"

namespace attend::test::many_rows {
namespace {

constexpr bool kSanitized = ATTEND_TEST_SANITIZED;  // cmake/tests.cmake

using SmallShape = cuda::ManyShape<256, 4, 1024>;
using SmallReader = cuda::ManyShape<256, 4, 1024, true>;

// The numbers of a small model, all of them bf16.
struct Model {
  static constexpr int C = 256, H = 4, F = 1024, D = 64;
  struct Layer {
    std::vector<float> norm1_weight, norm1_bias, input, input_bias, output, output_bias;
    std::vector<float> norm2_weight, norm2_bias, expand, expand_bias, contract, contract_bias;
    std::vector<float> memory_norm_weight = {}, memory_norm_bias = {}, query = {}, query_bias = {};
    std::vector<float> memory_output = {}, memory_output_bias = {};
  };
  std::vector<Layer> layers;
  std::vector<float> norm_weight, norm_bias;
  bool reads;  // a memory, and its activation is ReLU

  Model(int count, bool reads_memory) : reads(reads_memory) {
    for (int i = 0; i < count; ++i)
      layers.push_back({numbers(C, 0.2f, 1), numbers(C, 0.2f), numbers(C * 3 * C, 0.1f), numbers(3 * C, 0.1f),
                        numbers(C * C, 0.1f), numbers(C, 0.1f), numbers(C, 0.2f, 1), numbers(C, 0.2f),
                        numbers(C * F, 0.1f), numbers(F, 0.1f), numbers(F * C, 0.05f), numbers(C, 0.1f)});
    norm_weight = numbers(C, 0.2f, 1), norm_bias = numbers(C, 0.2f);
    if (!reads) return;
    for (Layer& layer : layers) {
      layer.memory_norm_weight = numbers(C, 0.2f, 1), layer.memory_norm_bias = numbers(C, 0.2f);
      layer.query = numbers(C * C, 0.1f), layer.query_bias = numbers(C, 0.1f);
      layer.memory_output = numbers(C * C, 0.1f), layer.memory_output_bias = numbers(C, 0.1f);
    }
  }
  std::vector<float> numbers(int count, float size, float center = 0) {
    std::vector<float> x;
    for (int i = 0; i < count; ++i) {
      random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
      x.push_back(float_of(bf16_of(center + size * (static_cast<float>(random_ >> 40) / (1 << 23) - 1))));
    }
    return x;
  }

 private:
  std::uint64_t random_ = 9;
};

std::vector<double> normed(const std::vector<double>& x, const std::vector<float>& weight,
                           const std::vector<float>& bias, double eps) {
  double mean = 0, squares = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) squares += (value - mean) * (value - mean);
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(squares / static_cast<double>(x.size()) + eps) * weight[i] + bias[i]);
  return y;
}
std::vector<double> times(const std::vector<double>& x, const std::vector<float>& matrix,
                          const std::vector<float>& bias) {
  std::vector<double> y(bias.begin(), bias.end());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[k] * matrix[k * y.size() + j];
  return y;
}

// What memory holds of some rows: caches [layers][rows, capacity, 2C] in bf16. Groups of rows have a memory each,
// [layers][memories, kRoom, 2C].
struct Rows {
  static constexpr int kCapacity = 160, kRoom = 70;
  std::vector<std::vector<std::uint16_t>> caches, memories;
  std::vector<std::int32_t> lengths, memory_lengths, places;  // places [rows, capacity], or none
  std::vector<std::uint16_t> x;
  std::size_t group = 1;

  const std::uint16_t* older(std::size_t layer, std::size_t row, std::size_t position) const {
    const std::size_t at = places.empty() ? row : static_cast<std::size_t>(places[row * kCapacity + position]);
    return caches[layer].data() + (at * kCapacity + position) * 2 * Model::C;
  }
};

// What a query [C] finds among keys and values [2C] each.
std::vector<double> attended(const double* query, const std::vector<const std::uint16_t*>& keys) {
  constexpr int C = Model::C, D = Model::D;
  std::vector<double> mixed(C);
  for (std::size_t head = 0; head < Model::H; ++head) {
    std::vector<double> weights;
    double sum = 0;
    for (const std::uint16_t* key : keys) {
      double score = 0;
      for (std::size_t d = head * D; d < (head + 1) * D; ++d) score += query[d] * float_of(key[d]) / 8;
      weights.push_back(std::exp(score)), sum += weights.back();
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (std::size_t d = head * D; d < (head + 1) * D; ++d) mixed[d] += weights[i] / sum * float_of(keys[i][C + d]);
  }
  return mixed;
}

// The step by plain loops: states [rows, C]. Keys and values of the newest position are added to the caches.
std::vector<double> expected_states(const Model& model, Rows& rows, double eps) {
  constexpr std::size_t C = Model::C;
  std::vector<double> states;
  for (std::size_t row = 0; row < rows.lengths.size(); ++row) {
    std::vector<double> stream;
    const auto add = [&](const std::vector<double>& x) {
      for (std::size_t i = 0; i < C; ++i) stream[i] += x[i];
    };
    for (std::size_t i = 0; i < C; ++i) stream.push_back(float_of(rows.x[row * C + i]));
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      const Model::Layer& layer = model.layers[l];
      const std::vector<double> qkv =
          times(normed(stream, layer.norm1_weight, layer.norm1_bias, eps), layer.input, layer.input_bias);
      const auto newest = static_cast<std::size_t>(rows.lengths[row]) - 1;
      std::uint16_t* cache = rows.caches[l].data() + (row * Rows::kCapacity + newest) * 2 * C;
      for (std::size_t i = 0; i < 2 * C; ++i) cache[i] = bf16_of(static_cast<float>(qkv[C + i]));
      std::vector<const std::uint16_t*> keys;
      for (std::size_t key = 0; key < newest; ++key) keys.push_back(rows.older(l, row, key));
      keys.push_back(cache);
      add(times(attended(qkv.data(), keys), layer.output, layer.output_bias));
      if (model.reads) {
        const std::vector<double> query =
            times(normed(stream, layer.memory_norm_weight, layer.memory_norm_bias, eps), layer.query, layer.query_bias);
        const std::size_t memory = row / rows.group;
        keys.clear();
        for (std::int32_t key = 0; key < (rows.memory_lengths.empty() ? Rows::kRoom : rows.memory_lengths[memory]);
             ++key)
          keys.push_back(rows.memories[l].data() + (memory * Rows::kRoom + static_cast<std::size_t>(key)) * 2 * C);
        add(times(attended(query.data(), keys), layer.memory_output, layer.memory_output_bias));
      }
      std::vector<double> hidden =
          times(normed(stream, layer.norm2_weight, layer.norm2_bias, eps), layer.expand, layer.expand_bias);
      for (double& u : hidden)
        u = model.reads ? std::max(u, 0.0) : 0.5 * u * (1 + std::tanh(0.7978845608 * (u + 0.044715 * u * u * u)));
      add(times(hidden, layer.contract, layer.contract_bias));
    }
    for (const double y : normed(stream, model.norm_weight, model.norm_bias, eps)) states.push_back(y);
  }
  return states;
}

// The kernel's weights and memory.
template <class Shape>
class Machine {
 public:
  explicit Machine(const Model& model) {
    for (const Model::Layer& layer : model.layers) {
      pack<typename Shape::Input>(layer.input, layer.input_bias, &layer.norm1_weight, &layer.norm1_bias);
      pack<typename Shape::Output>(layer.output, layer.output_bias, nullptr, nullptr);
      pack<typename Shape::Expand>(layer.expand, layer.expand_bias, &layer.norm2_weight, &layer.norm2_bias);
      pack<typename Shape::Contract>(layer.contract, layer.contract_bias, nullptr, nullptr);
      if (!Shape::kMemory) continue;
      pack<typename Shape::Query>(layer.query, layer.query_bias, &layer.memory_norm_weight, &layer.memory_norm_bias);
      pack<typename Shape::Output>(layer.memory_output, layer.memory_output_bias, nullptr, nullptr);
    }
    EXPECT_EQ(packed_.size(), model.layers.size() * static_cast<std::size_t>(Shape::kLayerBytes));
    params_.packed = packed_.data(), params_.layers = static_cast<int>(model.layers.size()), params_.eps = kEps;
    params_.norm_weight = norm_weight_.data(), params_.norm_bias = norm_bias_.data();
    std::memcpy(norm_weight_.data(), model.norm_weight.data(), sizeof(norm_weight_));
    std::memcpy(norm_bias_.data(), model.norm_bias.data(), sizeof(norm_bias_));
    params_.arrivals = &counters_[0], params_.before = &counters_[1];
    counters_[0] = counters_[1] = 0xfffffff0u;  // it wraps around
    params_.stream = stream_.data(), params_.moments = moments_.data();
    params_.mixed = mixed_.data(), params_.hidden = hidden_.data();
    params_.keys_ahead = 40;
    params_.activation = model.reads ? Activation::relu : Activation::gelu_tanh;
  }
  template <int Tiles>
  std::vector<float> run(Rows& rows, std::uint64_t seed) {
    cuda::ManyRowsParams p = params_;
    for (std::size_t i = 0; i < rows.caches.size(); ++i) p.caches[i] = rows.caches[i].data();
    p.rows = static_cast<int>(rows.lengths.size()), p.capacity = Rows::kCapacity;
    for (std::size_t i = 0; i < rows.memories.size(); ++i) p.memories[i] = rows.memories[i].data();
    p.memory_room = Rows::kRoom, p.group = static_cast<int>(rows.group);
    if (!rows.memory_lengths.empty()) p.memory_lengths = rows.memory_lengths.data();
    if (!rows.places.empty()) p.places = rows.places.data();
    std::vector<std::int32_t> slots;
    for (std::size_t row = 0; row < rows.lengths.size(); ++row)
      slots.push_back(static_cast<std::int32_t>(row) * Rows::kCapacity + rows.lengths[row] - 1);
    std::vector<std::uint16_t> states(rows.lengths.size() * Model::C, 0xffff);
    p.lengths = rows.lengths.data(), p.slots = slots.data(), p.x = rows.x.data(), p.states = states.data();
    EmulatedGpu gpu(Shape::kBlocks, cuda::kManyThreads, cuda::kManyRanks, sizeof(typename Shape::Shared), seed);
    gpu.run([&](void* shared) {
      cuda::ManyRowsBlock<Shape, Tiles, EmulatedHopper, cuda::NoStamps>(p,
                                                                        *static_cast<typename Shape::Shared*>(shared))
          .run();
    });
    std::vector<float> result;
    for (const std::uint16_t x : states) result.push_back(float_of(x));
    return result;
  }
  static constexpr float kEps = 1e-5f;

 private:
  template <class P>
  void pack(const std::vector<float>& matrix, const std::vector<float>& bias, const std::vector<float>* norm_weight,
            const std::vector<float>* norm_bias) {
    for (int block = 0; block < Shape::kBlocks; ++block) {
      const int cluster = block / cuda::kManyRanks, rank = block % cuda::kManyRanks;
      std::vector<std::uint16_t> weights(P::kColumns * P::kSlice);
      for (int j = 0; j < P::kColumns; ++j)
        for (int k = 0; k < P::kSlice; ++k)
          weights[static_cast<std::size_t>(P::weight_at(j, k))] =
              bf16_of(matrix[static_cast<std::size_t>(P::summed(rank, k) * P::kN + P::column(cluster, j))]);
      std::vector<float> floats;
      for (const std::vector<float>* norm : {norm_weight, norm_bias})
        for (int k = 0; norm && k < P::kSlice; ++k)
          floats.push_back((*norm)[static_cast<std::size_t>(P::summed(rank, k))]);
      for (int j = 0; j < P::kColumns; ++j) floats.push_back(bias[static_cast<std::size_t>(P::column(cluster, j))]);
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(weights.data());
      packed_.insert(packed_.end(), bytes, bytes + weights.size() * 2);
      bytes = reinterpret_cast<const std::uint8_t*>(floats.data());
      packed_.insert(packed_.end(), bytes, bytes + floats.size() * 4);
    }
  }

  cuda::ManyRowsParams params_;
  std::vector<std::uint8_t> packed_;
  alignas(16) std::array<float, Model::C> norm_weight_, norm_bias_;
  std::uint32_t counters_[2];
  // Zeros once, and then what the launches before have left.
  std::vector<float> stream_ = std::vector<float>(Shape::kStreams * cuda::kManyMostRows * Model::C);
  std::vector<float> moments_ = std::vector<float>(Shape::kStreams * cuda::kManyMostRows * Model::H * 2);
  std::vector<std::uint16_t> mixed_ = std::vector<std::uint16_t>(Shape::kAttentions * cuda::kManyMostRows * Model::C);
  std::vector<std::uint16_t> hidden_ = std::vector<std::uint16_t>(cuda::kManyMostRows * Model::F);
};

Rows some_rows(Model& model, int count, int longest) {
  Rows rows;
  rows.caches.resize(model.layers.size());
  for (auto& cache : rows.caches)
    for (const float x : model.numbers(count * Rows::kCapacity * 2 * Model::C, 1.0f)) cache.push_back(bf16_of(x));
  for (int row = 0; row < count; ++row) rows.lengths.push_back(row == 0 ? longest : 1 + row * 37 % longest);
  for (const float x : model.numbers(count * Model::C, 1.0f)) rows.x.push_back(bf16_of(x));
  return rows;
}
// Beams: all rows of a group of neighbours are as long, and their positions lie in any of its rows.
void share_positions(Rows& rows, int group) {
  const auto count = static_cast<int>(rows.lengths.size());
  for (int row = 0; row < count; ++row) {
    const int first = row / group * group;
    rows.lengths[static_cast<std::size_t>(row)] = rows.lengths[static_cast<std::size_t>(first)];
    for (int position = 0; position < Rows::kCapacity; ++position)
      rows.places.push_back(first + static_cast<int>(random_word(5, static_cast<std::uint32_t>(row),
                                                                 static_cast<std::uint64_t>(position)) %
                                                     static_cast<std::uint32_t>(group)));
  }
}
Rows some_beams(Model& model, int count, int group, int longest) {
  Rows rows = some_rows(model, count, longest);
  share_positions(rows, group);
  return rows;
}
// Beams that read one memory a group. ragged: memories have lengths of their own, the first is empty.
Rows some_groups(Model& model, int count, int group, int longest, bool ragged) {
  Rows rows = some_rows(model, count, longest);
  rows.group = static_cast<std::size_t>(group);
  rows.memories.resize(model.layers.size());
  for (auto& memory : rows.memories)
    for (const float x : model.numbers(count / group * Rows::kRoom * 2 * Model::C, 1.0f)) memory.push_back(bf16_of(x));
  for (int i = 0; ragged && i < count / group; ++i) rows.memory_lengths.push_back((Rows::kRoom + i * 69) % 70);
  if (group > 1) share_positions(rows, group);
  return rows;
}

template <class Shape>
class Steps : public testing::Test {
 protected:
  static constexpr int kLayers = 3;  // odd: the marks of the last layer are those of the next launch's first
  Model model_{kLayers, Shape::kMemory};
  Machine<Shape> machine_{model_};

  template <int Tiles>
  void expect_step(int count, int longest, int runs) {
    expect_step<Tiles>(some_rows(model_, count, longest), runs);
  }
  // Some runs, by other chances: near the truth, and the same bits every time.
  template <int Tiles>
  void expect_step(const Rows& begin, int runs) {
    const std::size_t count = begin.lengths.size();
    SCOPED_TRACE(std::to_string(count) + " rows");
    Rows truth_rows = begin;
    const std::vector<double> truth = expected_states(model_, truth_rows, Machine<Shape>::kEps);
    std::vector<float> first;
    for (int run = 0; run < runs; ++run) {
      Rows rows = begin;
      const std::vector<float> states =
          machine_.template run<Tiles>(rows, static_cast<std::uint64_t>(run) * 1000 + count);
      if (run == 0) first = states;
      ASSERT_EQ(std::memcmp(first.data(), states.data(), states.size() * sizeof(float)), 0) << "run " << run;
      double worst = 0, largest = 0;
      for (std::size_t i = 0; i < states.size(); ++i) {
        ASSERT_FALSE(std::isnan(states[i])) << i;
        worst = std::max(worst, std::abs(states[i] - truth[i])), largest = std::max(largest, std::abs(truth[i]));
      }
      EXPECT_LT(worst, 0.02 * largest);
      // Keys and values are where they belong, and nothing else has changed.
      double worst_key = 0;
      for (std::size_t l = 0; l < rows.caches.size(); ++l)
        for (std::size_t i = 0; i < rows.caches[l].size(); ++i) {
          const std::size_t row = i / (2 * Model::C * Rows::kCapacity), position = i / (2 * Model::C) % Rows::kCapacity;
          if (position + 1 == static_cast<std::size_t>(rows.lengths[row]))
            worst_key =
                std::max<double>(worst_key, std::abs(float_of(rows.caches[l][i]) - float_of(truth_rows.caches[l][i])));
          else
            ASSERT_EQ(rows.caches[l][i], begin.caches[l][i]);
        }
      EXPECT_LT(worst_key, 0.1);
    }
  }
};

using ManyRows = Steps<SmallShape>;
using ManyReaders = Steps<SmallReader>;

// One launch behind the other in the same memory, with more and with fewer rows than before.
TEST_F(ManyRows, AreAStep) {
  expect_step<1>(3, 20, 1);
  if (kSanitized) return;  // every thread of the GPU is a fiber, which takes long enough without
  expect_step<8>(34, 5, 1);
  expect_step<2>(9, 10, 1);
  expect_step<4>(18, 5, 1);
  expect_step<1>(some_beams(model_, 6, 3, 70), 1);
}

class LongManyRows : public ManyRows {};
TEST_F(LongManyRows, AreAStep) {
  expect_step<1>(3, 100, 2);
  expect_step<2>(13, 40, 1);
  expect_step<4>(25, 130, 1);
  expect_step<8>(61, 90, 2);
  expect_step<1>(8, 150, 1);
  expect_step<2>(16, 30, 1);
  expect_step<8>(33, 30, 1);
  expect_step<4>(32, 5, 1);
  expect_step<8>(some_beams(model_, 60, 4, 90), 1);
  expect_step<2>(some_beams(model_, 10, 5, 150), 1);
}

TEST_F(ManyReaders, AreAStep) {
  if (kSanitized) return;
  expect_step<1>(some_groups(model_, 6, 3, 12, true), 1);
  expect_step<4>(some_groups(model_, 17, 1, 5, true), 1);
}

class LongManyReaders : public ManyReaders {};
TEST_F(LongManyReaders, AreAStep) {
  expect_step<8>(some_groups(model_, 60, 4, 90, true), 2);
  expect_step<1>(some_groups(model_, 1, 1, 100, false), 1);
  expect_step<2>(some_groups(model_, 12, 12, 70, true), 1);
  expect_step<4>(some_groups(model_, 28, 4, 130, false), 1);
  expect_step<8>(some_groups(model_, 64, 1, 20, true), 1);
  expect_step<1>(some_groups(model_, 8, 2, 150, true), 1);
}

}  // namespace
}  // namespace attend::test::many_rows
