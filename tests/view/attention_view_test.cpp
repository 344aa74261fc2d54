// Images of attention: words from pieces, escaping, layout.
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/view/attention_json.h"
#include "attend/view/attention_map.h"
#include "attend/view/attention_svg.h"
#include "attend/view/collector.h"
#include "attend/view/terminal_heat_map.h"
#include "attend/view/text_width.h"

namespace attend::test {
namespace {

using view::AttentionMap;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(AttentionMap, MergesPiecesIntoWords) {
  const AttentionMap pieces{{"stu", "dent", " of", " </s>"},
                            {"étu", "diant", " </s>"},
                            {0.5f, 0.25f, 0.25f, 0, 0.25f, 0.25f, 0.25f, 0.25f, 0, 0, 0, 1}};
  const AttentionMap words = view::merge_words(pieces);
  EXPECT_EQ(words.source, (std::vector<std::string>{"student", "of", "</s>"}));
  EXPECT_EQ(words.target, (std::vector<std::string>{"étudiant", "</s>"}));
  EXPECT_EQ(words.weights, (std::vector<float>{0.625f, 0.25f, 0.125f, 0, 0, 1}));
  EXPECT_EQ(view::trimmed(pieces).source[2], "of");
  const AttentionMap letters{{"", "a", " ", "b"}, {" x"}, {1, 0, 0, 0}};
  EXPECT_EQ(view::trimmed(letters).source, (std::vector<std::string>{"\u2423", "a", "\u2423", "b"}));
  EXPECT_EQ(view::to_pharaoh(view::align(words, "</s>")), "0-0");
  EXPECT_THROW(view::merge_words({{"a"}, {"b"}, {}}), Error);
}

TEST(AttentionMap, AlignsEachWordOfTheTarget) {
  const AttentionMap words{
      {"a", "b", "</s>"}, {"x", "y", "z", "</s>"}, {0.1f, 0.2f, 0.7f, 0.6f, 0.4f, 0, 0.5f, 0.5f, 0, 1, 0, 0}};
  EXPECT_EQ(view::to_pharaoh(view::align(words, "</s>")), "1-0 0-1 0-2") << "the end mark is nobody's word";
}

TEST(AttentionJson, HoldsTheMatrix) {
  const Json json = view::to_json({{"a", "b"}, {"\"x\""}, {0.25f, 1.0f / 3}});
  EXPECT_EQ(json.dump(), R"({"source":["a","b"],"target":["\"x\""],"weights":[[0.25,0.333333]]})");
  const view::AttentionWeights weights{{1, 2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  EXPECT_EQ(view::heads_to_json(weights, 0, 2, 2).dump(), "[[[0.0,1.0],[3.0,4.0]],[[6.0,7.0],[9.0,10.0]]]");
  EXPECT_THROW(view::heads_to_json(weights, 1, 2, 2), Error);
}

TEST(AttentionSvg, EscapesWhatXmlKeepsForItself) {
  const std::string nasty = "<script>\"A\" & 'B'</script>";
  const std::string svg =
      view::attention_svg({{nasty, "\x01\xff"}, {"]]>"}, {0.5f, 0.5f}}, {.source = nasty, .target = "</svg>"});
  EXPECT_FALSE(has(svg, "<script"));
  EXPECT_TRUE(has(svg, "&lt;script&gt;&quot;A&quot; &amp; &#39;B&#39;"));
  EXPECT_TRUE(has(svg, "]]&gt;"));
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
  EXPECT_EQ(svg.find("</svg>"), svg.size() - 7) << "once, at the end";
}

TEST(AttentionSvg, DrawsACellForEachWeight) {
  const std::string svg = view::attention_svg({{"a", "b", "c"}, {"x", "y"}, {0, 0, 1, 0.5f, 0.5f, 0}});
  std::size_t cells = 0;
  for (std::size_t at = 0; (at = svg.find("<title>", at)) != std::string::npos; ++at) ++cells;
  EXPECT_EQ(cells, 6u);
  EXPECT_TRUE(has(svg, "x → c: 1.000"));
  EXPECT_THROW(view::attention_svg({{"a"}, {"x"}, {}}), Error);
  EXPECT_TRUE(has(view::attention_svg({}), "</svg>")) << "nothing is a figure too";
}

TEST(TextWidth, KnowsWideAndMarkedLetters) {
  EXPECT_EQ(view::columns_of("abc"), 3u);
  EXPECT_EQ(view::columns_of("学生"), 4u);
  EXPECT_EQ(view::columns_of("e\u0301"), 1u);
  EXPECT_EQ(view::columns_of("\xff\xfe"), 2u);
  EXPECT_EQ(view::shortened("étudiant", 8), "étudiant");
  EXPECT_EQ(view::shortened("étudiants", 5), "étud…");
  EXPECT_EQ(view::shortened("学生学", 5), "学生…");
  EXPECT_EQ(view::printable("a\tb\x1b[0m"), "a\uFFFDb\uFFFD[0m");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (char c : text) c == '\n' ? lines.push_back(std::exchange(line, "")) : line.push_back(c);
  return lines;
}

TEST(HeatMap, FitsTheTerminal) {
  std::vector<std::string> rows, columns;
  for (int i = 0; i < 5; ++i) rows.push_back("row" + std::to_string(i));
  for (std::size_t count : {3u, 12u, 40u}) {
    while (columns.size() < count) columns.push_back(columns.size() % 3 ? "of" : "incomprehensible学生");
    const std::vector<float> weights(rows.size() * columns.size(), 0.5f);
    for (int width : {40, 80, 200})
      for (const std::string& line : lines_of(view::draw({rows, columns, weights}, {.width = width})))
        EXPECT_LE(view::columns_of(line), static_cast<std::size_t>(width)) << count << " columns in " << width;
  }
}

TEST(HeatMap, PutsLabelsOnStairsWhereTheyDoNotFit) {
  const std::vector<float> weights = {1, 0, 0, 0, 1, 0};
  EXPECT_EQ(view::draw({{"x", "yy"}, {"a", "b", "c"}, weights}, {}),
            "    a b c\n x ██    \nyy   ██  \n   0   ░░░░▒▒▒▒▓▓▓▓████ 1\n");
  const std::string stairs =
      view::draw({{"x", "yy"}, {"unbelievable", "b", "incomprehensible"}, weights}, {.width = 40});
  EXPECT_EQ(
      stairs,
      "   unbelievable\n   │  b\n   │  │  incomprehensible\n x ███      \nyy    ███   \n   0   ░░░░▒▒▒▒▓▓▓▓████ 1\n");
}

}  // namespace
}  // namespace attend::test
