#include "attend/cli/support/figure_flags.h"

#include "attend/cli/support/flags.h"

namespace attend::cli {

namespace {

view::FigureStyle style_of(const FigureFlags& flags) {
  return {.width = flags.width,
          .font_size = flags.font_size,
          .theme = {.dark = flags.dark, .palette = view::palette_named(flags.palette)},
          .title = flags.title};
}

}  // namespace

void add_figure_flags(Flags& flags, FigureFlags& figure) {
  flags.add("--title", figure.title, "Title of the figure.").group("Figure");
  flags.add("--width", figure.width, "Width of the figure in pixels; 0 chooses it.").between(0, 20000).group("Figure");
  flags.add("--font-size", figure.font_size, "Size of its words in pixels; 0 chooses it.")
      .between(0, 200)
      .group("Figure");
  flags.add("--dark", figure.dark, "Dark background.").group("Figure");
  flags.add("--palette", figure.palette, "Colours of attention weights.").one_of(view::palette_names()).group("Figure");
}

std::string png_of(const view::Figure& figure, const FigureFlags& flags, double pixels) {
  const view::FigureStyle style = style_of(flags);
  const view::Figure page = view::styled(figure, style);
  return view::to_png(page, view::scale_of(page, style, pixels));
}

std::string svg_of(const view::Figure& figure, const FigureFlags& flags) {
  const view::FigureStyle style = style_of(flags);
  const view::Figure page = view::styled(figure, style);
  return view::to_svg(page, view::scale_of(page, style, 1));
}

}  // namespace attend::cli
