// The classes of attend/attend.h, which is all that this file includes of the library: they answer what their models
// do, copies are the same model, and a model keeps what it stands on.
#include "attend/attend.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace {

const std::vector<std::string> kLines = {"tree lamp stone boat"};

attend::Device one_thread() { return attend::Device("cpu", {.threads = 1}); }

TEST(Api, TranslatorKeepsDeviceAndTokenizerKeepsModel) {
  std::optional<attend::Translator> first(std::in_place, "models/reverse-transformer", one_thread());
  const attend::Translator copy = *first;
  EXPECT_EQ(first->translate(kLines, {.beams = 2})[0].text(), "boat stone lamp tree");
  first.reset();
  EXPECT_EQ(copy.translate(kLines)[0].text(), "boat stone lamp tree");
  EXPECT_FALSE(copy.self_attention(kLines[0]).empty());
  const attend::Tokenizer tokenizer = attend::Translator(copy).tokenizer();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_ids(kLines[0])), kLines[0]);
}

TEST(Api, TokenizerOfAFolder) {
  const attend::Tokenizer tokenizer("models/reverse-transformer");
  const attend::Encoding encoding = tokenizer.encode(kLines[0]);
  EXPECT_EQ(encoding.ids, tokenizer.encode_ids(kLines[0]));
  EXPECT_EQ(tokenizer.token_to_id(*tokenizer.id_to_token(encoding.ids[0])), encoding.ids[0]);
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
  EXPECT_GT(tokenizer.vocabulary_size(), 10u);
}

TEST(Api, WhatAFolderDoes) {
  EXPECT_EQ(attend::task_of("models/reverse-transformer"), "translate");
  EXPECT_EQ(attend::task_of("models/vit-fashion-mnist"), "classify");
  EXPECT_THROW(attend::Generator("models/reverse-transformer", one_thread()), attend::Error);
  EXPECT_THROW(attend::ImageEmbedder("models/reverse-transformer", one_thread()), attend::Error);
  EXPECT_THROW(attend::Translator("models/reverse-transformer", one_thread(), {.dtype = "f64"}), attend::Error);
  EXPECT_THROW(attend::Translator("models/reverse-transformer", one_thread(), {.weights = "int3"}), attend::Error);
}

TEST(Api, ImagesAreResizedByTheModel) {
  const attend::ImageClassifier classifier("models/vit-fashion-mnist", one_thread());
  const std::vector<attend::image::Image> images = {attend::image::Image(40, 30), attend::image::Image(28, 28)};
  const std::vector<attend::Classified> both = classifier.classify(images, 2);
  ASSERT_EQ(both.size(), 2u);
  ASSERT_EQ(both[0].labels.size(), 2u);
  EXPECT_EQ(classifier.classify(images[0]).labels.at(0).label, both[0].labels[0].label);

  const attend::Detector detector("models/detr-scenes", one_thread());
  const auto found = detector.detect(images, 0);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_FALSE(found[0].empty());
  EXPECT_LT(static_cast<std::size_t>(found[0][0].label), detector.labels().size());
}

TEST(Api, TrainingNamesWhatIsWrong) {
  attend::Json settings = attend::Json::object();
  EXPECT_THROW(attend::run_training(attend::Json::array()), attend::Error);
  settings["task"] = "no-such-task";
  EXPECT_THROW(attend::run_training(settings), attend::Error);
}

}  // namespace
