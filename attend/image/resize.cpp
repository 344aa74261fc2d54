#include "attend/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "attend/base/error.h"
#include "attend/image/resize_weights.h"
#include "attend/image/rows.h"

namespace attend::image {

namespace {

constexpr std::pair<std::string_view, Filter> kNames[] = {{"nearest", Filter::nearest},   {"lanczos", Filter::lanczos},
                                                          {"bilinear", Filter::bilinear}, {"bicubic", Filter::bicubic},
                                                          {"box", Filter::box},           {"hamming", Filter::hamming}};

// The pixels that nearest takes along one axis. Pillow walks there in steps, and so do their rounding errors.
std::vector<int> nearest_of(const Axis& axis) {
  const double step = static_cast<double>(axis.end - axis.begin) / axis.target;
  double at = axis.begin + step * 0.5;
  std::vector<int> pixels;
  for (int i = 0; i < axis.last; ++i, at += step)
    if (i >= axis.first) pixels.push_back(std::clamp(static_cast<int>(at), 0, axis.source - 1));
  return pixels;
}

// kChannels: 0 when their number is not known beforehand.
template <int kChannels>
void pick(const std::uint8_t* from, const std::vector<int>& columns, int channels, std::uint8_t* to) {
  if (kChannels > 0) channels = kChannels;
  for (const int column : columns)
    for (int c = 0; c < channels; ++c) *to++ = from[column * channels + c];
}

Image resize_nearest(const Image& image, const Axis& across, const Axis& down) {
  const std::vector<int> columns = nearest_of(across), rows = nearest_of(down);
  Image out(static_cast<int>(columns.size()), static_cast<int>(rows.size()), image.channels);
  for (int y = 0; y < out.height; ++y) {
    const std::uint8_t* from = image.row(rows[static_cast<std::size_t>(y)]);
    if (image.channels == 3)
      pick<3>(from, columns, 3, out.row(y));
    else
      pick<0>(from, columns, image.channels, out.row(y));
  }
  return out;
}

// One row of any number of channels.
void along(const std::uint8_t* from, std::uint8_t* to, int channels, const Weights& weights) {
  for (std::size_t i = 0; i < weights.taps.size(); ++i)
    for (int c = 0; c < channels; ++c) {
      std::int32_t sum = 1 << (weights.bits - 1);
      for (int t = 0; t < weights.taps[i].count; ++t)
        sum += from[(weights.taps[i].from + t) * channels + c] * weights.of(i)[t];
      *to++ = static_cast<std::uint8_t>(std::clamp(sum >> weights.bits, 0, 255));
    }
}

// Rows that lie a stride apart.
struct Strip {
  std::vector<std::uint8_t> bytes;
  std::size_t stride = 0;
};

// Rows [first, last) of the image, each resized along itself.
Strip resize_rows(const Image& image, int first, int last, const Weights& weights) {
  const int count = last - first;
  Strip strip;
  strip.stride = weights.taps.size() * static_cast<std::size_t>(image.channels) + kSlack;
  strip.bytes.resize(strip.stride * static_cast<std::size_t>(count));
  if (image.channels != 3) {
    for (int y = 0; y < count; ++y)
      along(image.row(first + y), strip.bytes.data() + strip.stride * static_cast<std::size_t>(y), image.channels,
            weights);
    return strip;
  }
  const GroupedWeights groups = grouped(weights, image.width);
  // Behind the last rows nothing may be read: they are copied to where there is room.
  const std::size_t behind = static_cast<std::size_t>(image.height - last) * image.row_bytes();
  const std::size_t lacking = behind >= kSlack ? 0 : (kSlack - behind + image.row_bytes() - 1) / image.row_bytes();
  const int copied = static_cast<int>(std::min(lacking, static_cast<std::size_t>(count))), direct = count - copied;
  rows().along_rgb(image.row(first), image.row_bytes(), strip.bytes.data(), strip.stride, direct, groups);
  std::vector<std::uint8_t> copy(image.row(first + direct), image.row(last));
  copy.resize(copy.size() + kSlack);
  rows().along_rgb(copy.data(), image.row_bytes(), strip.bytes.data() + strip.stride * static_cast<std::size_t>(direct),
                   strip.stride, copied, groups);
  return strip;
}

// Rows as they come, those before the first and behind the last read away, each resized along itself; or without
// weights, `width` pixels of each from `left` on.
class StripReader {
 public:
  StripReader(ImageRows& rows, int first, int last) : rows_(rows), first_(first), last_(last) {}

