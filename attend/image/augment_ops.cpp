#include "attend/image/augment_ops.h"

#include <algorithm>
#include <cstring>

#include "attend/base/error.h"

namespace attend::image {

namespace {

void check_rgb(const Image& image, const char* who) {
  check_image(image, who);
  check(image.channels == 3, "{}: an image has 3 channels, not {}", who, image.channels);
}

// a at factor 0, b at factor 1; beyond, as far again. In single precision and cut off, not rounded.
std::uint8_t blend(int a, int b, float factor) {
  const float mixed = static_cast<float>(a) + factor * static_cast<float>(b - a);
  return static_cast<std::uint8_t>(std::clamp(mixed, 0.0f, 255.0f));
}

using Table = std::array<std::uint8_t, 256>;

Image looked_up(const Image& image, const std::array<const Table*, 3>& tables) {
  Image out = image;
  for (std::size_t i = 0; i < out.pixels.size(); i += 3)
    for (std::size_t c = 0; c < 3; ++c) out.pixels[i + c] = (*tables[c])[out.pixels[i + c]];
  return out;
}

template <class Value>
Image through(const Image& image, const char* who, const Value& value) {
  check_rgb(image, who);
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value(i));
  return looked_up(image, {&table, &table, &table});
}

using Histogram = std::array<std::int64_t, 256>;

std::array<Histogram, 3> histograms_of(const Image& image) {
  std::array<Histogram, 3> counts{};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) ++counts[i % 3][image.pixels[i]];
  return counts;
}

// A table for each channel from its histogram.
template <class Fill>
Image by_histogram(const Image& image, const char* who, const Fill& fill) {
  check_rgb(image, who);
  const auto counts = histograms_of(image);
  std::array<Table, 3> tables;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 256; ++i) tables[c][i] = static_cast<std::uint8_t>(i);
    fill(counts[c], tables[c]);
  }
  return looked_up(image, {&tables[0], &tables[1], &tables[2]});
}

}  // namespace

Image flip_horizontal(const Image& image) {
  check_rgb(image, "flip");
  Image out(image.width, image.height);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = image.row(y) + image.row_bytes();
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < image.width; ++x, to += 3) {
      from -= 3;
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
  }
  return out;
}

Image adjust_brightness(const Image& image, double factor) {
  return through(image, "brightness", [&](int i) { return blend(0, i, static_cast<float>(factor)); });
}

Image adjust_color(const Image& image, double factor) {
  check_rgb(image, "color");
  Image out(image.width, image.height);
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const int grey = grey_of(&image.pixels[i]);
    for (std::size_t c = 0; c < 3; ++c)
      out.pixels[i + c] = blend(grey, image.pixels[i + c], static_cast<float>(factor));
  }
  return out;
}

Image adjust_contrast(const Image& image, double factor) {
  check_rgb(image, "contrast");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) sum += grey_of(&image.pixels[i]);
  const double count = static_cast<double>(image.pixels.size() / 3);
  const int mean = static_cast<int>(static_cast<double>(sum) / count + 0.5);
  return through(image, "contrast", [&](int i) { return blend(mean, i, static_cast<float>(factor)); });
}

// Pillow's SMOOTH: a pixel counts five times, its eight neighbours once each; the border stays.
Image adjust_sharpness(const Image& image, double factor) {
  check_rgb(image, "sharpness");
  Image out = image;
  for (int y = 1; y < image.height - 1; ++y) {
    const std::uint8_t *above = image.row(y - 1), *here = image.row(y), *below = image.row(y + 1);
    std::uint8_t* to = out.row(y);
    for (std::size_t i = 3; i + 3 < image.row_bytes(); ++i) {
      const int sum = above[i - 3] + above[i] + above[i + 3] + here[i - 3] + 5 * here[i] + here[i + 3] + below[i - 3] +
                      below[i] + below[i + 3];
      to[i] = blend((2 * sum + 13) / 26, here[i], static_cast<float>(factor));
    }
  }
  return out;
}

Image posterize(const Image& image, int bits) {
  check(bits >= 0 && bits <= 8, "posterize: bits are 0 to 8, not {}", bits);
  return through(image, "posterize", [&](int i) { return i & ~((1 << (8 - bits)) - 1); });
}

Image solarize(const Image& image, int threshold) {
  return through(image, "solarize", [&](int i) { return i < threshold ? i : 255 - i; });
}

Image invert(const Image& image) {
  return through(image, "invert", [](int i) { return 255 - i; });
}

Image auto_contrast(const Image& image) {
  return by_histogram(image, "auto_contrast", [](const Histogram& counts, Table& table) {
    const auto used = [](std::int64_t count) { return count > 0; };
    const auto low = std::find_if(counts.begin(), counts.end(), used) - counts.begin();
    const auto high = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), used) - 1;
    if (high <= low) return;
    const double scale = 255.0 / static_cast<double>(high - low), shift = static_cast<double>(-low) * scale;
    for (std::size_t i = 0; i < 256; ++i)
      table[i] =
          static_cast<std::uint8_t>(std::clamp(static_cast<int>(static_cast<double>(i) * scale + shift), 0, 255));
  });
}

Image equalize(const Image& image) {
  return by_histogram(image, "equalize", [](const Histogram& counts, Table& table) {
    std::int64_t total = 0, last = 0, used = 0;
    for (const std::int64_t count : counts)
      if (count > 0) total += count, last = count, ++used;
    const std::int64_t step = (total - last) / 255;
    if (used <= 1 || step == 0) return;
    std::int64_t before = step / 2;
    for (std::size_t i = 0; i < 256; ++i) {
      table[i] = static_cast<std::uint8_t>(std::min<std::int64_t>(before / step, 255));
      before += counts[i];
    }
  });
}

}  // namespace attend::image
