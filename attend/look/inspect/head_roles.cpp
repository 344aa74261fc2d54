#include "attend/look/inspect/head_roles.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace attend::look {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n\t");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \n\t") - begin + 1);
}

bool is_punctuation(std::string_view token) {
  const std::string_view text = trimmed(token);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::string_view(".,;:!?()[]\"'-").find(c) != std::string_view::npos;
  });
}

// The mean over rows of the weight that belongs to a pattern; a row where it cannot apply is not counted.
using Applies = std::function<bool(std::size_t row)>;
using Belongs = std::function<bool(std::size_t row, std::size_t column)>;
double share_of(const HeadWeights& head, const Applies& applies, const Belongs& belongs) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    if (!applies(r) || (head.causal && r == 0)) continue;  // a first row without a choice says nothing
    ++count;
    for (std::size_t c = 0; c < head.columns.size(); ++c)
      if (belongs(r, c)) sum += static_cast<double>(head.weights[r * head.columns.size() + c]);
  }
  return count ? sum / static_cast<double>(count) : 0;
}

std::vector<std::string> with_start(const std::string& start, const std::vector<std::string>& target) {
  std::vector<std::string> inputs{start};
  if (!target.empty()) inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  return inputs;
}

struct Found {
  HeadRole best;
  void offer(std::string role, double share, std::string token = {}) {
    if (share > best.share) best = {std::move(role), share, std::move(token)};
  }
};

// Patterns between neighbours and equal tokens, of self-attention.
void offer_self(const HeadWeights& head, Found& found) {
  const std::size_t rows = head.rows.size();
  found.offer("same", share_of(
                          head, [](std::size_t) { return true; },
                          [&](std::size_t r, std::size_t c) {
                            return r == c || trimmed(head.rows[r]) == trimmed(head.columns[c]);
                          }));
  found.offer("previous",
              share_of(
                  head, [](std::size_t r) { return r > 0; }, [](std::size_t r, std::size_t c) { return c + 1 == r; }));
  if (!head.causal)
    found.offer("next", share_of(
                            head, [&](std::size_t r) { return r + 1 < rows; },
                            [](std::size_t r, std::size_t c) { return c == r + 1; }));
}

void offer_aligned(const HeadWeights& head, Found& found) {
  if (head.alignment.size() != head.rows.size()) return;
  const auto meant = [&](std::size_t r) { return head.alignment[r]; };
  found.offer("aligned", share_of(
                             head, [&](std::size_t r) { return meant(r) >= 0; },
                             [&](std::size_t r, std::size_t c) { return std::cmp_equal(c, meant(r)); }));
  // Where both words belong to one source token, nothing tells the two patterns apart.
  found.offer("aligned-previous",
              share_of(
                  head, [&](std::size_t r) { return r > 0 && meant(r - 1) >= 0 && meant(r - 1) != meant(r); },
                  [&](std::size_t r, std::size_t c) { return std::cmp_equal(c, meant(r - 1)); }));
}

// One token that takes the weight of most others: a neighbour of it would be "previous" or "next" as well.
void offer_sinks(const HeadWeights& head, Found& found) {
  const std::size_t columns = head.columns.size(), last = columns - 1;
  found.offer(
      "first",
      share_of(
          head, [&](std::size_t r) { return !head.self || r >= 2; }, [](std::size_t, std::size_t c) { return c == 0; }),
      std::string(trimmed(head.columns[0])));
  if (!head.causal)
    found.offer("end",
                share_of(
                    head, [&](std::size_t r) { return !head.self || r + 2 < columns; },
                    [&](std::size_t, std::size_t c) { return c == last; }),
                std::string(trimmed(head.columns[last])));
  if (std::ranges::any_of(head.columns, is_punctuation))
    found.offer("punctuation", share_of(
                                   head, [&](std::size_t r) { return !is_punctuation(head.rows[r]); },
                                   [&](std::size_t, std::size_t c) { return is_punctuation(head.columns[c]); }));
}

}  // namespace

HeadRole head_role(const HeadWeights& head) {
  Found found;
  if (head.rows.empty() || head.columns.size() < 2) return {};
  if (head.self)
    offer_self(head, found);
  else
    offer_aligned(head, found);
  offer_sinks(head, found);
  if (found.best.share < kLeastShare) return {.role = {}, .share = found.best.share};
  return found.best;
}

std::vector<std::ptrdiff_t> mean_alignment(const Inspection& inspection) {
  std::vector<double> sum;
  std::size_t rows = 0, columns = 0;
  for (const SeenAttention& layer : inspection.attention) {
    if (layer.place.kind != "cross") continue;
    rows = layer.rows, columns = layer.columns;
    sum.resize(rows * columns);
    for (std::size_t i = 0; i < layer.weights.size(); ++i) sum[i % sum.size()] += static_cast<double>(layer.weights[i]);
  }
  std::vector<std::ptrdiff_t> result(rows, -1);
  for (std::size_t r = 0; r < rows && columns > 1; ++r) {
    if (inspection.finished && r + 1 == rows) continue;  // the end token is no word
    const auto row = sum.begin() + static_cast<std::ptrdiff_t>(r * columns);
    result[r] = std::max_element(row, row + static_cast<std::ptrdiff_t>(columns) - 1) - row;
  }
  return result;
}

std::vector<std::vector<HeadRole>> head_roles(const Inspection& inspection, const std::string& start) {
  const bool translates =
      std::ranges::any_of(inspection.attention, [](const SeenAttention& a) { return a.place.kind == "cross"; });
  std::vector<std::string> written = inspection.source;  // what a decoder without a source reads
  written.insert(written.end(), inspection.target.begin(), inspection.target.end());
  if (translates) written = with_start(start, inspection.target);
  const std::vector<std::ptrdiff_t> alignment = mean_alignment(inspection);
  std::vector<std::vector<HeadRole>> roles;
  for (const SeenAttention& layer : inspection.attention) {
    const bool cross = layer.place.kind == "cross", reads = layer.place.stack == "encoder";
    const std::vector<std::string>& rows = reads ? inspection.source : cross ? inspection.target : written;
    const std::vector<std::string>& columns = reads || cross ? inspection.source : written;
    std::vector<HeadRole>& heads = roles.emplace_back();
    const std::size_t size = layer.rows * layer.columns;
    const bool known = rows.size() == layer.rows && columns.size() == layer.columns;
    for (std::size_t h = 0; h < static_cast<std::size_t>(layer.heads); ++h)
      heads.push_back(!known ? HeadRole{}
                             : head_role({.weights = std::span(layer.weights).subspan(h * size, size),
                                          .rows = rows,
                                          .columns = columns,
                                          .self = !cross,
                                          .causal = layer.causal,
                                          .alignment = alignment}));
  }
  return roles;
}

}  // namespace attend::look
