#include "attend/training/draw_task.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/drawer.h"
#include "attend/training/training_examples.h"

namespace attend::tasks {

namespace {

constexpr std::uint64_t kShownSeed = 1, kJudgedNoise = 0x76616c6964;
constexpr std::int64_t kLossBatches = 8;  // of the validation set, for the losses

}  // namespace

DrawTask::DrawTask(const Parts& parts)
    : parts_(parts),
      pixels_(make_tensor(parts.backend,
                          {parts.batch, parts.model.config().image_size(), parts.model.config().image_size(), 3},
                          DType::f32)),
      classes_(make_tensor(parts.backend, {parts.batch}, DType::i32)),
      noise_(make_tensor(parts.backend, {parts.batch, parts.model.config().noise_size}, DType::f32)) {}

std::uint64_t DrawTask::next_batch() {
  if (player_ == discriminator) {
    data::HostPictureBatch batch = parts_.training.next();
    upload(pixels_, batch.values);
    upload(classes_, batch.labels);
    parts_.training.give_back(std::move(batch));
  }
  std::vector<float> noise;
  for (std::int64_t i = 0; i < parts_.batch; ++i) {
    const std::vector<float> row = noise_row(parts_.seed, drawn_++, parts_.model.config().noise_size);
    noise.insert(noise.end(), row.begin(), row.end());
  }
  upload(noise_, noise);
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
  const Tensor loss = judging ? models::discriminator_loss(parts_.model, read(pass, pixels_), noise, classes)
                              : models::generator_loss(parts_.model, noise, classes);
  const Tensor mean = pass.tensor({1}, DType::f32), none = pass.tensor({1}, DType::f32);
  parts_.backend.scale(loss, judging ? 1.0f / static_cast<float>(parts_.discriminator_turns) : 1.0f, {mean});
  parts_.backend.fill(none, 0);
  return {loss, {{"discriminator", judging ? mean : none}, {"generator", judging ? none : mean}}};
}

Json DrawTask::position() const { return {{"batch", parts_.training.position()}, {"drawn", drawn_}}; }

void DrawTask::seek(const Json& position) {
  const auto number = [&](const char* key) {
    check(position.is_object() && position.contains(key) && position[key].is_number_unsigned(),
          "training: the saved place in the data is damaged");
    return position[key].get<std::uint64_t>();
  };
  parts_.training.seek(number("batch"));
  drawn_ = number("drawn");
}

// Neither loss says how good the drawings are, so without a judge the latest weights are the best.
train::Validation DrawTask::validate() {
  double judging = 0, drawing = 0;
  std::int64_t batches = 0;
  std::uint64_t row = 0;
  parts_.validation.for_each([&](const data::HostPictureBatch& batch) {
    if (batch.pictures < parts_.batch || batches == kLossBatches) return;
    std::vector<float> noise;
    for (std::int64_t i = 0; i < parts_.batch; ++i)
      for (const float value : noise_row(kJudgedNoise, row++, parts_.model.config().noise_size)) noise.push_back(value);
    const Tensor z = make_tensor(parts_.backend, noise_.shape(), DType::f32),
                 real = make_tensor(parts_.backend, pixels_.shape(), DType::f32),
                 classes = make_tensor(parts_.backend, classes_.shape(), DType::i32);
    upload(z, noise), upload(real, batch.values), upload(classes, batch.labels);
    Pass pass(parts_.backend);
    judging += static_cast<double>(
        download(models::discriminator_loss(parts_.model, read(pass, real), read(pass, z), pass.input(classes)))[0]);
    drawing +=
        static_cast<double>(download(models::generator_loss(parts_.model, read(pass, z), pass.input(classes)))[0]);
    ++batches;
  });
  const double count = static_cast<double>(std::max<std::int64_t>(batches, 1));
  judging /= count, drawing /= count;
  train::Validation result{.loss = judging,
                           .score = static_cast<double>(drawn_),
                           .text = fmt::format("losses {:.3f} (discriminator), {:.3f} (generator)", judging, drawing),
                           .json = {{"discriminator_loss", judging}, {"generator_loss", drawing}}};
  if (!parts_.judge) return result;
  const DrawJudge::Verdict verdict = (*parts_.judge)(parts_.model, parts_.dtype, parts_.drawings);
  result.loss = verdict.distance, result.score = -verdict.distance;
  result.text += fmt::format(", distance {:.2f}, {:.1f} % recognised", verdict.distance, 100 * verdict.recognised);
  result.json["frechet_distance"] = verdict.distance, result.json["recognised"] = verdict.recognised;
  return result;
}

std::vector<train::Example> DrawTask::examples(const train::ExampleLimits& limits) {
  const std::vector<std::string>& labels = parts_.model.config().labels;
  std::vector<train::Example> examples;
  for (std::size_t i = 0; i < limits.count; ++i) {
    DrawingPlan plan{noise_row(kShownSeed, i, parts_.model.config().noise_size), std::vector<float>(labels.size())};
    plan.classes[i % labels.size()] = 1;
    view::Collector collector;
    std::vector<image::Image> drawn = draw(parts_.model, parts_.backend, parts_.dtype, {&plan, 1}, &collector);
    examples.push_back({.text = labels[i % labels.size()],
                        .attention = attention_in(collector),
                        .picture = train::Example::Picture{std::move(drawn[0])}});
  }
  return examples;
}

}  // namespace attend::tasks
