// embedding with scale and positions, and gather.
#include <fmt/core.h>

#include "attend/ops/embedding.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

struct EmbeddingSpec {
  Shape ids;
  std::int64_t rows = 1, width = 1;
  float scale = 1;
  std::int64_t positions = 0;  // 0: none
  bool position_ids = false;
};

Array embedding_reference(const EmbeddingSpec& spec, std::span<const Array> in) {
  Shape shape = spec.ids;
  shape.append(spec.width);
  Array y(shape);
  const Array &ids = in[0], &table = in[1];
  for (std::int64_t i = 0; i < ids.size(); ++i)
    for (std::int64_t c = 0; c < spec.width; ++c) {
      double value = table(ids[i], c) * spec.scale;
      if (spec.positions) {
        const auto place = spec.position_ids ? static_cast<std::int64_t>(in[3][i]) : i % ids.width();
        value += in[2](place, c);
      }
      y.at(i, c) = value;
    }
  return y;
}

Case embedding_case(const EmbeddingSpec& spec) {
  std::string name = "embedding";
  for (std::int64_t dim : spec.ids) name += fmt::format("_{}", dim);
  name += fmt::format("_of_{}_{}", spec.rows, spec.width);
  if (spec.scale != 1) name += "_scale";
  if (spec.positions) name += "_positions";
  if (spec.position_ids) name += "_ids";
  Case one{
      .name = name,
      .inputs = {ids(spec.ids, spec.rows), weights({spec.rows, spec.width})},
      .run =
          [spec](std::span<const Tensor> in) {
            return Tensors{ops::embedding(in[0], in[1],
                                          {.scale = spec.scale,
                                           .positions = spec.positions ? in[2] : Tensor(),
                                           .position_ids = spec.position_ids ? in[3] : Tensor()})};
          },
      .reference = [spec](std::span<const Array> in) { return Arrays{embedding_reference(spec, in)}; },
  };
  if (spec.positions) one.inputs.push_back(weights({spec.positions, spec.width}));
  if (spec.position_ids) one.inputs.push_back(ids(spec.ids, spec.positions));
  return one;
}

// Rows of x [N, ..]; some are taken more than once, some never.
Case gather_case(const Shape& x, std::vector<std::int32_t> rows) {
  Shape shape = x;
  shape.set(0, static_cast<std::int64_t>(rows.size()));
  std::string name = "gather";
  for (std::int64_t dim : shape) name += fmt::format("_{}", dim);
  return {
      .name = name + fmt::format("_of_{}", x[0]),
      .inputs = {reals(x), ints(std::move(rows))},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::gather(in[0], in[1])}; },
      .reference =
          [x, shape](std::span<const Array> in) {
            Array y(shape);
            const std::int64_t width = x.size() / x[0];
            for (std::int64_t i = 0; i < shape[0]; ++i)
              for (std::int64_t c = 0; c < width; ++c)
                y[i * width + c] = in[0][static_cast<std::int64_t>(in[1][i]) * width + c];
            return Arrays{y};
          },
  };
}

void add_bench(std::vector<Case>& cases, const char* name, Case::Size size, const EmbeddingSpec& spec) {
  Case one = embedding_case(spec);
  one.name = name;
  one.size = size;
  const double rows = static_cast<double>(spec.ids.size() * spec.width);
  one.forward.elements = 2 * rows;
  one.backward.elements = rows + static_cast<double>(spec.rows * spec.width);  // the whole table is written
  cases.push_back(std::move(one));
}

}  // namespace

static void add_embedding_cases(std::vector<Case>& cases) {
  cases.push_back(embedding_case({.ids = {3, 5}, .rows = 11, .width = 17}));
  cases.push_back(embedding_case({.ids = {3, 5}, .rows = 11, .width = 17, .scale = 4.5f}));
  cases.push_back(embedding_case({.ids = {3, 5}, .rows = 11, .width = 24, .scale = 4.5f, .positions = 5}));
  cases.push_back(embedding_case({.ids = {2, 7}, .rows = 33, .width = 33, .positions = 19}));
  cases.push_back(
      embedding_case({.ids = {2, 9}, .rows = 9, .width = 8, .scale = 2, .positions = 4, .position_ids = true}));
  cases.push_back(embedding_case({.ids = {1}, .rows = 1, .width = 1}));
  cases.push_back(embedding_case({.ids = {0, 4}, .rows = 3, .width = 5, .positions = 6}));
  cases.push_back(embedding_case({.ids = {3, 0}, .rows = 3, .width = 5, .positions = 6}));
  // Many tokens of few rows: long sums into each.
  cases.push_back(embedding_case({.ids = {5, 67}, .rows = 3, .width = 20}));
  cases.push_back(embedding_case({.ids = {4, 33}, .rows = 300, .width = 65, .positions = 40}));
  cases.push_back(gather_case({5, 9}, {4, 0, 4, 2}));
  cases.push_back(gather_case({3, 2, 7}, {1, 1, 0, 2, 1}));
  cases.push_back(gather_case({4, 3}, {}));

  add_bench(cases, "embedding_1024_of_37000_512", Case::Size::base,
            {.ids = {8, 128}, .rows = 37000, .width = 512, .scale = 22.6f, .positions = 128});
  add_bench(cases, "embedding_65536_of_50304_768", Case::Size::large,
            {.ids = {64, 1024}, .rows = 50304, .width = 768, .positions = 1024});
}

const CaseList kEmbeddingCases("embedding", add_embedding_cases);

}  // namespace attend::test
