#include "attend/view/heads_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "attend/base/error.h"
#include "attend/view/attention_svg.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kSide = 132, kGap = 14, kLabel = 128, kTop = 72, kMargin = 16;
constexpr std::size_t kLongestTitle = 90;  // columns

}  // namespace

std::string heads_svg(const std::string& title, std::span<const HeadsRow> rows) {
  std::size_t heads = 0;
  for (const HeadsRow& row : rows) {
    heads = std::max(heads, row.heads);
    check(row.weights.size() == row.heads * row.rows * row.columns, "heads: '{}' has {} weights for {} x {} x {}",
          row.label, row.weights.size(), row.heads, row.rows, row.columns);
  }
  const double width = std::max(kLabel + static_cast<double>(heads) * (kSide + kGap) + kMargin, 720.0);
  const double height = kTop + static_cast<double>(rows.size()) * (kSide + kGap) + kMargin;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{2}\" y=\"30\" font-size=\"15\" "
      "font-weight=\"bold\">{3}</text>\n",
      width, height, kMargin, xml_escaped(shortened(printable(title), kLongestTitle)));
  const auto out = std::back_inserter(text);
  for (std::size_t h = 0; h < heads; ++h)
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">head {}</text>\n",
                   kLabel + static_cast<double>(h) * (kSide + kGap) + kSide / 2, kTop - 10, h + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const HeadsRow& row = rows[i];
    const double y = kTop + static_cast<double>(i) * (kSide + kGap);
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, y + kSide / 2, xml_escaped(row.label));
    const double cell_width = kSide / static_cast<double>(std::max<std::size_t>(row.columns, 1));
    const double cell_height = kSide / static_cast<double>(std::max<std::size_t>(row.rows, 1));
    for (std::size_t h = 0; h < row.heads; ++h) {
      const double x = kLabel + static_cast<double>(h) * (kSide + kGap);
      fmt::format_to(out, "<g fill=\"#0a2858\" transform=\"translate({:.1f} {:.1f})\">\n", x, y);
      for (std::size_t r = 0; r < row.rows; ++r)
        for (std::size_t c = 0; c < row.columns; ++c) {
          const float weight = row.weights[(h * row.rows + r) * row.columns + c];
          if (weight < 0.005f) continue;
          fmt::format_to(
              out, "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill-opacity=\"{:.2f}\"/>\n",
              static_cast<double>(c) * cell_width, static_cast<double>(r) * cell_height, cell_width, cell_height,
              weight);
        }
      fmt::format_to(out, "<rect width=\"{0}\" height=\"{0}\" fill=\"none\" stroke=\"#999\"/>\n</g>\n", kSide);
    }
  }
  return text + "</svg>\n";
}

}  // namespace attend::view
