// Roles of heads, on attention matrices made by hand.
#include "attend/look/inspect/head_roles.h"

#include <gtest/gtest.h>

#include <functional>

namespace attend::look {
namespace {

using Tokens = std::vector<std::string>;

// weight(r, c), each row scaled to a sum of 1.
std::vector<float> filled(std::size_t rows, std::size_t columns,
                          const std::function<double(std::size_t, std::size_t)>& weight) {
  std::vector<float> values(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += weight(r, c);
    for (std::size_t c = 0; c < columns; ++c) values[r * columns + c] = static_cast<float>(weight(r, c) / sum);
  }
  return values;
}

const Tokens kWords = {"[CLS]", " the", " cat", ",", " the", " dog", " [SEP]"};

HeadRole self_role(const std::function<double(std::size_t, std::size_t)>& weight, bool causal = false) {
  const std::vector<float> weights = filled(kWords.size(), kWords.size(), weight);
  return head_role({.weights = weights, .rows = kWords, .columns = kWords, .causal = causal});
}

TEST(HeadRoles, NeighboursAndEqualWords) {
  EXPECT_EQ(self_role([](auto r, auto c) { return c + 1 == r || (r == 0 && c == 0) ? 1 : 0; }).role, "previous");
  EXPECT_EQ(self_role([](auto r, auto c) { return c == r + 1 || (r == 6 && c == 6) ? 1 : 0; }).role, "next");
  EXPECT_EQ(self_role([](auto r, auto c) { return r == c ? 1 : 0; }).role, "same");
  // The two articles read each other; the other tokens read themselves.
  EXPECT_EQ(self_role([](auto r, auto c) { return kWords[r] == kWords[c] ? 1 : 0; }).role, "same");
}

TEST(HeadRoles, Sinks) {
  const HeadRole first = self_role([](auto, auto c) { return c == 0 ? 9 : 0.1; });
  EXPECT_EQ(first.role, "first");
  EXPECT_EQ(first.token, "[CLS]");
  EXPECT_NEAR(first.share, 9 / 9.6, 1e-6);
  const HeadRole end = self_role([](auto, auto c) { return c == 6 ? 1 : 0.05; });
  EXPECT_EQ(end.role, "end");
  EXPECT_EQ(end.token, "[SEP]");
  EXPECT_EQ(self_role([](auto, auto c) { return c == 3 ? 1 : 0.02; }).role, "punctuation");
}

TEST(HeadRoles, TheShareIsAMeanOverTheRowsThatCount) {
  // 0.6 on the token before, the rest on itself; row 0 has no token before it.
  const HeadRole role = self_role([](auto r, auto c) { return r == 0 ? c == 0 : c + 1 == r ? 0.6 : c == r ? 0.4 : 0; });
  EXPECT_EQ(role.role, "previous");
  EXPECT_NEAR(role.share, 0.6, 1e-6);
}

TEST(HeadRoles, EvenWeightsHaveNoRole) {
  const HeadRole role = self_role([](auto, auto) { return 1; });
  EXPECT_EQ(role.role, "");
  EXPECT_LT(role.share, kLeastShare);
}

TEST(HeadRoles, TheFirstRowOfAMaskedHeadIsNotCounted) {
  const HeadRole role = self_role(
      [](auto r, auto c) {
        return c > r ? 0 : r == 0 ? 1 : c + 1 == r ? 0.55 : c == r ? 0.45 : 0;
      },
      true);
  EXPECT_EQ(role.role, "previous");
  EXPECT_NEAR(role.share, 0.55, 1e-6);
}

Inspection translated(const std::vector<std::vector<float>>& heads) {
  Inspection seen;
  seen.source = {"black", " cat", ".", " </s>"}, seen.target = {"chat", " noir", ".", " </s>"}, seen.finished = true;
  SeenAttention cross{
      .place = {"decoder", "cross", 0}, .heads = static_cast<std::int64_t>(heads.size()), .rows = 4, .columns = 4};
  for (const auto& head : heads) cross.weights.insert(cross.weights.end(), head.begin(), head.end());
  seen.attention.push_back(cross);
  return seen;
}

TEST(HeadRoles, AlignmentOfATranslation) {
  const std::size_t meant[] = {1, 0, 2, 3};
  const auto aligned = filled(4, 4, [&](auto r, auto c) { return c == meant[r] ? 1 : 0.05; });
  const auto late = filled(4, 4, [&](auto r, auto c) { return r > 0 && c == meant[r - 1] ? 0.7 : 0.1; });
  const auto ends = filled(4, 4, [](auto, auto c) { return c == 3 ? 1 : 0.05; });
  const Inspection seen = translated({aligned, aligned, late, ends});
  EXPECT_EQ(mean_alignment(seen), (std::vector<std::ptrdiff_t>{1, 0, 2, -1}));
  const auto roles = head_roles(seen, "<s>");
  ASSERT_EQ(roles.size(), 1u);
  ASSERT_EQ(roles[0].size(), 4u);
  EXPECT_EQ(roles[0][0].role, "aligned");
  EXPECT_NEAR(roles[0][0].share, 1 / 1.15, 1e-5);
  EXPECT_EQ(roles[0][2].role, "aligned-previous");
  EXPECT_EQ(roles[0][3].role, "end");
  EXPECT_EQ(roles[0][3].token, "</s>");
}

TEST(HeadRoles, ADecoderAloneReadsPromptAndContinuation) {
  Inspection seen;
  seen.source = {"a", " b"}, seen.target = {" c"};
  seen.attention.push_back({.place = {"decoder", "self", 0},
                            .heads = 1,
                            .rows = 3,
                            .columns = 3,
                            .weights = {1, 0, 0, 0.9f, 0.1f, 0, 0.1f, 0.8f, 0.1f},
                            .causal = true});
  EXPECT_EQ(head_roles(seen, "")[0][0].role, "previous");
  seen.source = {"a"};  // fewer tokens than rows: nothing is claimed
  EXPECT_EQ(head_roles(seen, "")[0][0].role, "");
}

}  // namespace
}  // namespace attend::look
