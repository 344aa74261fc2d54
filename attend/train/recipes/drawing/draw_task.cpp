#include "attend/train/recipes/drawing/draw_task.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/image_generator.h"
#include "attend/tensor/backend.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

namespace {

constexpr std::uint64_t kShownSeed = 1, kEvaluationNoise = 0x76616c6964, kSettlingNoise = 0x736574746c65;
constexpr std::size_t kLossBatches = 8;        // of the validation set, for the losses
constexpr std::int64_t kSettlingBatches = 40;  // 0.9^40 of the statistics are what they were

}  // namespace

DrawTask::DrawTask(const Parts& parts)
    : parts_(parts),
      pixels_(make_tensor(parts.backend,
                          {parts.batch, parts.model.config().image_size(), parts.model.config().image_size(), 3},
                          DType::f32)),
      classes_(make_tensor(parts.backend, {parts.batch}, DType::i32)),
      noise_(make_tensor(parts.backend, {parts.batch, parts.model.config().noise_size}, DType::f32)),
      augment_(parts.diff_augment, parts.backend, 2 * parts.batch, parts.model.config().image_size()) {
  make_noise_from(0);
}

void DrawTask::make_noise_from(std::uint64_t row) {
  drawn_ = row;
  rows_.reset();
  const auto make = [batch = static_cast<std::uint64_t>(parts_.batch), seed = parts_.seed, shard = shard_,
                     width = parts_.model.config().noise_size, side = parts_.model.config().image_size(),
                     augment = parts_.diff_augment, next = row]() mutable -> Noise::Entry {
    Drawn drawn;
    const std::uint64_t first = next + shard.rank * batch;
    for (std::uint64_t i = 0; i < batch; ++i)
      for (const float value : tasks::noise_row(seed, first + i, width)) drawn.noise.push_back(value);
    // As many real images as generated ones.
    drawn.changes = DiffAugment::draw(augment, side, seed, 2 * first, 2 * static_cast<std::int64_t>(batch));
    next += shard.size * batch;
    return {std::move(drawn), next};
  };
  rows_ = std::make_unique<Noise>(make);
}

std::uint64_t DrawTask::next_batch() {
  if (player_ == discriminator) {
    data::HostImageBatch batch = parts_.training.next();
    upload(pixels_, batch.values);
    upload(classes_, batch.labels);
    parts_.training.give_back(std::move(batch));
  }
  const Noise::Entry noise = rows_->next();
  upload(noise_, noise.item.noise);
  augment_.put(noise.item.changes);
  drawn_ = noise.after;
  return 1;
}

Tensor DrawTask::read(Pass& pass, const Tensor& outside) const {
  const Tensor input = pass.input(outside);
  return parts_.dtype == DType::f32 ? input : ops::cast(input, parts_.dtype);
}

// The log has both losses, each the mean of its turns.
train::Loss DrawTask::loss(Pass& pass) {
  const bool judging = player_ == discriminator;
  const Tensor noise = read(pass, noise_), classes = pass.input(classes_);
  const models::Augment augment =
      parts_.diff_augment.any() ? [&](const Tensor& images) { return augment_(images); } : models::Augment();
  const Tensor loss = judging ? models::discriminator_loss(parts_.model, read(pass, pixels_), noise, classes, augment)
                              : models::generator_loss(parts_.model, noise, classes, augment);
  const Tensor mean = pass.tensor({1}, DType::f32), none = pass.tensor({1}, DType::f32);
  parts_.backend.scale(loss, judging ? 1.0f / static_cast<float>(parts_.discriminator_turns) : 1.0f, {mean});
  parts_.backend.fill(none, 0);
  return {loss, {{"discriminator", judging ? mean : none}, {"generator", judging ? none : mean}}};
}

void DrawTask::take_shard(const data::Shard& shard) {
  shard_ = shard;
  parts_.training.take_shard(shard);
  make_noise_from(drawn_);
}

Json DrawTask::position() const { return {{"batch", parts_.training.position()}, {"drawn", drawn_}}; }

void DrawTask::seek(const Json& position) {
  const auto number = [&](const char* key) {
    check(position.is_object() && position.contains(key) && position[key].is_number_unsigned(),
          "training: the saved place in the data is damaged");
    return position[key].get<std::uint64_t>();
  };
  parts_.training.seek(number("batch"));
  make_noise_from(number("drawn"));
}

