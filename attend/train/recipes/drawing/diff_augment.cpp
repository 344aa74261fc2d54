#include "attend/train/recipes/drawing/diff_augment.h"

#include <array>
#include <cstddef>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"

namespace attend::train {

namespace {

constexpr std::uint32_t kStream = 0x64696666;  // of random numbers

// What happens to one image.
struct Change {
  float brightness = 0, saturation = 1, contrast = 1;
  std::int64_t down = 0, right = 0;  // how far into the image its first pixel is
  std::int64_t top = 0, left = 0;    // centre of the square that is blanked
};

// A whole number from 0 to below `many`.
std::int64_t below(std::int64_t many, std::uint32_t word) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(word) * static_cast<std::uint64_t>(many)) >> 32);
}

Change change_of(std::int64_t side, std::uint64_t seed, std::uint64_t number) {
  const Random4 a = philox(seed, kStream, 2 * number), b = philox(seed, kStream, 2 * number + 1);
  const std::int64_t farthest = (side + 4) / 8;  // an eighth, rounded
  return {.brightness = to_unit(a.word[0]) - 0.5f,
          .saturation = 2 * to_unit(a.word[1]),
          .contrast = to_unit(a.word[2]) + 0.5f,
          .down = below(2 * farthest + 1, a.word[3]) - farthest,
          .right = below(2 * farthest + 1, b.word[0]) - farthest,
          .top = below(side + 1, b.word[1]),
          .left = below(side + 1, b.word[2])};
}

}  // namespace

DiffAugmentOptions diff_augment_named(std::string_view names, std::string_view what) {
  DiffAugmentOptions options;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    check(name == "color" || name == "translation" || name == "cutout",
          "{}: 'diff_augment' must name color, translation or cutout, with commas between them, not '{}'", what, names);
    (name == "color" ? options.color : name == "cutout" ? options.cutout : options.translation) = true;
    begin = end + 1;
  }
  return options;
}

DiffAugment::DiffAugment(const DiffAugmentOptions& options, Backend& backend, std::int64_t most, std::int64_t side)
    : options_(options),
      most_(most),
      colors_(make_tensor(backend, {kFactors * most}, DType::f32)),
      pixels_(make_tensor(backend, {most * side * side}, DType::i32)),
      black_(make_tensor(backend, {1, 3}, DType::f32)) {
  backend.fill(black_, 0);
}

DiffAugment::Draws DiffAugment::draw(const DiffAugmentOptions& options, std::int64_t side, std::uint64_t seed,
                                     std::uint64_t first, std::int64_t count) {
  Draws draws;
  const auto images = static_cast<std::size_t>(count);
  if (options.color) draws.colors.resize(kFactors * images);
  if (options.translation || options.cutout) draws.pixels.reserve(images * static_cast<std::size_t>(side * side));
  const std::int64_t square = (side + 1) / 2;
  const auto blanked = [&](std::int64_t at, std::int64_t centre) {
    return at >= centre - square / 2 && at < centre - square / 2 + square;
  };
  for (std::size_t i = 0; i < images; ++i) {
    const Change change = change_of(side, seed, first + i);
    if (options.color) {
      const std::array<float, kFactors> factors = {change.brightness, change.saturation, 1 - change.saturation,
                                                   change.contrast, 1 - change.contrast};
      for (std::size_t k = 0; k < factors.size(); ++k) draws.colors[k * images + i] = factors[k];
    }
    if (!options.translation && !options.cutout) continue;
    const std::int64_t down = options.translation ? change.down : 0, right = options.translation ? change.right : 0;
    const std::int64_t before = static_cast<std::int64_t>(i) * side * side;
    for (std::int64_t y = 0; y < side; ++y)
      for (std::int64_t x = 0; x < side; ++x) {
        const std::int64_t row = y + down, column = x + right;
        const bool black = row < 0 || row >= side || column < 0 || column >= side ||
                           (options.cutout && blanked(y, change.top) && blanked(x, change.left));
        draws.pixels.push_back(black ? 0 : static_cast<std::int32_t>(1 + before + row * side + column));
      }
  }
  return draws;
}

void DiffAugment::put(const Draws& draws) const {
  const auto send = [](const Tensor& to, const auto& list) {
    check(static_cast<std::int64_t>(list.size()) == to.size(), "DiffAugment: {} values for {}", list.size(),
          to.shape());
    to.backend().to_device_async(to.raw(), list.data(), list.size() * sizeof(list[0]));
  };
  if (options_.color) send(colors_, draws.colors);
  if (options_.translation || options_.cutout) send(pixels_, draws.pixels);
}

Tensor DiffAugment::operator()(const Tensor& images) const {
  check(images.dim(0) <= most_, "DiffAugment: {} images, but there are changes of {}", images.dim(0), most_);
  const Tensor seen = options_.color ? colored(images) : images;
  return options_.translation || options_.cutout ? moved(seen) : seen;
}

// The images stand last while their colours change, because a factor of each image then repeats over all before it.
Tensor DiffAugment::colored(const Tensor& images) const {
  const std::int64_t count = images.dim(0), places = images.dim(1) * images.dim(2);
  const auto factor = [&](std::int64_t which) {
    return ops::cast(images.pass()->input(colors_.slice_first(which * most_, count)), images.dtype());
  };
  Tensor x = ops::permute(images, {3, 1, 2, 0}).reshape({3, places, count});
  x = ops::add(x, factor(0));
  const Tensor grey = ops::mean(x, 0);  // [places, images]
  x = ops::add(ops::multiply(x, factor(1)), ops::multiply(grey, factor(2)));
  const Tensor middle = ops::mean(x.reshape({3 * places, count}), 0);  // [images]
  x = ops::add(ops::multiply(x, factor(3)), ops::multiply(middle, factor(4)));
  return ops::permute(x.reshape({3, images.dim(1), images.dim(2), count}), {3, 1, 2, 0});
}

// Every pixel is looked up in a table of all pixels, with a black one in front.
Tensor DiffAugment::moved(const Tensor& images) const {
  const std::int64_t pixels = images.dim(0) * images.dim(1) * images.dim(2);
  const Tensor black = ops::cast(images.pass()->input(black_), images.dtype());
  const Tensor table = ops::concat({black, images.reshape({pixels, 3})}, 0);
  return ops::gather(table, images.pass()->input(pixels_.slice_first(0, pixels))).reshape(images.shape());
}

}  // namespace attend::train
