#include "attend/data/facts/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/joined.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::size_t kMostClasses = 30;  // in text; the page has all
constexpr std::size_t kLongestSample = 70;

std::string cut(std::string_view text, std::size_t most) {
  if (count_characters(text) <= most) return std::string(text);
  std::size_t at = 0;
  for (std::size_t i = 0; i + 2 < most; ++i) at += utf8_length(text[at]);
  return std::string(text.substr(0, at)) + "..";
}

std::string range_text(const Spread& spread) {
  return spread.least == spread.most
             ? with_commas(spread.most)
             : fmt::format("{} to {}, median {}, 95 % up to {}", with_commas(spread.least), with_commas(spread.most),
                           with_commas(spread.median), with_commas(spread.most95));
}

std::string names_of(const Recognised& data) {
  std::string names;
  for (const auto& path : data.paths) names += (names.empty() ? "" : " and ") + path.string();
  return names;
}

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows_of(const DataFacts& facts) {
  Rows rows = {{facts.noun, with_commas(facts.examples)}};
  for (const TextFacts& side : facts.texts) {
    rows.emplace_back(side.name + ": characters", range_text(side.characters));
    rows.emplace_back(side.name + ": words", range_text(side.words));
    rows.emplace_back(side.name + ": distinct",
                      fmt::format("{} words, {} of them once; {} characters", with_commas(side.distinct_words),
                                  with_commas(side.once), with_commas(side.distinct_characters)));
  }
  if (facts.image_width.count > 0) {
    rows.emplace_back("width in pixels", range_text(facts.image_width));
    rows.emplace_back("height in pixels", range_text(facts.image_height));
  }
  if (!facts.classes.empty())
    rows.emplace_back("classes", with_commas(static_cast<std::int64_t>(facts.classes.size())));
  return rows;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::int64_t largest_class(const DataFacts& facts) {
  std::int64_t largest = 1;
  for (const auto& one : facts.classes) largest = std::max(largest, one.second);
  return largest;
}

}  // namespace

std::string samples_text(const DataFacts& facts) {
  std::string text;
  for (const Sample& sample : facts.samples)
    text += fmt::format("  {}{}\n", cut(sample.left, kLongestSample),
                        sample.right.empty() ? "" : "  ->  " + cut(sample.right, kLongestSample));
  return text;
}

std::string report_text(const DataFacts& facts) {
  std::string text = fmt::format("{}: {}\n", names_of(facts.data), facts.data.what);
  std::size_t widest = 0;
  for (const auto& [name, value] : rows_of(facts)) widest = std::max(widest, count_characters(name));
  for (const auto& [name, value] : rows_of(facts))
    text += fmt::format("  {}{}  {}\n", name, std::string(widest - count_characters(name), ' '), value);
  const std::int64_t largest = largest_class(facts);
  std::size_t longest = 0;
  for (const auto& [name, count] : facts.classes)
    longest = std::max(longest, std::min<std::size_t>(30, count_characters(name)));
  for (std::size_t i = 0; i < facts.classes.size() && i < kMostClasses; ++i) {
    const auto& [name, count] = facts.classes[i];
    constexpr std::int64_t kBar = 30;
    const std::string shown = cut(name, 30);
    std::string bar;
    for (std::int64_t k = 0; k < (count * kBar + largest - 1) / largest; ++k) bar += "█";
    text += fmt::format("    {}{}  {:>8}  {}\n", shown, std::string(longest - count_characters(shown), ' '),
                        with_commas(count), bar);
  }
  if (facts.classes.size() > kMostClasses)
    text += fmt::format("    and {} more (--html shows all)\n", facts.classes.size() - kMostClasses);
  text += "First examples, as they are read:\n" + samples_text(facts);
  if (facts.findings.empty()) return text + "No problems found.\n";
  text += "Problems found:\n";
  for (const Finding& finding : facts.findings) {
    text += fmt::format("  {}\n", finding.text);
    for (const std::string& place : finding.where) text += fmt::format("    {}\n", place);
  }
  return text;
}

std::string report_page(const DataFacts& facts) {
  std::string page = fmt::format(R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Data report: {0}</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }} h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
.scroll {{ overflow-x: auto; }} table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .25rem 1rem .25rem 0; vertical-align: top; font-weight: normal; overflow-wrap: anywhere; }}
th {{ opacity: .75; }} .bar {{ background: #3b73b9; height: .8rem; min-width: 2px; }} td.wide {{ width: 50%; }}
li ul {{ opacity: .8; }} .good {{ color: #1a7f37; }}
</style></head><body>
<h1>{0}</h1><p>{1}</p><h2>Counts</h2><div class="scroll"><table>
)",
                                 escaped(names_of(facts.data)), escaped(facts.data.what));
  for (const auto& [name, value] : rows_of(facts))
    page += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  page += "</table></div>\n";
  if (!facts.classes.empty()) {
    page += "<h2>Classes</h2><div class=\"scroll\"><table>\n";
    const std::int64_t largest = largest_class(facts);
    for (const auto& [name, count] : facts.classes)
      page += fmt::format(
          "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"wide\"><div class=\"bar\" "
          "style=\"width:{:.1f}%\"></div></td></tr>\n",
          escaped(name), with_commas(count), 100.0 * static_cast<double>(count) / static_cast<double>(largest));
    page += "</table></div>\n";
  }
  page += "<h2>First examples, as they are read</h2><div class=\"scroll\"><table>\n";
  for (const Sample& sample : facts.samples)
    page += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(sample.left), escaped(sample.right));
  page += "</table></div><h2>Problems</h2>\n";
  if (facts.findings.empty()) page += "<p class=\"good\">No problems found.</p>\n";
  if (!facts.findings.empty()) page += "<ul>\n";
  for (const Finding& finding : facts.findings) {
    page += fmt::format("<li>{}", escaped(finding.text));
    if (!finding.where.empty()) page += "<ul>";
    for (const std::string& place : finding.where) page += fmt::format("<li>{}</li>", escaped(place));
    page += finding.where.empty() ? "</li>\n" : "</ul></li>\n";
  }
  if (!facts.findings.empty()) page += "</ul>\n";
  return page + "</body></html>\n";
}

}  // namespace attend::data
