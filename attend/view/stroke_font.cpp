#include "attend/view/stroke_font.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "attend/base/unicode/unicode.h"

namespace attend::view {

namespace {

// A glyph is a list of strokes of points "xy", two digits each: x from 0, y from 0 (below the line) over 2 (the line),
// 6 (small letters) to 8 (capitals). '-' is a broken line, '~' a curve from the first point to the last that the others
// pull at, 'o' a closed curve inside its points.
struct Glyph {
  char32_t character;
  int width;
  std::string_view strokes;
};

constexpr std::array kGlyphs = std::to_array<Glyph>({
    {U'a', 4, "o02424606 -4642"},
    {U'b', 4, "-0802 o02424606"},
    {U'c', 4, "~454606024243"},
    {U'd', 4, "-4842 o02424606"},
    {U'e', 4, "-0444 ~444606024243"},
    {U'f', 3, "~38181612 -0636"},
    {U'g', 4, "o02424606 ~4641400001"},
    {U'h', 4, "-0802 ~0406464442"},
    {U'i', 0, "-0602 -0808"},
    {U'j', 1, "~16111000 -1818"},
    {U'k', 3, "-0802 -3604 -1432"},
    {U'l', 0, "-0802"},
    {U'm', 6, "-0602 ~0406363432 ~3436666462"},
    {U'n', 4, "-0602 ~0406464442"},
    {U'o', 4, "o02424606"},
    {U'p', 4, "-0600 o02424606"},
    {U'q', 4, "-4640 o02424606"},
    {U'r', 3, "-0602 ~040636"},
    {U's', 4, "~4546060444420203"},
    {U't', 3, "~18131232 -0636"},
    {U'u', 4, "-4642 ~0604024244"},
    {U'v', 4, "-062246"},
    {U'w', 6, "-0612365266"},
    {U'x', 4, "-0642 -0246"},
    {U'y', 4, "-0622 -4610"},
    {U'z', 4, "-06460242"},
    {U'A', 4, "-022842 -1434"},
    {U'B', 4, "-0802 ~08484505 ~05555202"},
    {U'C', 4, "~474808024243"},
    {U'D', 5, "-0802 ~08585202"},
    {U'E', 4, "-48080242 -0535"},
    {U'F', 4, "-480802 -0535"},
    {U'G', 5, "~575808025254 -5434"},
    {U'H', 4, "-0802 -4842 -0545"},
    {U'I', 0, "-0802"},
    {U'J', 3, "~38320203"},
    {U'K', 4, "-0802 -4804 -1542"},
    {U'L', 4, "-080242"},
    {U'M', 6, "-0208346862"},
    {U'N', 4, "-02084248"},
    {U'O', 5, "o02525808"},
    {U'P', 4, "-0802 ~08585404"},
    {U'Q', 5, "o02525808 -3351"},
    {U'R', 4, "-0802 ~08585404 -2442"},
    {U'S', 4, "~4748080545420203"},
    {U'T', 4, "-0848 -2822"},
    {U'U', 4, "~080402424448"},
    {U'V', 4, "-082248"},
    {U'W', 6, "-0812375268"},
    {U'X', 4, "-0842 -0248"},
    {U'Y', 4, "-082548 -2522"},
    {U'Z', 4, "-08480242"},
    {U'0', 4, "o02424808"},
    {U'1', 2, "-072822"},
    {U'2', 4, "~070848450302 -0242"},
    {U'3', 4, "~0708484525 ~2545420203"},
    {U'4', 4, "-32380444"},
    {U'5', 4, "-480805 ~054646420203"},
    {U'6', 4, "o02424606 ~38080604"},
    {U'7', 4, "-084812"},
    {U'8', 4, "o05454808 o02424505"},
    {U'9', 4, "o04444808 ~46444212"},
    {U'.', 0, "-0202"},
    {U',', 1, "-1201"},
    {U'!', 0, "-0804 -0202"},
    {U'?', 4, "~070848452524 -2222"},
    {U':', 0, "-0202 -0505"},
    {U';', 1, "-1201 -1515"},
    {U'\'', 0, "-0806"},
    {U'"', 2, "-0806 -2826"},
    {U'-', 3, "-0434"},
    {U'_', 4, "-0141"},
    {U'(', 1, "~18060311"},
    {U')', 1, "~08161301"},
    {U'[', 1, "-18080111"},
    {U']', 1, "-08181101"},
    {U'{', 2, "~28181515 -0515 ~15121121"},
    {U'}', 2, "~08181515 -1525 ~15121101"},
    {U'/', 3, "-0138"},
    {U'\\', 3, "-0831"},
    {U'|', 0, "-0801"},
    {U'+', 4, "-0444 -2622"},
    {U'=', 4, "-0545 -0343"},
    {U'*', 4, "-2824 -0745 -4705"},
    {U'<', 4, "-460442"},
    {U'>', 4, "-064402"},
    {U'&', 4, "~421618383604023244"},
    {U'@', 5, "o02525808 o14343614 -3634"},
    {U'#', 4, "-1218 -3238 -0444 -0646"},
    {U'$', 4, "~4748080545420203 -2921"},
    {U'%', 5, "-0258 o05252808 o32525535"},
    {U'^', 4, "-062846"},
    {U'`', 2, "-0827"},
    {U'~', 4, "~0415243544"},
    {U'…', 4, "-0202 -2222 -4242"},
    {U'→', 6, "-0464 -466442"},
    {U'·', 0, "-0404"},
    {U'«', 5, "-260422 -563452"},
    {U'»', 5, "-062402 -365432"},
    {U'’', 1, "-1806"},
    {U'‘', 1, "-0816"},
    {U'“', 3, "-0816 -2836"},
    {U'”', 3, "-1806 -3826"},
    {U'–', 4, "-0444"},
    {U'—', 6, "-0464"},
    {U'ß', 4, "~020838483524 ~2444421222"},
    {U'œ', 8, "o02424606 -4484 ~848646428283"},
    {U'æ', 8, "o02424606 -4484 ~848646428283"},
    {U'ø', 4, "o02424606 -0147"},
    {U'ı', 0, "-0602"},
    {U'\uFFFD', 4, "-0208484202"},
});

// Letters with something over or under them: what they are made of. 'i' loses its dot.
struct Accented {
  std::u32string_view letters, bases;
  std::string_view strokes;  // as over a small letter
};
constexpr std::array kAccents = std::to_array<Accented>({
    {U"áéíóúýćńśźÁÉÍÓÚÝŚĆ", U"aeıouycnszAEIOUYSC", "-1738"},
    {U"àèìòùÀÈÌÒÙ", U"aeıouAEIOU", "-1837"},
    {U"âêîôûÂÊÎÔÛ", U"aeıouAEIOU", "-172837"},
    {U"äëïöüÿÄËÏÖÜ", U"aeıouyAEIOU", "-1717 -3737"},
    {U"ãñõÃÑÕ", U"anoANO", "~07182738"},
    {U"åÅ", U"aA", "o17373919"},
    {U"çşÇŞ", U"csCS", "~22312010"},
    {U"čěřšžČŘŠŽ", U"cerszCRSZ", "-182738"},
});

const Glyph* find_glyph(char32_t character) {
  const auto found = std::ranges::find(kGlyphs, character, &Glyph::character);
  return found == kGlyphs.end() ? nullptr : &*found;
}

// A curve through the middles of the lines between its points (a quadratic B-spline), cut into short lines.
Stroke curve(const Stroke& points, bool closed) {
  constexpr int kParts = 6;
  Stroke result;
  const std::size_t count = points.size();
  const auto middle = [](const Point& a, const Point& b) { return Point{(a.x + b.x) / 2, (a.y + b.y) / 2}; };
  const std::size_t first = closed ? 0 : 1, last = closed ? count : count - 1;
  for (std::size_t i = first; i < last; ++i) {
    const Point& control = points[i];
    const Point &before = points[(i + count - 1) % count], &after = points[(i + 1) % count];
    const Point from = !closed && i == 1 ? before : middle(before, control);
    const Point to = !closed && i + 2 == count ? after : middle(control, after);
    for (int k = result.empty() ? 0 : 1; k <= kParts; ++k) {
      const double t = static_cast<double>(k) / kParts, u = 1 - t;
      result.push_back({u * u * from.x + 2 * u * t * control.x + t * t * to.x,
                        u * u * from.y + 2 * u * t * control.y + t * t * to.y});
    }
  }
  return result;
}

void add_strokes(std::vector<Stroke>& out, std::string_view text, Point at, double unit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    Stroke points;
    for (std::size_t i = begin + 1; i + 1 < end; i += 2)
      points.push_back({at.x + unit * (text[i] - '0'), at.y - unit * (text[i + 1] - '2')});
    const char kind = text[begin];
    if (points.size() == 2 && points[0].x == points[1].x && points[0].y == points[1].y) points.pop_back();
    out.push_back(kind == '-' || points.size() < 3 ? points : curve(points, kind == 'o'));
    begin = end + 1;
  }
}

// Signs of formulas that the pen has no strokes for, in letters that it has.
constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
    {"√", "sqrt "}, {"ᵀ", "^T"}, {"Σ", "sum "}, {"−", "-"}, {"∞", "inf"}, {"←", "="},  {"α", "a"},     {"γ", "gamma"},
    {"β", "beta"},  {"ₜ", "_t"}, {"ⱼ", "_j"},   {"₁", "1"}, {"₂", "2"},   {"ₕ", "_h"}, {"\u0302", "^"}};