// What goes through averaged weights has other statistics than the average of what went through the weights, and other
// spectral norms: as a recording pass draws a few batches, both are followed (Brock et al. 2019, appendix A: standing
// statistics). They go with the average, so the run itself stays as it is.
void DrawTask::settle() const {
  const models::SaganConfig& config = parts_.model.config();
  const Tensor z = make_tensor(parts_.backend, noise_.shape(), DType::f32),
               classes = make_tensor(parts_.backend, classes_.shape(), DType::i32);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < parts_.batch; ++i) labels.push_back(static_cast<std::int32_t>(i % config.classes()));
  upload(classes, labels);
  Pass pass(parts_.backend, {.recording = true});
  std::uint64_t row = 0;
  for (std::int64_t batch = 0; batch < kSettlingBatches; ++batch) {
    std::vector<float> noise;
    for (std::int64_t i = 0; i < parts_.batch; ++i)
      for (const float value : tasks::noise_row(kSettlingNoise, row++, config.noise_size)) noise.push_back(value);
    upload(z, noise);
    pass.begin({.plan = 1});
    parts_.model.generator()(read(pass, z), pass.input(classes));
  }
}

std::vector<double> DrawTask::validation_losses(world::World& world) const {
  train::SharedBatches shared(world, static_cast<std::size_t>(parts_.validation.batches()), 3);
  parts_.validation.for_each_of(train::shard_of(world), [&](std::size_t number, const data::HostImageBatch& batch) {
    if (batch.images < parts_.batch || number >= kLossBatches) return;
    std::vector<float> noise;
    const std::uint64_t row = number * static_cast<std::uint64_t>(parts_.batch);
    for (std::int64_t i = 0; i < parts_.batch; ++i)
      for (const float value :
           tasks::noise_row(kEvaluationNoise, row + static_cast<std::uint64_t>(i), parts_.model.config().noise_size))
        noise.push_back(value);
    const Tensor z = make_tensor(parts_.backend, noise_.shape(), DType::f32),
                 real = make_tensor(parts_.backend, pixels_.shape(), DType::f32),
                 classes = make_tensor(parts_.backend, classes_.shape(), DType::i32);
    upload(z, noise), upload(real, batch.values), upload(classes, batch.labels);
    Pass pass(parts_.backend);
    const auto judging =
        download(models::discriminator_loss(parts_.model, read(pass, real), read(pass, z), pass.input(classes)));
    const auto drawing = download(models::generator_loss(parts_.model, read(pass, z), pass.input(classes)));
    shared.set(number, {static_cast<double>(judging[0]), static_cast<double>(drawing[0]), 1});
  });
  std::vector<double> sums = shared.sums();
  for (std::size_t i = 0; i < 2; ++i) sums[i] /= std::max(sums[2], 1.0);
  return sums;
}

// Neither loss says how good the drawings are, so without an evaluator the latest weights are the best, and none is
// told from another of the same step by its loss.
train::Validation DrawTask::validate(world::World& world) {
  if (parts_.averaged) settle();
  const std::vector<double> losses = validation_losses(world);
  const double judging = losses[0], drawing = losses[1];
  train::Validation result{.loss = 0,
                           .score = static_cast<double>(drawn_),
                           .text = fmt::format("losses {:.3f} (discriminator), {:.3f} (generator)", judging, drawing),
                           .json = {{"discriminator_loss", judging}, {"generator_loss", drawing}}};
  if (!parts_.evaluator) return result;
  const FrechetEvaluator::Verdict verdict = (*parts_.evaluator)(parts_.model, parts_.dtype, parts_.drawings, world);
  result.loss = verdict.distance, result.score = -verdict.distance;
  const std::vector<std::string>& labels = parts_.model.config().labels;
  const auto least = std::min_element(verdict.variety_of.begin(), verdict.variety_of.end());
  result.text += fmt::format(", distance {:.2f}, {:.1f} % recognised, least variety {:.2f} ({})", verdict.distance,
                             100 * verdict.recognised, *least,
                             labels[static_cast<std::size_t>(least - verdict.variety_of.begin())]);
  result.json["frechet_distance"] = verdict.distance, result.json["recognised"] = verdict.recognised;
  result.json["least_variety"] = *least;
  for (std::size_t i = 0; i < labels.size(); ++i)
    result.json["classes"][labels[i]] = {{"recognised", verdict.recognised_of[i]}, {"variety", verdict.variety_of[i]}};
  return result;
}

std::vector<train::Example> DrawTask::examples(const train::ExampleLimits& limits) {
  const std::vector<std::string>& labels = parts_.model.config().labels;
  std::vector<train::Example> examples;
  for (std::size_t i = 0; i < limits.count; ++i) {
    tasks::DrawingPlan plan{tasks::noise_row(kShownSeed, i, parts_.model.config().noise_size),
                            std::vector<float>(labels.size())};
    plan.classes[i % labels.size()] = 1;
    view::Collector collector;
    std::vector<image::Image> drawn = tasks::draw(parts_.model, parts_.backend, parts_.dtype, {&plan, 1}, &collector);
    examples.push_back({.text = labels[i % labels.size()],
                        .attention = attention_in(collector),
                        .image = train::Example::Image{std::move(drawn[0])}});
  }
  return examples;
}

}  // namespace attend::train
