// The C functions in the hands of someone who gets everything wrong: each call answers with a status or does something
// that is written down in attend/c.h, and nothing crashes, leaks or hangs. Run under ASan as all tests are; what a
// proper caller sees is tests/install/c_test.c.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/unicode/unicode.h"
#include "attend/c.h"

namespace {

constexpr const char* kLine[] = {"The house is blue."};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

attend_model* open_or_null(const char* name, const char* task = nullptr) {
  attend_open_options options = {};
  options.size = sizeof options, options.task = task, options.threads = 1;
  attend_model* model = nullptr;
  EXPECT_EQ(attend_open(name, &options, &model), ATTEND_OK) << attend_message();
  return model;
}

attend_options options_with(std::int64_t attend_options::*field, std::int64_t value) {
  attend_options options = {};
  options.size = sizeof options;
  options.*field = value;
  return options;
}

// Every call that takes lines, with one line.
using LinesCall = attend_status (*)(attend_model*, const char* const*, size_t, const attend_options*, attend_results**);
constexpr LinesCall kLinesCalls[] = {attend_translate, attend_classify, attend_tag, attend_fill};

TEST(HostileC, EveryCallRefusesNull) {
  attend_model* model = nullptr;
  attend_results* results = nullptr;
  attend_tensor tensor = {};
  for (const LinesCall call : kLinesCalls) {
    EXPECT_EQ(call(nullptr, kLine, 1, nullptr, &results), ATTEND_ARGUMENT);
    EXPECT_EQ(call(nullptr, nullptr, 0, nullptr, nullptr), ATTEND_ARGUMENT);
    EXPECT_EQ(results, nullptr);
  }
  EXPECT_EQ(attend_answer(nullptr, "a", "b", nullptr, &results), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_embed(nullptr, kLine, 1, nullptr, &tensor), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_embed(nullptr, kLine, 1, nullptr, nullptr), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_see(nullptr, &tensor, 1, nullptr, &results), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_draw(nullptr, "dog", 1, nullptr, &tensor), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_generate(nullptr, "a", nullptr, nullptr, nullptr, nullptr), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_tokenize(nullptr, "a", &tensor), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_detokenize(nullptr, &tensor, &results), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_attention(nullptr, "a", &tensor, &results), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_open(nullptr, nullptr, &model), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_open("models/en-fr", nullptr, nullptr), ATTEND_ARGUMENT);
  EXPECT_STREQ(attend_task(nullptr), "");
  EXPECT_EQ(attend_results_lines(nullptr), 0u);
  EXPECT_EQ(attend_results_item(nullptr, 0, 0, nullptr), ATTEND_ARGUMENT);
  attend_close(nullptr), attend_close(&model), attend_results_free(nullptr), attend_results_free(&results);
  attend_tensor_free(nullptr), attend_tensor_free(&tensor);
}

TEST(HostileC, OpeningSaysWhatIsWrong) {
  attend_model* model = nullptr;
  attend_open_options options = {};
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ARGUMENT) << "a size of 0";
  options.size = sizeof options, options.task = "juggle";
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR);
  EXPECT_NE(std::string(attend_message()).find("juggle"), std::string::npos);
  options.task = nullptr, options.device = "abacus";
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR);
  options.device = nullptr, options.threads = -1;
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR);
  options.threads = std::numeric_limits<int>::max();
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR);
  options.threads = 1, options.weights = "f3";
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR);
  options.weights = nullptr, options.task = "classify";
  EXPECT_EQ(attend_open("models/en-fr", &options, &model), ATTEND_ERROR) << "no classifier";
  EXPECT_EQ(attend_open("", nullptr, &model), ATTEND_ERROR);
  EXPECT_EQ(attend_open("README.md", nullptr, &model), ATTEND_ERROR);
  EXPECT_EQ(attend_open(std::string(100000, 'x').c_str(), nullptr, &model), ATTEND_ERROR);
  EXPECT_EQ(model, nullptr);
}

TEST(HostileC, AHandleThatWasClosedIsAnError) {
  attend_model* model = open_or_null("models/en-fr");
  attend_model* copy = model;
  attend_close(&model);
  EXPECT_EQ(model, nullptr);
  attend_results* results = nullptr;
  EXPECT_EQ(attend_translate(copy, kLine, 1, nullptr, &results), ATTEND_ARGUMENT);
  EXPECT_STREQ(attend_task(copy), "");
  attend_tensor ids = {};
  EXPECT_EQ(attend_tokenize(copy, "a", &ids), ATTEND_ARGUMENT);
  attend_close(&copy);
  EXPECT_EQ(copy, nullptr);
  int stranger = 0;
  auto* fake = reinterpret_cast<attend_model*>(&stranger);
  EXPECT_EQ(attend_translate(fake, kLine, 1, nullptr, &results), ATTEND_ARGUMENT);
  attend_close(&fake);
}

