// The text that LibreTranslate's adapter cuts into sentences and joins again, and the tags inside of it.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "attend/serve/api/inline_tags.h"
#include "attend/serve/api/libre_text.h"

namespace attend::serve {
namespace {

TEST(LibreText, CutsAndJoins) {
  const auto sentences = [](std::string_view text, bool html = false) {
    std::vector<std::string> found;
    std::string joined;
    for (const TextPiece& piece : html ? html_pieces(text) : plain_pieces(text)) {
      joined += piece.translated && html ? with_tags(piece.text, piece.elements) : piece.text;
      if (piece.translated) found.push_back(piece.text);
    }
    EXPECT_EQ(joined, text);
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(sentences("One. Two!  Three?"), (Texts{"One.", "Two!", "Three?"}));
  EXPECT_EQ(sentences("  Mr. Smith has 3.5 apples. \n\n He said \"No.\" Then he left."),
            (Texts{"Mr. Smith has 3.5 apples.", "He said \"No.\"", "Then he left."}));
  EXPECT_EQ(sentences("e.g. this one, i.e. it"), (Texts{"e.g. this one, i.e. it"}));
  EXPECT_EQ(sentences(""), Texts{});
  EXPECT_EQ(sentences(" \n\t\n"), Texts{});
  EXPECT_EQ(sentences("<p>One. <b>Two</b> &amp; three</p><script>if (a < b) x();</script>", true),
            (Texts{"One.", "Two & three"}));
  EXPECT_EQ(sentences("<i>One. Two.</i> <b>Thr</b>ee, <a href='#'>fo<u>u</u>r</a>.", true),
            (Texts{"One.", "Two.", "Three, four."}));
  // An element over the end of a sentence, or without an end, cuts where it stands.
  EXPECT_EQ(sentences("A <b>cat. A</b> dog.", true), (Texts{"A", "cat.", "A", "dog."}));
  EXPECT_EQ(sentences("A <b>cat.", true), (Texts{"A", "cat."}));
  EXPECT_EQ(sentences("A cat</b>. <br>3.50 <i></i>...", true), (Texts{"A cat"}));
  EXPECT_EQ(sentences("a &lt; b <!-- <p>no</p> --><br/>c <a title=\"x > y\">d</a>", true), (Texts{"a < b", "c d"}));
}

TEST(InlineTags, GoWhereTheWordsLooked) {
  // "the black cat ." and "le chat noir .", which trade places; the end marks look at each other.
  const view::AttentionMap seen{
      {"the", " black", " cat", ".", " </s>"},
      {"le", " chat", " noir", ".", " </s>"},
      {0.9f, 0, 0.1f, 0, 0, 0, 0.2f, 0.7f, 0, 0.1f, 0, 0.8f, 0.2f, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}};
  const std::string_view source = "the black cat.", text = "le chat noir.";
  const auto put = [&](const std::vector<InlineElement>& elements) { return with_tags(source, elements, text, seen); };
  EXPECT_EQ(put({{"<b>", "</b>", 4, 9}}), "le chat <b>noir</b>.");
  EXPECT_EQ(put({{"<b>", "</b>", 10, 13}}), "le <b>chat</b> noir.");
  EXPECT_EQ(put({{"<b>", "</b>", 4, 13}}), "le <b>chat noir</b>.");
  EXPECT_EQ(put({{"<a>", "</a>", 4, 13}, {"<i>", "</i>", 10, 13, 0}}), "le <a><i>chat</i> noir</a>.");
  EXPECT_EQ(put({{"<a>", "</a>", 0, 3}, {"<i>", "</i>", 4, 9}, {"<u>", "</u>", 10, 13}}),
            "<a>le</a> <u>chat</u> <i>noir</i>.");
  // More elements than words: none is lost, none crosses another.
  EXPECT_EQ(with_tags("a b", {{"<a>", "</a>", 0, 1}, {"<b>", "</b>", 2, 3}}, "x & y", {}), "<a>x</a> &amp; <b>y</b>");
  EXPECT_EQ(with_tags("a b", {{"<a>", "</a>", 0, 1}, {"<b>", "</b>", 2, 3}}, "x", {}), "<a>x</a><b></b>");
}

// Whatever is sent and whatever the model makes of it: nothing of the page is lost, and no tag crosses another.
TEST(InlineTags, AnyPageStaysWhole) {
  const std::vector<std::string> parts = {"<b>",  "</b>", "<i>",  "</i>", "<a href='x'>", "</a>",    "<p>",
                                          "</p>", "One",  " two", ". ",   ", ",           "Three. ", " ",
                                          "\n",   "<br>", "3",    "é"};
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const auto without_tags = [](std::string text) {
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<'))
      text.erase(at, text.find('>', at) + 1 - at);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::string html, joined;
    for (std::size_t n = below(14); n > 0; --n) html += parts[below(parts.size())];
    for (const TextPiece& piece : html_pieces(html)) {
      joined += piece.translated ? with_tags(piece.text, piece.elements) : piece.text;
      if (!piece.translated) continue;
      view::AttentionMap seen;
      for (std::size_t n = below(5); n > 0; --n) seen.target.push_back(n % 2 ? " mot" : ",");
      std::string text;
      for (const std::string& token : seen.target) text += token;
      seen.source = {piece.text, " </s>"}, seen.target.emplace_back(" </s>");
      for (std::size_t i = 0; i < 2 * seen.target.size(); ++i) seen.weights.push_back(static_cast<float>(below(9)));
      if (below(3) == 0) seen = {};
      const std::string tagged = with_tags(piece.text, piece.elements, text, seen);
      EXPECT_EQ(without_tags(tagged), text) << html;
      std::vector<std::string> open;
      for (std::size_t at = tagged.find('<'); at != std::string::npos; at = tagged.find('<', at + 1)) {
        if (tagged[at + 1] != '/') open.push_back(tagged.substr(at + 1, 1));
        if (tagged[at + 1] != '/') continue;
        ASSERT_FALSE(open.empty()) << html << " -> " << tagged;
        EXPECT_EQ(open.back(), tagged.substr(at + 2, 1)) << html << " -> " << tagged;
        open.pop_back();
      }
      EXPECT_TRUE(open.empty()) << html << " -> " << tagged;
    }
    EXPECT_EQ(joined, html);
  }
}

}  // namespace
}  // namespace attend::serve