std::string written_out(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto sign =
        std::ranges::find_if(kSigns, [&](const auto& one) { return text.substr(at).starts_with(one.first); });
    if (sign == std::end(kSigns)) {
      result += text[at++];
      continue;
    }
    result += sign->second, at += sign->first.size();
  }
  return result;
}

}  // namespace

StrokedText stroked(std::string_view given, double size) {
  const std::string words = written_out(given);
  const std::string_view text = words;
  const double unit = size * 0.118, gap = 2.1 * unit;  // capitals are 6 units high
  StrokedText result;
  double x = 0;
  for (std::size_t at = 0; at < text.size();) {
    char32_t character = next_character(text, at);
    if (character == kInvalidCharacter) ++at, character = U'\uFFFD';
    if (character == U' ' || character == U'\u00A0') {
      x += 3 * unit;
      continue;
    }
    std::string_view accent;
    double lift = 0, shift = 0;
    for (const Accented& row : kAccents)
      if (const std::size_t place = row.letters.find(character); place != std::u32string_view::npos) {
        character = row.bases[place], accent = row.strokes;
        lift = character < U'a' && accent[1] > '0' && accent[2] > '3' ? 1.6 * unit : 0;
        shift = character == U'ı' || character == U'I' ? -2 * unit : 0;
      }
    const Glyph* glyph = find_glyph(character);
    if (!glyph) glyph = find_glyph(U'\uFFFD');
    add_strokes(result.strokes, glyph->strokes, {x, 0}, unit);
    if (!accent.empty()) add_strokes(result.strokes, accent, {x + shift, -lift}, unit);
    x += glyph->width * unit + gap;
  }
  result.width = std::max(0.0, x - gap);
  return result;
}

}  // namespace attend::view