TEST(HostileC, SizesThatAreNone) {
  attend_model* model = open_or_null("models/en-fr");
  attend_results* results = nullptr;
  attend_options options = options_with(&attend_options::beams, 1);
  // A part of a member, of a pointer at that, and what was never set.
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{12}, std::size_t{36}, std::size_t{1} << 60,
                                 std::numeric_limits<std::size_t>::max()}) {
    options.size = size;
    EXPECT_EQ(attend_translate(model, kLine, 1, &options, &results), ATTEND_ARGUMENT) << size;
    attend_open_options opening = {};
    opening.size = size, opening.device = "cpu";
    attend_model* other = nullptr;
    EXPECT_EQ(attend_open("models/en-fr", &opening, &other), ATTEND_ARGUMENT) << size;
  }
  options.size = 16;  // of a version that had but the beams
  EXPECT_EQ(attend_translate(model, kLine, 1, &options, &results), ATTEND_OK) << attend_message();
  attend_results_free(&results);
  for (const std::size_t count :
       {std::size_t{1} << 60, std::size_t{1} << 40, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(attend_translate(model, kLine, count, nullptr, &results), ATTEND_ARGUMENT) << count;
    std::int32_t number = 1;
    attend_tensor ids = {};
    ids.data = &number, ids.shape[0] = static_cast<std::int64_t>(count / 2), ids.rank = 1, ids.dtype = ATTEND_I32;
    EXPECT_EQ(attend_detokenize(model, &ids, &results), ATTEND_ARGUMENT) << count;
  }
  attend_close(&model);
}

TEST(HostileC, WhatWasFreedIsGone) {
  attend_model* model = open_or_null("models/en-fr");
  attend_results* results = nullptr;
  ASSERT_EQ(attend_translate(model, kLine, 1, nullptr, &results), ATTEND_OK);
  attend_results* copy = results;
  attend_results_free(&results);
  attend_item item = {};
  item.size = sizeof item;
  EXPECT_EQ(attend_results_lines(copy), 0u);
  EXPECT_EQ(attend_results_count(copy, 0), 0u);
  EXPECT_STREQ(attend_results_text(copy, 0, 0), "");
  EXPECT_EQ(attend_results_item(copy, 0, 0, &item), ATTEND_ARGUMENT);
  attend_results_free(&copy);
  EXPECT_EQ(copy, nullptr);
  attend_tensor ids = {};
  ASSERT_EQ(attend_tokenize(model, kLine[0], &ids), ATTEND_OK);
  attend_tensor again = ids;
  attend_tensor_free(&ids), attend_tensor_free(&again);
  std::int32_t own[8] = {};
  ids.data = own;
  attend_tensor_free(&ids);  // which is not the library's to free
  EXPECT_EQ(ids.data, nullptr);
  attend_close(&model);
}

TEST(HostileC, MessagesAreText) {
  attend_model* model = nullptr;
  EXPECT_EQ(attend_open("no\xff\xfe", nullptr, &model), ATTEND_ERROR);
  EXPECT_NE(std::string(attend_message()).find("no\xef\xbf\xbd"), std::string::npos) << attend_message();
  std::string name;
  while (name.size() < 5000) name += "\xc3\xa9";
  for (const char* before : {"", "a"}) {  // one of them would be cut inside of a letter
    EXPECT_EQ(attend_open((before + name).c_str(), nullptr, &model), ATTEND_ERROR);
    EXPECT_EQ(attend::find_invalid_utf8(attend_message()), std::nullopt) << attend_message();
  }
}

