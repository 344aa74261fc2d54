#include "attend/view/figure_theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "attend/base/error.h"

namespace attend::view {

namespace {

constexpr Color kPaper = {255, 255, 255}, kNight = {28, 32, 37};
constexpr std::array<std::string_view, 4> kPaletteNames = {"blue", "viridis", "magma", "grey"};

// From no weight to all of it, on a light and on a dark background.
constexpr Color kBlue[] = {{255, 255, 255}, {196, 216, 233}, {120, 167, 208}, {46, 106, 165}, {10, 40, 88}};
constexpr Color kBlueDark[] = {{28, 32, 37}, {35, 62, 88}, {48, 108, 158}, {104, 174, 232}, {226, 241, 252}};
constexpr Color kViridis[] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
constexpr Color kMagma[] = {{0, 0, 4}, {81, 18, 124}, {183, 55, 121}, {252, 137, 97}, {252, 253, 191}};
constexpr Color kGrey[] = {{255, 255, 255}, {190, 190, 190}, {128, 128, 128}, {64, 64, 64}, {0, 0, 0}};
constexpr Color kGreyDark[] = {{28, 32, 37}, {80, 84, 88}, {135, 138, 141}, {195, 197, 199}, {255, 255, 255}};

// Heads side by side: twelve hues that differ, dark enough to be read on white.
constexpr Color kHues[] = {{31, 111, 178}, {214, 103, 10}, {36, 135, 60},  {196, 40, 54},
                           {124, 84, 180}, {134, 84, 66},  {203, 72, 150}, {92, 98, 104},
                           {140, 130, 10}, {10, 138, 150}, {70, 70, 200},  {160, 60, 20}};

std::span<const Color> stops_of(const FigureTheme& theme) {
  switch (theme.palette) {
    case Palette::viridis:
      return kViridis;
    case Palette::magma:
      return kMagma;
    case Palette::grey:
      return theme.dark ? kGreyDark : kGrey;
    case Palette::blue:
      break;
  }
  return theme.dark ? kBlueDark : kBlue;
}

}  // namespace

Color weight_color(const FigureTheme& theme, double weight) {
  const std::span<const Color> stops = stops_of(theme);
  // Weak weights are lifted, so that attention spread over many tokens is visible.
  const double at = std::pow(std::clamp(weight, 0.0, 1.0), 0.7) * static_cast<double>(stops.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const auto mix = [&](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * (at - static_cast<double>(low))));
  };
  const Color &a = stops[low], &b = stops[low + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

Color series_color(const FigureTheme& theme, int which, int count) {
  if (theme.palette == Palette::blue) return themed(theme, kHues[static_cast<std::size_t>(which) % std::size(kHues)]);
  // The ends that are too close to the background are left out.
  const double share = count > 1 ? static_cast<double>(which) / (count - 1) : 0.5;
  const bool grey = theme.palette == Palette::grey;
  return weight_color(theme, theme.dark || grey ? 0.25 + 0.75 * share : 0.75 * share);
}

Color themed(const FigureTheme& theme, const Color& color) {
  const bool grey = std::abs(color.red - color.green) < 12 && std::abs(color.green - color.blue) < 12;
  if (!theme.dark || (grey && color.red > 200)) return color;
  if (!grey) {  // lighter, so that thin lines are seen
    const auto lighter = [](std::uint8_t part) { return static_cast<std::uint8_t>(part + (255 - part) * 2 / 5); };
    return {lighter(color.red), lighter(color.green), lighter(color.blue)};
  }
  const auto turned = static_cast<std::uint8_t>(264 - color.red < 255 ? 264 - color.red : 255);
  return {turned, turned, turned};
}

Color background(const FigureTheme& theme) { return theme.dark ? kNight : kPaper; }

Palette palette_named(const std::string& name) {
  const auto found = std::ranges::find(kPaletteNames, name);
  check(found != kPaletteNames.end(), "there is no palette '{}'; choose blue, viridis, magma or grey", name);
  return static_cast<Palette>(found - kPaletteNames.begin());
}

std::vector<std::string> palette_names() { return {kPaletteNames.begin(), kPaletteNames.end()}; }

image::Image coloured(const FigureTheme& theme, const Figure::Pixels& pixels) {
  if (!pixels.heat) return pixels.image;
  image::Image result = pixels.image;
  for (std::size_t i = 0; i + 2 < result.pixels.size(); i += 3) {
    const Color color = weight_color(theme, result.pixels[i] / 255.0);
    result.pixels[i] = color.red, result.pixels[i + 1] = color.green, result.pixels[i + 2] = color.blue;
  }
  return result;
}

Color color_of(const FigureTheme& theme, const Figure::Rect& rect) {
  return rect.series.count > 0 ? series_color(theme, rect.series.which, rect.series.count) : rect.color;
}

Color color_of(const FigureTheme& theme, const Figure::Curve& curve) {
  if (curve.series.count > 0) return series_color(theme, curve.series.which, curve.series.count);
  return themed(theme, curve.color);
}

}  // namespace attend::view
