// How fast training images are read and augmented, without a model: the batches of a recipe for classify-images.
//   image_batches RECIPE.json [--workers 0] [--batches 200] [--batch 0]
// Prints a JSON object: images per second in the first epoch, which decodes the files, and once they are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "attend/base/json.h"
#include "attend/data/images/image_batches.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "bench/support/bench_main.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  std::string recipe;
  std::int64_t workers = 0, batches = 200, batch = 0;
};

// Images per second of so many batches.
double rate_of(data::ImageBatches& batches, std::int64_t count, std::int64_t batch) {
  const Stopwatch stopwatch(Stopwatch::Counts::wall);
  for (std::int64_t i = 0; i < count; ++i) batches.give_back(batches.next());
  return static_cast<double>(count * batch) / stopwatch.seconds();
}

void run(const Options& options) {
  train::ImageRecipe recipe = train::resolve_image_recipe(read_json(options.recipe), options.recipe);
  recipe.images.workers = options.workers;
  const std::int64_t batch = options.batch > 0 ? options.batch : recipe.batch;
  const data::LabelledImages images(recipe.train);
  data::ImageReader reader(images, recipe.images.reading());
  std::vector<std::int64_t> items(static_cast<std::size_t>(images.size()));
  std::iota(items.begin(), items.end(), 0);
  data::ImageBatches batches(reader, items, recipe.images, {.batch = batch});
  const std::int64_t epoch = (images.size() + batch - 1) / batch;
  const double first = rate_of(batches, epoch, batch), later = rate_of(batches, options.batches, batch);
  fmt::print("{}\n", Json{{"recipe", options.recipe},
                          {"images", images.size()},
                          {"batch", batch},
                          {"workers", options.workers},
                          {"first_epoch_images_per_second", first},
                          {"images_per_second", later}}
                         .dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Training images per second, without a model.");
  app.add_option("recipe", options.recipe)->required();
  app.add_option("--workers", options.workers);
  app.add_option("--batches", options.batches);
  app.add_option("--batch", options.batch);
  return attend::bench_main(app, argc, argv, [&] { run(options); });
}