TEST(HostileC, NumbersThatMakeNoSense) {
  attend_model* model = open_or_null("models/en-fr");
  attend_results* results = nullptr;
  for (const auto field : {&attend_options::beams, &attend_options::n_best, &attend_options::batch})
    for (const std::int64_t value : {std::int64_t{-1}, -kMost - 1, kMost}) {
      const attend_options options = options_with(field, value);
      const attend_status status = attend_translate(model, kLine, 1, &options, &results);
      EXPECT_EQ(status == ATTEND_OK, results != nullptr) << value;
      EXPECT_TRUE(value > 0 || status == ATTEND_ERROR) << value;
      attend_results_free(&results);
    }
  for (const std::int64_t beams : {std::int64_t{1001}, std::int64_t{1} << 32, kMost}) {
    const attend_options options = options_with(&attend_options::beams, beams);
    EXPECT_EQ(attend_translate(model, kLine, 1, &options, &results), ATTEND_ERROR) << beams;
    EXPECT_NE(std::string(attend_message()).find("beams must be 1 to 1000"), std::string::npos);
  }
  attend_close(&model);

  model = open_or_null("models/bert-sst2");
  const attend_options fewer = options_with(&attend_options::top_k, -1);
  EXPECT_EQ(attend_classify(model, kLine, 1, &fewer, &results), ATTEND_ERROR);
  attend_close(&model);

  model = open_or_null("models/shakespeare");
  for (const std::int64_t beams : {std::int64_t{-1}, std::int64_t{1001}}) {
    const attend_options options = options_with(&attend_options::beams, beams);
    EXPECT_EQ(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_ERROR) << beams;
  }
  for (const std::int64_t samples : {std::int64_t{-1}, std::int64_t{10001}, kMost}) {
    const attend_options options = options_with(&attend_options::n_best, samples);
    EXPECT_EQ(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_ERROR) << samples;
  }
  for (const auto field : {&attend_options::max_tokens, &attend_options::top_k})
    for (const std::int64_t value : {std::int64_t{-1}, -kMost - 1}) {
      const attend_options options = options_with(field, value);
      EXPECT_EQ(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_ERROR) << value;
    }
  for (const double value : {-1.0, std::nan(""), HUGE_VAL}) {
    attend_options options = options_with(&attend_options::max_tokens, 2);
    options.top_p = value;
    EXPECT_NE(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_OK) << value;
    options.top_p = 0, options.temperature = value;
    EXPECT_NE(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_OK) << value;
    attend_results_free(&results);
  }
  attend_close(&model);
}

TEST(HostileC, TextsThatAreNone) {
  attend_model* model = open_or_null("models/en-fr");
  attend_results* results = nullptr;
  const std::string longest(20000, 'a');
  for (const char* text : {"", "\xff\xfe\x80", "\xf0\x9f", "\n\t\r", "\xef\xbf\xbd", longest.c_str()}) {
    const attend_options one = options_with(&attend_options::beams, 1);
    const attend_status status = attend_translate(model, &text, 1, &one, &results);
    EXPECT_EQ(status == ATTEND_OK, results != nullptr);
    attend_results_free(&results);
    attend_tensor ids = {};
    const attend_status read = attend_tokenize(model, text, &ids);  // not in EXPECT_EQ, which may look at ids first
    EXPECT_EQ(read == ATTEND_OK, ids.data != nullptr);
    attend_tensor_free(&ids);
  }
  std::int32_t numbers[] = {-1, std::numeric_limits<std::int32_t>::max(), 1 << 30};
  attend_tensor ids = {};
  ids.data = numbers, ids.shape[0] = 3, ids.rank = 1, ids.dtype = ATTEND_I32;
  const attend_status written = attend_detokenize(model, &ids, &results);
  EXPECT_EQ(written == ATTEND_OK, results != nullptr);
  attend_results_free(&results);
  ids.shape[0] = -3;
  EXPECT_EQ(attend_detokenize(model, &ids, &results), ATTEND_ARGUMENT);
  ids.shape[0] = 3, ids.rank = 2;
  EXPECT_EQ(attend_detokenize(model, &ids, &results), ATTEND_ARGUMENT);
  attend_close(&model);
}

