#include "attend/checkpoint/unread_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"

namespace attend::checkpoint {

namespace {

std::mutex policy_mutex;
UnreadPolicy policy;

constexpr std::array<std::string_view, 16> kOtherHeads = {"cls.",
                                                          "lm_head.",
                                                          "classifier.",
                                                          "qa_outputs.",
                                                          "pooler.",
                                                          "vocab_transform.",
                                                          "vocab_layer_norm.",
                                                          "vocab_projector.",
                                                          "pre_classifier.",
                                                          "score.",
                                                          "class_labels_classifier.",
                                                          "bbox_predictor.",
                                                          "distillation_classifier.",
                                                          "fc.",
                                                          "head.",
                                                          "head_dist."};

}  // namespace

UnreadGuard::UnreadGuard(UnreadPolicy chosen) {
  const std::lock_guard lock(policy_mutex);
  before_ = std::exchange(policy, std::move(chosen));
}

UnreadGuard::~UnreadGuard() {
  const std::lock_guard lock(policy_mutex);
  policy = std::move(before_);
}

void UnreadGuard::be_strict() {
  const std::lock_guard lock(policy_mutex);
  policy.strict = true;
}

bool is_of_another_head(std::string_view name) {
  return std::ranges::any_of(kOtherHeads, [&](std::string_view head) {
    const std::size_t at = name.find(head);  // "pooler." also behind the body's prefix: "roberta.pooler.dense.weight"
    return at == 0 || (at != std::string_view::npos && head == "pooler." && name[at - 1] == '.');
  });
}

void report_unread(const std::string& source, std::span<const std::string> names) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> unread;
  for (const std::string& name : names)
    if (!is_of_another_head(name)) unread.push_back(name);
  if (unread.empty()) return;
  const std::size_t more = unread.size() > kShown ? unread.size() - kShown : 0;
  const bool one = unread.size() == 1;
  std::string message =
      fmt::format("{}: the model does not read {} {} of it: {}", source, unread.size(), one ? "tensor" : "tensors",
                  joined(std::span(unread).first(unread.size() - more), ", "));
  if (more) message += fmt::format(" and {} more", more);
  UnreadPolicy now;
  {
    const std::lock_guard lock(policy_mutex);
    now = policy;
  }
  check(!now.strict, "{} (--strict)", message);
  if (now.warn) now.warn(message + "; its answers may not be those of the model that was trained");
}

}  // namespace attend::checkpoint
