#include "attend/look/api/lessons.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/base64.h"
#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/data/synthetic/text_makers.h"
#include "attend/look/inspect/source_lines.h"
#include "attend/view/trace.h"

namespace attend::look {

namespace {

constexpr std::size_t kShownColumns = 48;  // of a state: what a strip on the page has room for
constexpr std::int64_t kMostLines = 1000;  // translated for one curve

Json rows_json(const std::vector<float>& values, std::size_t width, std::size_t columns) {
  Json rows = Json::array();
  for (std::size_t row = 0; row < values.size(); row += width) {
    Json one = Json::array();
    for (std::size_t i = 0; i < std::min(width, columns); ++i) one.push_back(view::significant(values[row + i]));
    rows.push_back(std::move(one));
  }
  return rows;
}

// One of the two encoders: with positions, or without.
Json ordered_json(Inspector& inspector, const StatesRequest& request, bool positions) {
  const EncoderStates plain = inspector.states({.text = request.text, .positions = positions});
  const EncoderStates moved = inspector.states({.text = request.text, .order = request.order, .positions = positions});
  const std::size_t width = plain.width;
  std::vector<float> back(plain.values.size());
  float difference = 0, largest = 0;
  for (std::size_t place = 0; place < request.order.size(); ++place)
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = static_cast<std::size_t>(request.order[place]) * width + i;
      back[at] = moved.values[place * width + i];
      difference = std::max(difference, std::fabs(back[at] - plain.values[at]));
      largest = std::max(largest, std::fabs(plain.values[at]));
    }
  return {{"difference", view::significant(difference)},
          {"largest", view::significant(largest)},
          {"rows", rows_json(plain.values, width, kShownColumns)},
          {"moved", rows_json(back, width, kShownColumns)}};
}

struct Language {
  std::string_view name, unit;
  data::TextKind kind;
};
constexpr Language kLanguages[] = {{"dates", "characters", data::TextKind::dates},
                                   {"numbers", "words", data::TextKind::numbers},
                                   {"reverse", "words", data::TextKind::reverse},
                                   {"grammar", "words", data::TextKind::grammar}};

std::size_t length_of(const std::string& text, const Language& language) {
  if (language.unit == "characters") return count_characters(text);
  return static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
}

}  // namespace

Json output_json(const Output& output) {
  Json words = Json::array();
  for (std::size_t i = 0; i < output.words.size(); ++i)
    words.push_back({{"id", output.words[i].id},
                     {"text", output.words[i].text},
                     {"probability", view::significant(output.words[i].probability)}});
  const std::string_view bytes(reinterpret_cast<const char*>(output.logits.data()),
                               output.logits.size() * sizeof(float));
  Json json = {{"count", output.logits.size()},
               {"log_sum", output.log_sum},
               {"words", std::move(words)},
               {"logits", base64(bytes)}};
  const auto put_line = [&](const char* name, const std::string& line) {
    const SourceLine& source = source_line(line);
    json[name] = {{"file", source.file}, {"line", source.line}};
  };
  if (!output.line.empty()) put_line("computed", output.line), put_line("drawn", "drawn word");
  return json;
}

Json states_json(const EncoderStates& states) {
  Json json = {{"tokens", states.tokens},
               {"width", states.width},
               {"rows", rows_json(states.values, states.width, states.width)}};
  if (!states.summary.empty())
    json["summary"] = rows_json(states.summary, states.summary.size(), states.summary.size())[0];
  return json;
}

Json compare_orders(Inspector& inspector, const StatesRequest& request) {
  const EncoderStates read = inspector.states({.text = request.text});
  StatesRequest whole = request;
  if (whole.order.empty())  // backwards
    for (std::size_t i = read.tokens.size(); i > 0; --i) whole.order.push_back(static_cast<std::int64_t>(i) - 1);
  return {{"tokens", read.tokens},
          {"order", whole.order},
          {"width", read.width},
          {"with", ordered_json(inspector, whole, true)},
          {"without", ordered_json(inspector, whole, false)}};
}

Json exact_by_length(Inspector& inspector, const std::string& name, std::int64_t count) {
  const auto* language = std::ranges::find(kLanguages, name, &Language::name);
  check(language != std::end(kLanguages), "there is no made language '{}'", name);
  check(count >= 1 && count <= kMostLines, "a curve has 1 to {} lines, not {}", kMostLines, count);
  std::vector<data::TextPair> pairs;
  std::vector<std::string> sources;
  for (std::int64_t line = 0; line < count; ++line) {
    pairs.push_back(data::make_text({.kind = language->kind}, data::TextSet::test, static_cast<std::uint64_t>(line)));
    sources.push_back(pairs.back().source);
  }
  const std::vector<std::string> answers = inspector.answers(sources);
  struct Length {
    std::int64_t count = 0, right = 0;
    std::size_t line = 0;  // to show
  };
  std::map<std::size_t, Length> lengths;
  std::int64_t right = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool same = answers[i] == pairs[i].target;
    Length& length = lengths[length_of(pairs[i].source, *language)];
    if (length.count == 0 || (!same && length.right == length.count)) length.line = i;
    ++length.count, length.right += same ? 1 : 0, right += same ? 1 : 0;
  }
  Json curve = Json::array();
  for (const auto& [length, one] : lengths)
    curve.push_back({{"length", length},
                     {"count", one.count},
                     {"right", one.right},
                     {"source", pairs[one.line].source},
                     {"target", pairs[one.line].target},
                     {"answer", answers[one.line]}});
  return {
      {"language", name}, {"unit", language->unit}, {"count", count}, {"right", right}, {"lengths", std::move(curve)}};
}

}  // namespace attend::look