  Strip resized(const Weights& weights) {
    Strip strip = strip_of(weights.taps.size());
    const GroupedWeights groups = grouped(weights, rows_.width());
    // Several at once, which is faster; kSlack bytes behind the last may be read.
    const std::size_t bytes = rows_.row_bytes();
    const int at_once = static_cast<int>(std::clamp<std::size_t>(kBlock / bytes, 1, 64));
    std::vector<std::uint8_t> block(bytes * static_cast<std::size_t>(at_once) + kSlack);
    skip_to(first_, block.data());
    for (int y = first_; y < last_;) {
      const int count = std::min(at_once, last_ - y);
      for (int i = 0; i < count; ++i) rows_.next(block.data() + bytes * static_cast<std::size_t>(i));
      rows().along_rgb(block.data(), bytes, strip.bytes.data() + strip.stride * static_cast<std::size_t>(y - first_),
                       strip.stride, count, groups);
      y += count;
    }
    at_ = last_;
    skip_to(rows_.height(), block.data());
    return strip;
  }

  Strip cut(int left, int width) {
    Strip strip = strip_of(static_cast<std::size_t>(width));
    std::vector<std::uint8_t> row(rows_.row_bytes());
    skip_to(first_, row.data());
    for (int y = first_; y < last_; ++y) {
      rows_.next(row.data());
      std::memcpy(strip.bytes.data() + strip.stride * static_cast<std::size_t>(y - first_), row.data() + 3 * left,
                  3 * static_cast<std::size_t>(width));
    }
    at_ = last_;
    skip_to(rows_.height(), row.data());
    return strip;
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 18;  // bytes

  Strip strip_of(std::size_t width) const {
    Strip strip;
    strip.stride = 3 * width + kSlack;
    strip.bytes.resize(strip.stride * static_cast<std::size_t>(last_ - first_));
    return strip;
  }
  // Also behind the last: a file that is broken there is broken.
  void skip_to(int row, std::uint8_t* room) {
    for (; at_ < row; ++at_) rows_.next(room);
  }

  ImageRows& rows_;
  int first_, last_, at_ = 0;
};

bool is_idle(const Axis& axis) { return axis.target == axis.source && axis.begin == 0 && axis.end == axis.source; }

// The way down: from which rows, and with which weights.
struct Down {
  int first, last;
  bool idle;
  Weights weights = {};
};
Down down_of(const Axis& axis, Filter filter, Precision precision) {
  if (is_idle(axis)) return {axis.first, axis.last, true};
  Weights weights = weights_of(axis, filter, precision);
  const int first = weights.taps.front().from, last = weights.taps.back().from + weights.taps.back().count;
  return {first, last, false, std::move(weights)};
}

// Rows that lie a stride apart, from the first that the way down needs.
Image resize_down(const std::uint8_t* from, std::size_t stride, const Down& down, Image out) {
  for (int y = 0; y < out.height; ++y) {
    if (down.idle) {
      std::memcpy(out.row(y), from + static_cast<std::size_t>(y) * stride, out.row_bytes());
      continue;
    }
    const auto [row, taps] = down.weights.taps[static_cast<std::size_t>(y)];
    rows().across(from + static_cast<std::size_t>(row - down.first) * stride, stride,
                  down.weights.of(static_cast<std::size_t>(y)), taps, down.weights.bits, out.row(y), out.row_bytes());
  }
  return out;
}

Image resize_filtered(const Image& image, const Axis& across, const Axis& along, Filter filter, Precision precision) {
  const Down down = down_of(along, filter, precision);
  Image out(across.last - across.first, along.last - along.first, image.channels);
  if (is_idle(across))
    return resize_down(image.row(down.first) + static_cast<std::size_t>(across.first * image.channels),
                       image.row_bytes(), down, std::move(out));
  const Strip strip = resize_rows(image, down.first, down.last, weights_of(across, filter, precision));
  return resize_down(strip.bytes.data(), strip.stride, down, std::move(out));
}

Image resize_filtered(ImageRows& rows, const Axis& across, const Axis& along, Filter filter, Precision precision) {
  const Down down = down_of(along, filter, precision);
  Image out(across.last - across.first, along.last - along.first);
  StripReader reader(rows, down.first, down.last);
  const Strip strip =
      is_idle(across) ? reader.cut(across.first, out.width) : reader.resized(weights_of(across, filter, precision));
  return resize_down(strip.bytes.data(), strip.stride, down, std::move(out));
}

Image resize_nearest(ImageRows& rows, const Axis& across, const Axis& down) {
  const std::vector<int> columns = nearest_of(across), wanted = nearest_of(down);
  Image out(static_cast<int>(columns.size()), static_cast<int>(wanted.size()));
  std::vector<std::uint8_t> row(rows.row_bytes());
  std::size_t next = 0;
  for (int y = 0; y < rows.height(); ++y) {
    rows.next(row.data());
    for (; next < wanted.size() && wanted[next] == y; ++next)
      pick<3>(row.data(), columns, 3, out.row(static_cast<int>(next)));
  }
  return out;
}

// What is wanted of the result.
PixelBox window_of(int width, int height, const ResizeOptions& options) {
  check(width > 0 && height > 0 && width <= kMostPixels / height, "resize: cannot make an image of {} x {}", width,
        height);
  const PixelBox window = options.window.value_or(PixelBox{0, 0, width, height});
  check(window.left >= 0 && window.top >= 0 && window.right <= width && window.bottom <= height && window.width() > 0 &&
            window.height() > 0,
        "resize: the window {}, {}, {}, {} does not lie in an image of {} x {}", window.left, window.top, window.right,
        window.bottom, width, height);
  return window;
}

Box box_of(const Image& image, const ResizeOptions& options) {
  const Box box =
      options.box.value_or(Box{.right = static_cast<double>(image.width), .bottom = static_cast<double>(image.height)});
  check(box.left >= 0 && box.top >= 0 && box.right <= image.width && box.bottom <= image.height &&
            box.left < box.right && box.top < box.bottom,
        "resize: the box {}, {}, {}, {} does not lie in an image of {} x {}", box.left, box.top, box.right, box.bottom,
        image.width, image.height);
  return box;
}

// Whole blocks are averaged first, and what is left is resized.
Image resize_in_two(const Image& image, int width, int height, const ResizeOptions& options, const Box& box) {
  const double across = (box.right - box.left) / width;
  const double down = (box.bottom - box.top) / height;
  const int x = std::max(1, static_cast<int>(across / options.reducing_gap));
  const int y = std::max(1, static_cast<int>(down / options.reducing_gap));
  ResizeOptions rest = options;
  rest.reducing_gap = 0;
  if (x == 1 && y == 1) return resize(image, width, height, rest);
  const double reach = filter_support(options.filter) - 0.5;
  const PixelBox safe = {.left = std::max(0, static_cast<int>(box.left - reach * across)),
                         .top = std::max(0, static_cast<int>(box.top - reach * down)),
                         .right = std::min(image.width, static_cast<int>(std::ceil(box.right + reach * across))),
                         .bottom = std::min(image.height, static_cast<int>(std::ceil(box.bottom + reach * down)))};
  const auto moved = [](double at, int from, int factor) { return (at - from) / factor; };
  rest.box = Box{moved(box.left, safe.left, x), moved(box.top, safe.top, y), moved(box.right, safe.left, x),
                 moved(box.bottom, safe.top, y)};
  return resize(reduce(image, x, y, safe), width, height, rest);
}

}  // namespace

Filter filter_of(std::int64_t number, std::string_view source) {
  check(number >= 0 && number <= 5, "{}: resample is {}; Pillow's filters are 0 to 5", source, number);
  return static_cast<Filter>(number);
}

Filter filter_named(std::string_view name, std::string_view source) {
  for (const auto& [known, filter] : kNames)
    if (known == name) return filter;
  fail("{}: no interpolation is called '{}': nearest, bilinear, bicubic, lanczos, box and hamming are", source, name);
}

Image resize(const Image& image, int width, int height, const ResizeOptions& options) {
  check_image(image, "resize");
  const PixelBox window = window_of(width, height, options);
  const Box box = box_of(image, options);
  check(options.reducing_gap == 0 || options.reducing_gap >= 1, "resize: the reducing gap is 1 or more, not {}",
        options.reducing_gap);
  if (options.reducing_gap > 0 && options.filter != Filter::nearest)
    return resize_in_two(image, width, height, options, box);
  // Pillow hands the box on in single precision.
  const auto single = [](double at) { return static_cast<float>(at); };
  const Axis across = {image.width, width, single(box.left), single(box.right), window.left, window.right};
  const Axis down = {image.height, height, single(box.top), single(box.bottom), window.top, window.bottom};
  return options.filter == Filter::nearest ? resize_nearest(image, across, down)
                                           : resize_filtered(image, across, down, options.filter, options.precision);
}

Image resize(ImageRows& rows, int width, int height, const ResizeOptions& options) {
  const PixelBox window = window_of(width, height, options);
  check(!options.box && options.reducing_gap == 0, "resize: of rows all are resized, at once");
  const Axis across = {rows.width(), width, 0, static_cast<float>(rows.width()), window.left, window.right};
  const Axis down = {rows.height(), height, 0, static_cast<float>(rows.height()), window.top, window.bottom};
  return options.filter == Filter::nearest ? resize_nearest(rows, across, down)
                                           : resize_filtered(rows, across, down, options.filter, options.precision);
}

}  // namespace attend::image
