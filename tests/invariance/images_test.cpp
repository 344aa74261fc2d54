// What a model answers for an image does not depend on the images beside it: classification, embeddings, captions,
// detection and generated images, bit by bit.
#include <gtest/gtest.h>

#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/image_generator.h"
#include "tests/invariance/answers.h"

namespace attend::test {
namespace {

class Images : public FormTest {};

// Spots of colour, another image for each number.
image::Image image(std::size_t number, int height, int width) {
  image::Image made(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(y / 5 * 31 + x / 7 * 17 + c * 101) + number * 53;
        made.row(y)[3 * x + c] = static_cast<std::uint8_t>(at * at % 251);
      }
  return made;
}

// count prepared images from number `first` on.
template <class Model>
std::vector<image::Image> prepared(const Model& model, std::size_t first, std::size_t count) {
  std::vector<image::Image> images;
  for (std::size_t i = first; i < first + count; ++i) images.push_back(model.prepare(image(i, 40, 48)));
  return images;
}

TEST_P(Images, Embeddings) {
  const tasks::ImageEncoder model("models/vit-cifar10", catalogue::Task::embed_images, *backend_, format());
  expect_batches_do_not_show(
      7, [&](std::size_t first, std::size_t count) { return model.features(prepared(model, first, count)); });
}

TEST_P(Images, Labels) {
  for (const char* folder : {"models/vit-cifar10", "models/vit-fashion-mnist"}) {
    const tasks::ImageEncoder model(folder, catalogue::Task::classify_images, *backend_, format());
    expect_batches_do_not_show(7, [&](std::size_t first, std::size_t count) {
      return labels_of(model.classify(prepared(model, first, count), 0));
    });
  }
}

TEST_P(Images, Captions) {
  const auto model = tasks::load_describer("models/flickr8k", *backend_, format());
  expect_batches_do_not_show(5, [&](std::size_t first, std::size_t count) {
    std::vector<Answer> answers;
    for (const tasks::Description& one : model->describe(prepared(*model, first, count), {})) {
      answers.push_back({one.score});
      append(answers.back(), one.text);
    }
    return answers;
  });
}

// Images of several sizes: those of one size are computed together.
TEST_P(Images, Boxes) {
  const tasks::Detector model("models/detr-scenes", *backend_, format());
  expect_batches_do_not_show(5, [&](std::size_t first, std::size_t count) {
    std::vector<image::Image> images;
    std::vector<image::PixelSize> sizes;
    for (std::size_t i = first; i < first + count; ++i) {
      const image::Image one = image(i, 64, i % 2 == 0 ? 64 : 96);
      sizes.push_back({.width = one.width, .height = one.height});
      images.push_back(model.prepare(one));
    }
    std::vector<Answer> answers;
    for (const auto& found : model.detect(images, sizes, 0.0f)) {
      answers.emplace_back();
      for (const tasks::Detected& one : found)
        for (const double number : {static_cast<double>(one.label), static_cast<double>(one.score), one.box.x,
                                    one.box.y, one.box.width, one.box.height})
          answers.back().push_back(static_cast<float>(number));
    }
    return answers;
  });
}

TEST_P(Images, Drawings) {
  if (GetParam().format.weights != nn::WeightForm::f32) GTEST_SKIP() << "a generator's weights are not packed";
  const tasks::ImageGenerator model("models/sagan-cifar10", *backend_);
  expect_batches_do_not_show(5, [&](std::size_t first, std::size_t count) {
    std::vector<tasks::DrawingPlan> plans;
    for (std::size_t i = first; i < first + count; ++i) plans.push_back(model.plan(i % 3, 7, i));
    std::vector<Answer> answers;
    for (const image::Image& drawn : model.draw(plans)) answers.emplace_back(drawn.pixels.begin(), drawn.pixels.end());
    return answers;
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, Images, testing::ValuesIn(forms()), [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace attend::test
