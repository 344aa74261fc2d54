// MPNet against a small random model of transformers 5.17 (tests/verify/mpnet_classify: 141, 57 and 9 tokens), and its
// texts one after another against the same texts side by side.
#include <gtest/gtest.h>

#include <vector>

#include "attend/models/bert.h"
#include "attend/verify/verify.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

TEST(MPNet, ComputesWhatTransformersDoes) {
  const verify::VerifyReport report = verify::verify("tests/verify/mpnet_classify", cpu());
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.tensors.size(), 2u);
}

struct MPNetBody {
  models::Bert bert;
  template <class Visitor>
  void visit(Visitor&& v) {
    bert.visit(v);
  }
};

Tensor ints(Pass& pass, const Shape& shape, const std::vector<std::int32_t>& values) {
  const Tensor made = make_tensor(cpu(), shape, DType::i32);
  upload(made, values);
  return pass.input(made);
}

TEST(MPNet, PackedTextsAreWhatPaddedOnesAre) {
  models::BertConfig config{.family = models::BertFamily::mpnet, .vocabulary = 50, .max_length = 40, .width = 32};
  config.layers = 2, config.heads = 4, config.hidden = 48, config.pad = 1, config.init_deviation = 0.5f;
  MPNetBody model{models::Bert(config, models::Bert::Pooler::without)};
  const nn::Parameters parameters(cpu(), model, {.seed = 4, .trained = false});
  const std::int64_t T = 20;
  const std::vector<std::int32_t> lengths = {20, 7, 13};
  std::vector<std::int32_t> padded, packed, packed_positions, offsets = {0};
  for (const std::int32_t length : lengths) {
    for (std::int32_t i = 0; i < T; ++i) {
      const std::int32_t id = i < length ? 5 + (7 * i + length) % 45 : 1;
      padded.push_back(id);
      if (i < length) packed.push_back(id), packed_positions.push_back(2 + i);
    }
    offsets.push_back(static_cast<std::int32_t>(packed.size()));
  }
  Pass pass(cpu());
  const auto rows = static_cast<std::int64_t>(packed.size());
  models::BertInput side_by_side{{.ids = ints(pass, {3, T}, padded), .lengths = ints(pass, {3}, lengths)}};
  side_by_side.texts.positions = ints(pass, {3, T}, models::roberta_positions(padded, T, 1));
  const models::BertInput one_behind_another{{.ids = ints(pass, {rows}, packed),
                                              .offsets = ints(pass, {4}, offsets),
                                              .positions = ints(pass, {rows}, packed_positions),
                                              .longest = T}};
  const std::vector<float> a = download(model.bert.states(side_by_side)),
                           b = download(model.bert.states(one_behind_another));
  std::size_t at = 0;
  for (std::size_t text = 0; text < lengths.size(); ++text)
    for (std::size_t i = 0; i < static_cast<std::size_t>(lengths[text]) * 32; ++i)
      ASSERT_NEAR(a[text * static_cast<std::size_t>(T) * 32 + i], b[at++], 1e-4) << text << " " << i;
}

}  // namespace
}  // namespace attend::test
