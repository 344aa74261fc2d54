// From a JPEG in memory to what a model sees, on one core; bench/images.py runs it beside Pillow and torchvision.
//   images PHOTO.jpg SMALL.png [--reps 20] [--dump FILE]
// Prints a JSON object: under each name the processor's seconds for one image, a number per repetition.
//   decode      the photo's pixels
//   resize      decoded photo to 224 x 224, bilinear, normalised into planes of floats
//   evaluate    all of it: decode, shortest edge 256, the middle 224 x 224, normalise
//   train       decode, a random part resized to 224 x 224, flip, normalise
//   small       a small image's pixels shifted, flipped and normalised
//   augment     the same with RandAugment in between
//   full        all that training on photos does: decode, a random part resized to 224 x 224, flip, RandAugment, floats
//               with the channels side by side, erasing (data::ImageMaker)
//   full_small  the same of a small image's file: decode, shift, flip, RandAugment, floats, erasing
// --dump writes the floats of "resize".
#include <fmt/format.h>

#include <map>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/image/augment.h"
#include "attend/image/crop.h"
#include "attend/image/decode.h"
#include "attend/image/preprocessor.h"
#include "bench/support/bench_main.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;
using image::Image;

struct Options {
  std::string photo, small, dump;
  int reps = 20;
};

const image::Normalization kNormalization(1.0 / 255, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});

void normalise(const Image& image, std::vector<float>& values) {
  const auto width = static_cast<std::size_t>(image.width), plane = width * static_cast<std::size_t>(image.height);
  values.resize(3 * plane);
  image::to_planes(image, kNormalization, values.data(), width, plane);
}

// The seconds of one call, each the mean of `times`.
template <class Work>
std::vector<double> timed(int reps, int times, const Work& work) {
  std::vector<double> seconds;
  work(0u);
  for (int rep = 0; rep < reps; ++rep) {
    const Stopwatch stopwatch(Stopwatch::Counts::cpu);
    for (int i = 0; i < times; ++i) work(static_cast<std::uint32_t>(rep * times + i));
    seconds.push_back(stopwatch.seconds() / times);
  }
  return seconds;
}

void run(const Options& options) {
  const std::string file = read_file(options.photo);
  const auto decode = [&] { return image::decode(std::as_bytes(std::span(file)), options.photo); };
  const Image photo = decode(), small = image::read_image(options.small);
  std::vector<float> values;
  std::map<std::string, std::vector<double>> seconds;
  seconds["decode"] = timed(options.reps, 10, [&](std::uint32_t) { decode(); });
  seconds["resize"] = timed(options.reps, 10, [&](std::uint32_t) {
    normalise(image::resize(photo, 224, 224, {.filter = image::Filter::bilinear}), values);
  });
  if (!options.dump.empty())
    write_file(options.dump, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  const image::PreprocessorConfig evaluation{.family = "bench",
                                             .resize = {image::SizeRule::Kind::shortest, {256, 0}},
                                             .crop = image::PixelSize{224, 224},
                                             .centre = image::Centre::to_even,
                                             .precision = image::Precision::pillow};
  const image::Preprocessor preprocessor(evaluation);
  seconds["evaluate"] =
      timed(options.reps, 10, [&](std::uint32_t) { normalise(preprocessor.prepare(decode()), values); });
  seconds["train"] = timed(options.reps, 10, [&](std::uint32_t i) {
    image::Draws draws(1, i);
    normalise(image::random_flip(image::random_resized_crop(decode(), 224, 224, {}, draws), draws), values);
  });
  seconds["small"] = timed(options.reps, 500, [&](std::uint32_t i) {
    image::Draws draws(1, i);
    normalise(image::random_flip(image::random_shift(small, 4, draws), draws), values);
  });
  seconds["augment"] = timed(options.reps, 500, [&](std::uint32_t i) {
    image::Draws draws(1, i);
    const Image moved = image::random_flip(image::random_shift(small, 4, draws), draws);
    normalise(image::rand_augment(moved, {}, draws), values);
  });
  const std::string small_file = read_file(options.small);
  const auto train_on = [&](const std::string& bytes, const data::ImageOptions& how, int times) {
    const data::ImageMaker maker(how);
    values.resize(maker.values());
    return timed(options.reps, times, [&, maker](std::uint32_t i) {
      image::Draws draws(1, i);
      maker(image::decode(std::as_bytes(std::span(bytes)), "bench"), draws, values);
    });
  };
  data::ImageOptions how;
  how.rand_augment_operations = 2, how.erasing = 0.25;
  seconds["full"] = train_on(file, how, 10);
  how.image_size = 32, how.crop = "shift";
  seconds["full_small"] = train_on(small_file, how, 200);
  Json json = Json::object();
  for (const auto& [name, list] : seconds) json[name] = list;
  fmt::print("{}\n", json.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Images to floats on one core.");
  app.add_option("photo", options.photo)->required();
  app.add_option("small", options.small)->required();
  app.add_option("--reps", options.reps);
  app.add_option("--dump", options.dump);
  return attend::bench_main(app, argc, argv, [&] { run(options); });
}
