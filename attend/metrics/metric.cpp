#include "attend/metrics/metric.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

void Metric::add(std::string_view hypothesis, std::span<const std::string_view> references) {
  check(!references.empty(), "score: a segment needs at least one reference");
  std::vector<std::u32string> decoded;
  decoded.reserve(references.size());
  for (const std::string_view reference : references) decoded.push_back(decode_utf8(reference));
  add_segment(decode_utf8(hypothesis), decoded);
  least_references_ = least_references_ == 0 ? references.size() : std::min(least_references_, references.size());
  most_references_ = std::max(most_references_, references.size());
}

void Metric::clear() {
  forget();
  least_references_ = most_references_ = 0;
}

std::string Metric::references_text() const {
  return least_references_ == most_references_ ? fmt::format("{}", most_references_) : "var";
}

std::string signature_text(const Report& report) {
  std::string text;
  for (const auto& [key, value] : report.signature) text += fmt::format("{}{}:{}", text.empty() ? "" : "|", key, value);
  return text;
}

std::string report_line(const Report& report, int digits) {
  std::string line = fmt::format("{}|{} = {:.{}f}", report.name, signature_text(report), report.score, digits);
  if (!report.details.empty()) line += " " + report.details;
  return line;
}

}  // namespace attend::metrics