TEST(HostileC, ImagesThatAreNone) {
  attend_model* model = open_or_null("models/detr-scenes");
  attend_results* results = nullptr;
  std::vector<std::uint8_t> grey(16 * 16 * 3, 128);
  attend_tensor image = {};
  image.data = grey.data(), image.rank = 3, image.dtype = ATTEND_U8;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{0, 16, 3},
                                                                  {-16, 16, 3},
                                                                  {16, 16, 4},
                                                                  {kMost, kMost, 3},
                                                                  {1LL << 32, 1LL << 32, 3},
                                                                  {67000000, 1, 3},
                                                                  {10000, 10000, 3}}) {
    std::copy(shape.begin(), shape.end(), image.shape);
    EXPECT_EQ(attend_see(model, &image, 1, nullptr, &results), ATTEND_ARGUMENT) << shape[0];
  }
  EXPECT_EQ(attend_see(model, nullptr, 1, nullptr, &results), ATTEND_ARGUMENT);
  image.shape[0] = image.shape[1] = 16, image.shape[2] = 3;
  EXPECT_EQ(attend_see(model, &image, std::size_t{1} << 60, nullptr, &results), ATTEND_ARGUMENT);
  attend_options options = {};
  for (const double threshold : {std::nan(""), -1.0, 2.0, HUGE_VAL}) {
    options.size = sizeof options, options.threshold = threshold;
    EXPECT_EQ(attend_see(model, &image, 1, &options, &results), ATTEND_ERROR) << threshold;
  }
  options.threshold = 0;
  for (const std::int64_t pixels : {255, 256}) {
    options.max_pixels = pixels;
    EXPECT_EQ(attend_see(model, &image, 1, &options, &results), pixels < 256 ? ATTEND_ARGUMENT : ATTEND_OK);
  }
  attend_results_free(&results);
  EXPECT_EQ(attend_see(model, nullptr, 0, nullptr, &results), ATTEND_OK) << attend_message();
  EXPECT_EQ(attend_results_lines(results), 0u);
  attend_results_free(&results);
  attend_close(&model);
}

TEST(HostileC, DrawingsThatAreNone) {
  attend_model* model = open_or_null("models/sagan-cifar10");
  attend_tensor images = {};
  EXPECT_EQ(attend_draw(model, "dog", 0, nullptr, &images), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_draw(model, "dog", static_cast<size_t>(-1), nullptr, &images), ATTEND_ERROR);
  EXPECT_EQ(attend_draw(model, "dog", 1, nullptr, nullptr), ATTEND_ARGUMENT);
  EXPECT_EQ(attend_draw(model, "\xff", 1, nullptr, &images), ATTEND_ERROR);
  std::uint8_t little[3] = {};
  images.data = little, images.rank = 4, images.dtype = ATTEND_U8;
  EXPECT_EQ(attend_draw(model, nullptr, 1, nullptr, &images), ATTEND_ARGUMENT) << "a shape of 0";
  attend_close(&model);
}

// What a callback does to the model that calls it.
struct Meddler {
  attend_model* model = nullptr;
  attend_status again = ATTEND_OK;
  bool closes = false;
  int heard = 0;
};

int meddle(void* user, const char* piece) {
  auto& meddler = *static_cast<Meddler*>(user);
  attend_results* results = nullptr;
  meddler.again = attend_generate(meddler.model, piece, nullptr, nullptr, nullptr, &results);
  if (meddler.closes) attend_close(&meddler.model);
  return ++meddler.heard == 3;
}

TEST(HostileC, ACallbackMayCloseItsModelAndNotCallIt) {
  Meddler meddler;
  meddler.model = open_or_null("models/shakespeare");
  const attend_options options = options_with(&attend_options::max_tokens, 8);
  EXPECT_EQ(attend_generate(meddler.model, "ROMEO:", &options, meddle, &meddler, nullptr), ATTEND_OK);
  EXPECT_EQ(meddler.again, ATTEND_ARGUMENT);
  EXPECT_EQ(meddler.heard, 3);
  meddler.closes = true, meddler.heard = 0;
  EXPECT_EQ(attend_generate(meddler.model, "ROMEO:", &options, meddle, &meddler, nullptr), ATTEND_OK);
  EXPECT_EQ(meddler.model, nullptr);
}

TEST(HostileC, ThreadsTakeTurnsAndOneCloses) {
  attend_model* model = open_or_null("models/en-fr");
  const attend_options options = options_with(&attend_options::beams, 1);
  attend_results* alone = nullptr;
  ASSERT_EQ(attend_translate(model, kLine, 1, &options, &alone), ATTEND_OK);
  const std::string expected = attend_results_text(alone, 0, 0);
  attend_results_free(&alone);
  std::atomic<int> translated = 0, refused = 0;
  const auto work = [&, copy = model] {
    for (int i = 0; i < 20; ++i) {
      attend_results* results = nullptr;
      const attend_status status = attend_translate(copy, kLine, 1, &options, &results);
      if (status == ATTEND_OK) {
        EXPECT_EQ(attend_results_text(results, 0, 0), expected);
        ++translated;
      } else {
        EXPECT_EQ(status, ATTEND_ARGUMENT);
        EXPECT_NE(std::string(attend_message()).find("not open"), std::string::npos);
        ++refused;
      }
      attend_results_free(&results);
    }
  };
  std::thread one(work), other(work);
  while (translated < 4) std::this_thread::yield();
  attend_close(&model);
  one.join(), other.join();
  EXPECT_EQ(translated + refused, 40);
}

}  // namespace
