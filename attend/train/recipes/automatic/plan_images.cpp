// Automatic settings of image classifiers.
#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/train/recipes/automatic/plan.h"

namespace attend::train {

namespace {

bool is_there(const Machine& machine, const char* name) {
  return std::ranges::find(machine.bundled, name) != machine.bundled.end();
}

// The height of most images, within what a small model reads quickly.
std::int64_t size_for(const data::DataFacts& facts, std::int64_t least, std::int64_t most) {
  return std::clamp<std::int64_t>((facts.image_height.median + 31) / 32 * 32, least, most);
}

Chosen size_row(const data::DataFacts& facts, std::int64_t size) {
  return {"image size", fmt::format("{} x {} pixels", size, size),
          fmt::format("the images are {} x {}; larger ones take longer", facts.image_width.median,
                      facts.image_height.median),
          "--image-size"};
}

Chosen batch_row(std::int64_t batch, std::int64_t epoch) {
  return {"batch", fmt::format("{} images", batch), fmt::format("{} batches in all data", with_commas(epoch)),
          "--batch"};
}

constexpr const char* kStart = "vit-cifar10";  // nine layers with a convolutional stem, 32 x 32 pixels

std::string probe_text(const std::vector<Probed>& probed) {
  std::string text = fmt::format("a linear classifier on its features is right for {:.0f} % of held-out images",
                                 100 * probed[0].accuracy);
  for (std::size_t i = 1; i < probed.size(); ++i)
    text += fmt::format("{}{}: {:.0f} %", i == 1 ? " (" : ", ", probed[i].model, 100 * probed[i].accuracy);
  return text + (probed.size() > 1 ? ")" : "");
}

}  // namespace

Plan plan_images(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  const std::int64_t images = facts.examples;
  constexpr std::int64_t kFew = 20'000;  // fewer are better learned from a model that has seen others
  const std::vector<Probed>& probed = from.machine.probed;
  const bool tuned = !probed.empty() && images < kFew;
  const std::int64_t batch = images < 1000 ? 32 : images < 10'000 ? 64 : 128;
  // Half as large again as the model's own: small parts of a photo show, and a step takes two and a half times as long.
  const std::int64_t own = tuned ? probed[0].size : 32;
  const std::int64_t size = tuned && facts.image_height.median >= own * 3 / 2 && images < 5000 ? own * 3 / 2 : own;
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, images / batch);
  plan.wanted_steps = plan.epoch_steps * (tuned ? (images < 2000 ? 40 : 15) : 100);
  plan.step_operations = 1;
  const float rate = tuned ? 3e-4f : 1e-3f;
  plan.settings = {{"batch", batch},        {"image_size", size},    {"schedule", "cosine"},
                   {"learning_rate", rate}, {"weight_decay", 0.05f}, {"label_smoothing", 0.1f}};
  if (tuned) {
    // Few validation images choose badly between checkpoints; averaged weights are all late ones.
    plan.settings.update(Json{{"from", probed[0].model},
                              {"crop", size > own ? "resized" : "shift"},
                              {"least_area", 0.35f},
                              {"rand_augment_operations", 2},
                              {"rand_augment_magnitude", 7},
                              {"layer_decay", 0.8f},
                              {"ema", 0.97f}});
    if (probed[0].drops_layers) plan.settings["drop_path"] = 0.1f;
    plan.settings.update(probed[0].pixels);
  }
  plan.table = {
      tuned ? Chosen{"start", fmt::format("the bundled model {}", probed[0].model), probe_text(probed), "--from"}
            : Chosen{"model", "ViT, 2.7 M weights",
                     probed.empty() ? "from scratch: no bundled image model is there"
                                    : fmt::format("from scratch: {} images are enough", with_commas(images)),
                     "--model, --from"},
      size_row(facts, size),
      batch_row(batch, plan.epoch_steps),
      {"learning rate", fmt::format("{}, cosine", rate),
       tuned ? "for fine-tuning; a layer below the top has 0.8 of the one above" : "from scratch", "--learning-rate"}};
  return plan;
}

