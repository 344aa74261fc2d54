#include "attend/data/synthetic/painted_dog.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/base/random.h"

namespace attend::data {

namespace {

using Shade = std::array<double, 3>;  // red, green, blue

constexpr std::array<Shade, 2> kCoatShades = {{{128, 78, 40}, {28, 26, 30}}};
struct Ground {
  Shade earth, sky;
  double horizon;
};
constexpr std::array<Ground, 3> kGrounds = {{{{200, 180, 140}, {110, 150, 190}, 0.45},
                                             {{225, 228, 235}, {190, 205, 225}, 0.35},
                                             {{93, 128, 55}, {75, 102, 65}, 0.35}}};

// Smooth noise in [0, 1): random values on a grid, eased between them.
class Noise {
 public:
  Noise(std::uint64_t seed, std::uint32_t stream, double cells) : seed_(seed), stream_(stream), cells_(cells) {}

  double at(double x, double y) const {  // both in [0, 1)
    const double column = x * cells_, row = y * cells_;
    const double left = std::floor(column), top = std::floor(row);
    const double u = ease(column - left), v = ease(row - top);
    return std::lerp(std::lerp(value(left, top), value(left + 1, top), u),
                     std::lerp(value(left, top + 1), value(left + 1, top + 1), u), v);
  }

 private:
  static double ease(double t) { return t * t * (3 - 2 * t); }
  double value(double column, double row) const {
    return to_unit(
        random_word(seed_, stream_, static_cast<std::uint64_t>(row) * 1024 + static_cast<std::uint64_t>(column)));
  }

  std::uint64_t seed_;
  std::uint32_t stream_;
  double cells_;
};

// An ellipse with a soft edge; lengths are shares of the image's side.
struct Blob {
  double x, y, radius_x, radius_y;
  double angle = 0, edge = 0.12;
};

class Canvas {
 public:
  Canvas(int size, std::uint64_t seed)
      : size_(size),
        coarse_(seed, 0, 4),
        fine_(seed, 1, 21),
        grain_(seed, 2, 85),
        pixels_(static_cast<std::size_t>(size) * size) {}

  void land(const Ground& ground) {
    each([&](double x, double y, Shade& pixel) {
      const double coarse = coarse_.at(x, y), fine = fine_.at(x, y);
      const double texture = 0.5 * coarse + 0.3 * fine + 0.2 * grain_.at(x, y) - 0.5;
      const bool sky = y < ground.horizon + 0.047 * (coarse - 0.5) + 0.023 * (fine - 0.5);
      for (std::size_t c = 0; c < 3; ++c)
        pixel[c] = sky ? ground.sky[c] + 60 * texture : ground.earth[c] * (0.85 + 0.25 * y) + 70 * texture;
    });
  }

  void add(const Shade& shade, const Blob& blob) {
    const double cosine = std::cos(blob.angle), sine = std::sin(blob.angle);
    each([&](double x, double y, Shade& pixel) {
      const double across = x - blob.x, down = y - blob.y;
      const double u = (across * cosine + down * sine) / blob.radius_x,
                   v = (down * cosine - across * sine) / blob.radius_y;
      if (u * u + v * v > 1.3) return;
      const double distance = std::hypot(u, v) + 0.15 * (fine_.at(x, y) - 0.5);
      const double share = std::clamp((1 - distance) / blob.edge, 0.0, 1.0);
      const double light = 1 - 0.175 * v + 0.25 * (grain_.at(x, y) - 0.5);  // from above, on fur
      for (std::size_t c = 0; c < 3; ++c) pixel[c] += share * (shade[c] * light - pixel[c]);
    });
  }

  image::Image image() const {
    constexpr long kStep = 4;  // of 255, so that the grain stays small in a PNG
    image::Image image(size_, size_);
    std::uint8_t* out = image.pixels.data();
    for (const Shade& pixel : pixels_)
      for (const double value : pixel)
        *out++ =
            static_cast<std::uint8_t>(std::clamp(kStep * std::lround(value / static_cast<double>(kStep)), 0L, 255L));
    return image;
  }

 private:
  template <typename Paint>
  void each(const Paint& paint) {
    for (int y = 0; y < size_; ++y)
      for (int x = 0; x < size_; ++x)
        paint((x + 0.5) / size_, (y + 0.5) / size_, pixels_[static_cast<std::size_t>(y) * size_ + x]);
  }

  int size_;
  Noise coarse_, fine_, grain_;
  std::vector<Shade> pixels_;
};

Shade times(const Shade& shade, double factor) { return {shade[0] * factor, shade[1] * factor, shade[2] * factor}; }

}  // namespace

PaintedDog painted_dog(std::uint64_t seed) {
  const std::size_t turn = static_cast<std::size_t>(seed - 1);
  return {.coat = turn % kDogCoats.size(), .ground = turn / kDogCoats.size() % kDogGrounds.size(), .seed = seed};
}

image::Image paint(const PaintedDog& dog, int size) {
  const Ground& ground = kGrounds[dog.ground];
  const Shade &coat = kCoatShades[dog.coat], far = times(coat, 0.7);
  Canvas canvas(size, dog.seed);
  canvas.land(ground);
  canvas.add(times(ground.earth, 0.55), {.x = 0.5, .y = 0.8, .radius_x = 0.27, .radius_y = 0.035, .edge = 0.6});
  for (const Blob& leg : {Blob{0.36, 0.7, 0.025, 0.1, 0.7}, Blob{0.63, 0.7, 0.025, 0.1, -0.8}}) canvas.add(far, leg);
  for (const Blob& part :
       {Blob{0.26, 0.47, 0.1, 0.022, 0.6},                                                             // tail
        Blob{0.48, 0.55, 0.18, 0.085}, Blob{0.37, 0.56, 0.085, 0.085}, Blob{0.62, 0.54, 0.09, 0.095},  // body
        Blob{0.69, 0.46, 0.06, 0.08, 0.6}, Blob{0.745, 0.4, 0.065, 0.055},
        Blob{0.8, 0.415, 0.05, 0.03, 0.1}})  // neck, head
    canvas.add(coat, part);
  canvas.add(far, {0.71, 0.4, 0.025, 0.055, 0.2});                                                   // ear
  for (const Blob& part : {Blob{0.32, 0.69, 0.028, 0.11, 0.5}, Blob{0.68, 0.68, 0.028, 0.11, -0.9},  // legs and paws
                           Blob{0.26, 0.77, 0.045, 0.017, 0.2}, Blob{0.765, 0.735, 0.045, 0.017, -0.3}})
    canvas.add(coat, part);
  constexpr Shade kInk = {18, 15, 15};
  canvas.add(kInk, {0.845, 0.405, 0.012, 0.012});  // nose
  canvas.add(kInk, {0.755, 0.385, 0.008, 0.008});  // eye
  return canvas.image();
}

}  // namespace attend::data
