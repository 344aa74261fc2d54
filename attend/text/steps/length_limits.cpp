#include "attend/text/steps/length_limits.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/text/json_view.h"

namespace attend::text {

namespace {

bool is_left(const JsonView& json) {
  const std::string side = json.text("direction", "Right");
  if (side != "Left" && side != "Right") json["direction"].complain("must be Left or Right");
  return side == "Left";
}

template <class List>
void cut(List& list, std::size_t length, bool left) {
  if (left) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(length));
  list.resize(length);
}

void cut(Encoding& encoding, std::size_t length, bool left) {
  if (encoding.size() <= length) return;
  cut(encoding.ids, length, left);
  cut(encoding.tokens, length, left);
  cut(encoding.offsets, length, left);
  cut(encoding.type_ids, length, left);
}

}  // namespace

Truncation::Truncation(const JsonView& json)
    : max_length_(static_cast<std::size_t>(json["max_length"].integer(0, INT64_MAX))), left_(is_left(json)) {
  const std::string name = json.text("strategy", "LongestFirst");
  if (name == "OnlyFirst") {
    strategy_ = Strategy::only_first;
  } else if (name == "OnlySecond") {
    strategy_ = Strategy::only_second;
  } else if (name != "LongestFirst") {
    json["strategy"].complain("is {}, which is not supported", shown(name));
  }
}

void Truncation::apply(std::vector<Encoding>& texts, std::size_t added) const {
  check(added <= max_length_, "encode: truncation to {} tokens leaves no room for the {} special ones", max_length_,
        added);
  const std::size_t room = max_length_ - added;
  std::size_t total = 0;
  for (const Encoding& text : texts) total += text.size();
  if (total <= room) return;
  const std::size_t excess = total - room;
  if (room == 0) {
    for (Encoding& text : texts) cut(text, 0, left_);
  } else if (strategy_ == Strategy::longest_first) {
    if (texts.size() == 1) return cut(texts[0], room, left_);
    std::size_t shorter = std::min(texts[0].size(), texts[1].size());
    std::size_t longer = room - std::min(room, shorter);
    if (shorter > longer) {  // both are too long
      shorter = room / 2;
      longer = room - shorter;
    }
    const bool swapped = texts[0].size() > texts[1].size();
    cut(texts[0], swapped ? longer : shorter, left_);
    cut(texts[1], swapped ? shorter : longer, left_);
  } else {
    const bool first = strategy_ == Strategy::only_first;
    check(first || texts.size() == 2, "encode: truncation is of the second text, but there is only one");
    Encoding& target = texts[first ? 0 : 1];
    check(target.size() > excess, "encode: truncation to {} tokens would take more than the whole {} text", max_length_,
          first ? "first" : "second");
    cut(target, target.size() - excess, left_);
  }
}

namespace {

std::size_t padded_length(const JsonView& json) {
  const std::int64_t length = json.integer(0, INT64_MAX);
  if (length > limits::kLongestPadding)
    json.complain("must be from 0 to {} (kLongestPadding in attend/base/limits.h)", limits::kLongestPadding);
  return static_cast<std::size_t>(length);
}

}  // namespace

Padding::Padding(const JsonView& json)
    : id_(static_cast<TokenId>(json["pad_id"].integer(0, kLargestTokenId))),
      type_(static_cast<std::int32_t>(json["pad_type_id"].integer(0, kLargestTokenId))),
      token_(json["pad_token"].text()),
      left_(is_left(json)) {
  if (token_.size() > limits::kLongestToken)
    json["pad_token"].complain("is longer than {} bytes (kLongestToken in attend/base/limits.h)",
                               limits::kLongestToken);
  const JsonView strategy = json["strategy"];
  if (!strategy.is_string()) {
    length_ = padded_length(strategy["Fixed"]);
  } else if (strategy.text() != "BatchLongest") {
    strategy.complain("is {}, which is not supported", shown(strategy.text()));
  }
  if (const auto multiple = json.find("pad_to_multiple_of"))
    multiple_of_ = std::max<std::size_t>(padded_length(*multiple), 1);
}

void Padding::apply(Encoding& encoding) const {
  const std::size_t least = std::max(length_, encoding.size());
  const std::size_t length = (least + multiple_of_ - 1) / multiple_of_ * multiple_of_;
  const std::size_t missing = length - encoding.size();
  const auto pad = [&](auto& list, const auto& value) {
    list.insert(left_ ? list.begin() : list.end(), missing, value);
  };
  pad(encoding.ids, id_);
  pad(encoding.tokens, token_);
  pad(encoding.offsets, Span{});
  pad(encoding.type_ids, type_);
}

}  // namespace attend::text