Plan plan_detection(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  constexpr const char* kDetector = "detr-scenes";  // 20 queries, 128 x 128 pixels, drawn scenes
  constexpr std::int64_t kFew = 20'000, kItsQueries = 20, kSize = 128, kBatch = 16;
  const std::int64_t images = facts.examples, boxes = facts.boxes.most;
  const bool tuned = is_there(from.machine, kDetector) && images < kFew && boxes <= kItsQueries;
  const std::int64_t size = tuned ? kSize : size_for(facts, kSize, 256), queries = std::max(kItsQueries, boxes + 5);
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, images / kBatch);
  plan.wanted_steps = std::clamp<std::int64_t>(100 * plan.epoch_steps, 2000, 100'000);
  plan.step_operations = 1;
  const float rate = 3e-4f;
  plan.settings = {{"batch", kBatch},     {"image_size", size}, {"schedule", "cosine"}, {"learning_rate", rate},
                   {"crop_chance", 0.5f}, {"least_crop", 0.6f}, {"least_scale", 0.75f}, {"norms", "live"}};
  if (tuned)
    plan.settings.update(Json{{"from", kDetector}, {"backbone_rate", 0.3f}});
  else
    plan.settings.update(Json{{"width", 128},
                              {"heads", 4},
                              {"hidden", 512},
                              {"encoder_layers", 2},
                              {"decoder_layers", 3},
                              {"queries", queries}});
  const std::string why = images >= kFew        ? fmt::format("{} images are enough", with_commas(images))
                          : boxes > kItsQueries ? fmt::format("an image has up to {} boxes", boxes)
                                                : fmt::format("no bundled model {} is there", kDetector);
  plan.table = {
      tuned ? Chosen{"start", fmt::format("the bundled model {}", kDetector),
                     fmt::format("{} images are too few for a detector from scratch", with_commas(images)), "--from"}
            : Chosen{"model", "DETR, width 128, 2 + 3 layers", "from scratch: " + why, "--width, --from"},
      size_row(facts, size),
      batch_row(kBatch, plan.epoch_steps),
      {"learning rate", fmt::format("{}, cosine", rate),
       tuned ? "for fine-tuning; the backbone's is 0.3 of it" : "from scratch", "--learning-rate"}};
  return plan;
}

Plan plan_captions(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  constexpr std::int64_t kFew = 20'000, kBatch = 32;
  const std::int64_t images = facts.examples;
  const bool tuned = is_there(from.machine, kStart) && images < kFew;
  const std::int64_t size = tuned ? (facts.image_height.median >= 48 ? 64 : 32) : size_for(facts, 32, 128);
  const std::int64_t words = facts.texts.empty() ? 20 : facts.texts[0].words.most95;
  const std::int64_t least = images < 1000 ? 1 : images < 5000 ? 2 : 5;
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, images / kBatch);
  plan.wanted_steps = std::clamp<std::int64_t>(60 * plan.epoch_steps, 1500, 100'000);
  plan.step_operations = 1;
  const float rate = 1e-3f;
  plan.settings = {
      {"batch", kBatch},
      {"image_size", size},
      {"schedule", "cosine"},
      {"learning_rate", rate},
      {"least_count", least},
      {"max_length", std::clamp<std::int64_t>(words + 4, 8, 60)},
      {"score_images", 100},
      {"decoder", "transformer"},
      {"decoder_config", {{"width", 128}, {"heads", 4}, {"hidden", 256}, {"layers", 2}, {"dropout", 0.1f}}}};
  if (tuned)
    plan.settings.update(Json{{"encoder", kStart}, {"encoder_rate", 0.2f}});
  else
    plan.settings.update(Json{{"model", "vit_conv"}, {"patch_size", 8}, {"width", 128}, {"layers", 4}, {"heads", 4}});
  plan.table = {
      tuned ? Chosen{"encoder", fmt::format("the bundled model {}", kStart),
                     fmt::format("{} images are too few to learn to see from", with_commas(images)), "--encoder"}
            : Chosen{"encoder", "ViT, width 128, 4 layers",
                     images >= kFew ? fmt::format("from scratch: {} images are enough", with_commas(images))
                                    : fmt::format("from scratch: no bundled model {} is there", kStart),
                     "--model, --encoder"},
      {"decoder", "Transformer, width 128, 2 layers", "a small one is quick to learn", "--decoder, --decoder-config"},
      {"words", fmt::format("those that come {} times or more", least),
       fmt::format("{} images, {} distinct words", with_commas(images),
                   with_commas(facts.texts.empty() ? 0 : facts.texts[0].distinct_words)),
       "--least-count"},
      size_row(facts, size),
      batch_row(kBatch, plan.epoch_steps),
      {"learning rate", fmt::format("{}, cosine", rate), tuned ? "the encoder's is 0.2 of it" : "from scratch",
       "--learning-rate"}};
  return plan;
}

}  // namespace attend::train
