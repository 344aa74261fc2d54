// Automatic settings of image classifiers.
#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/train/recipes/automatic/plan.h"

namespace attend::train {

namespace {

constexpr const char* kStart =
    "vit-cifar10";  // nine layers with a convolutional stem, 32 x 32 pixels, 93 % of CIFAR-10

}  // namespace

Plan plan_images(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  const std::int64_t images = facts.examples;
  constexpr std::int64_t kFew = 20'000;  // fewer are better learned from a model that has seen others
  const bool bundled = std::ranges::find(from.machine.bundled, kStart) != from.machine.bundled.end();
  const bool tuned = bundled && images < kFew;
  const std::int64_t batch = images < 1000 ? 32 : images < 10'000 ? 64 : 128;
  const bool large = facts.image_height.median >= 48;
  const std::int64_t size = tuned && large ? 64 : 32;
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, images / batch);
  plan.wanted_steps = plan.epoch_steps * (tuned ? (images < 2000 ? 40 : 15) : 100);
  plan.step_operations = 1;
  const float rate = tuned ? 3e-4f : 1e-3f;
  plan.settings = {{"batch", batch},        {"image_size", size},    {"schedule", "cosine"},
                   {"learning_rate", rate}, {"weight_decay", 0.05f}, {"label_smoothing", 0.1f}};
  if (tuned)
    plan.settings.update(
        Json{{"from", kStart}, {"crop", large ? "resized" : "shift"}, {"drop_path", 0.1f}, {"layer_decay", 0.8f}});
  if (tuned && large) plan.settings["least_area"] = 0.5f;
  plan.table = {
      tuned
          ? Chosen{"start", fmt::format("the bundled model {}", kStart),
                   fmt::format("fine-tuning beats training from scratch with {} images", with_commas(images)), "--from"}
          : Chosen{"model", "ViT, 2.7 M weights",
                   bundled ? fmt::format("from scratch: {} images are enough", with_commas(images))
                           : fmt::format("from scratch: no bundled model {} is there", kStart),
                   "--model, --from"},
      {"image size", fmt::format("{} x {} pixels", size, size),
       fmt::format("the images are {} x {}; larger ones take longer", facts.image_width.median,
                   facts.image_height.median),
       "--image-size"},
      {"batch", fmt::format("{} images", batch), fmt::format("{} batches in all data", with_commas(plan.epoch_steps)),
       "--batch"},
      {"learning rate", fmt::format("{}, cosine", rate), tuned ? "for fine-tuning" : "from scratch",
       "--learning-rate"}};
  return plan;
}

}  // namespace attend::train
