// What attend/c.h promises to a proper caller, and to one that keeps copies of what it freed: empty results, structs of
// other versions, zeros that are meant, and handles that stay dead though their memory is another's by now.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "attend/c.h"

namespace {

class OpenModel {
 public:
  explicit OpenModel(const char* name, const char* task = nullptr) {
    attend_open_options options = {};
    options.size = sizeof options, options.task = task, options.threads = 1;
    EXPECT_EQ(attend_open(name, &options, &model_), ATTEND_OK) << attend_message();
  }
  ~OpenModel() { attend_close(&model_); }
  operator attend_model*() const { return model_; }

 private:
  attend_model* model_ = nullptr;
};

attend_options some_options() {
  attend_options options = {};
  options.size = sizeof options;
  return options;
}

// Results of one line, made without any computing.
attend_results* word(attend_model* model, const char* text) {
  attend_tensor ids = {};
  attend_results* results = nullptr;
  EXPECT_EQ(attend_tokenize(model, text, &ids), ATTEND_OK);
  EXPECT_EQ(attend_detokenize(model, &ids, &results), ATTEND_OK);
  attend_tensor_free(&ids);
  return results;
}

TEST(ContractC, TensorsThatAreEmptyHaveData) {
  const OpenModel translator("models/en-fr"), embedder("models/bert", "embed");
  const auto expect_empty = [](attend_status status, attend_tensor& tensor, const char* who) {
    EXPECT_EQ(status, ATTEND_OK) << who << attend_message();
    EXPECT_NE(tensor.data, nullptr) << who;
    EXPECT_EQ(tensor.shape[0], 0) << who;
    attend_tensor_free(&tensor);
    EXPECT_EQ(tensor.data, nullptr) << who;
  };
  attend_tensor tensor = {};
  attend_status status = attend_tokenize(translator, "", &tensor);
  expect_empty(status, tensor, "tokenize");
  status = attend_embed(embedder, nullptr, 0, nullptr, &tensor);
  EXPECT_GT(tensor.shape[1], 0);
  expect_empty(status, tensor, "embed");
  attend_results* results = nullptr;
  status = attend_attention(translator, "", &tensor, &results);
  expect_empty(status, tensor, "attention");
  EXPECT_EQ(attend_results_lines(results), 3u);
  EXPECT_EQ(attend_results_count(results, 0), 0u);
  attend_results_free(&results);

  // Empty ones can be read, too, and results of no lines are results.
  status = attend_tokenize(translator, "", &tensor);
  ASSERT_EQ(status, ATTEND_OK);
  EXPECT_EQ(attend_detokenize(translator, &tensor, &results), ATTEND_OK) << attend_message();
  attend_tensor_free(&tensor), attend_results_free(&results);
  EXPECT_EQ(attend_translate(translator, nullptr, 0, nullptr, &results), ATTEND_OK);
  EXPECT_NE(results, nullptr);
  attend_results_free(&results);
}

TEST(ContractC, AFreedHandleStaysDeadWhenItsMemoryIsAnothers) {
  const OpenModel model("models/en-fr");
  std::vector<attend_results*> stale;
  std::vector<attend_tensor> stale_ids;
  for (int round = 0; round < 200; ++round) {
    attend_results* alive = word(model, "The house is blue.");
    attend_tensor ids = {};
    ASSERT_EQ(attend_tokenize(model, "The house is blue.", &ids), ATTEND_OK);
    for (attend_results* old : stale) {
      ASSERT_EQ(attend_results_lines(old), 0u) << round;
      ASSERT_STREQ(attend_results_text(old, 0, 0), "");
      attend_results_free(&old);
    }
    attend_results* unwanted = nullptr;
    for (attend_tensor old : stale_ids) {
      ASSERT_EQ(attend_detokenize(model, &old, &unwanted), ATTEND_ARGUMENT);
      ASSERT_EQ(attend_tokenize(model, "The house is blue.", &old), ATTEND_ARGUMENT) << "into memory that was freed";
      attend_tensor_free(&old);
    }
    ASSERT_EQ(attend_results_lines(alive), 1u) << round;
    ASSERT_STREQ(attend_results_text(alive, 0, 0), "The house is blue.");
    ASSERT_EQ(attend_detokenize(model, &ids, &unwanted), ATTEND_OK) << attend_message();
    attend_results_free(&unwanted);
    if (stale.size() < 8) stale.push_back(alive), stale_ids.push_back(ids);
    attend_results_free(&alive), attend_tensor_free(&ids);
  }
}

TEST(ContractC, AClosedModelStaysClosedWhenAnotherIsOpened) {
  std::vector<attend_model*> stale;
  for (int round = 0; round < 12; ++round) {
    const OpenModel model("models/reverse-transformer");
    attend_results* results = nullptr;
    for (attend_model* old : stale) {
      const char* line = "tree lamp";
      EXPECT_EQ(attend_translate(old, &line, 1, nullptr, &results), ATTEND_ARGUMENT) << round;
      EXPECT_STREQ(attend_task(old), "");
      attend_close(&old);
    }
    EXPECT_STREQ(attend_task(model), "translate") << round;
    stale.push_back(model);
  }
}

TEST(ContractC, HandlesOfOneKindAreNoneOfAnother) {
  const OpenModel model("models/en-fr");
  attend_results* results = word(model, "a");
  EXPECT_STREQ(attend_task(reinterpret_cast<attend_model*>(results)), "");
  auto* other = reinterpret_cast<attend_results*>(static_cast<attend_model*>(model));
  EXPECT_EQ(attend_results_lines(other), 0u);
  attend_results_free(&other);
  EXPECT_STREQ(attend_task(model), "translate");
  attend_results_free(&results);
}

TEST(ContractC, ThreadsFreeTheirOwnAndOthersOldHandles) {
  const OpenModel model("models/en-fr");
  const auto work = [&] {
    attend_results* old = nullptr;
    for (int i = 0; i < 200; ++i) {
      attend_results* mine = word(model, "blue");
      attend_results* copy = old;
      attend_results_free(&copy);
      EXPECT_STREQ(attend_results_text(mine, 0, 0), "blue");
      old = mine;
      attend_results_free(&mine);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

TEST(ContractC, ItemsOfOtherVersions) {
  const OpenModel model("models/en-fr");
  attend_results* results = word(model, "blue");
  struct Later {
    attend_item item;
    double more[3];
  } later = {};
  later.more[1] = 7;
  later.item.size = sizeof later;
  ASSERT_EQ(attend_results_item(results, 0, 0, &later.item), ATTEND_OK) << attend_message();
  EXPECT_STREQ(later.item.text, "blue");
  EXPECT_EQ(later.item.size, sizeof later);
  EXPECT_EQ(later.more[1], 0) << "what this version does not know";

  // One that ended behind label: nothing is written beyond it.
  attend_item earlier;
  std::memset(static_cast<void*>(&earlier), 0x55, sizeof earlier);
  const attend_item untouched = earlier;
  earlier.size = offsetof(attend_item, score);
  ASSERT_EQ(attend_results_item(results, 0, 0, &earlier), ATTEND_OK) << attend_message();
  EXPECT_STREQ(earlier.text, "blue");
  EXPECT_EQ(std::memcmp(&earlier.score, &untouched.score, sizeof earlier - offsetof(attend_item, score)), 0);

  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{20}, std::size_t{1} << 40}) {
    earlier.size = size;
    EXPECT_EQ(attend_results_item(results, 0, 0, &earlier), ATTEND_ARGUMENT) << size;
  }
  attend_results_free(&results);
}

std::string generated(attend_model* model, const attend_options& options) {
  attend_results* results = nullptr;
  EXPECT_EQ(attend_generate(model, "ROMEO:", &options, nullptr, nullptr, &results), ATTEND_OK) << attend_message();
  std::string text = attend_results_text(results, 0, 0);
  attend_results_free(&results);
  return text;
}

TEST(ContractC, ZeroIsTheDefaultUnlessItIsGiven) {
  const OpenModel model("models/shakespeare");
  attend_options options = some_options();
  options.max_tokens = 16;
  const std::string usual = generated(model, options);
  options.seed = 1;
  EXPECT_EQ(generated(model, options), usual);
  options.seed = 0, options.given = ATTEND_GIVEN_SEED;
  EXPECT_NE(generated(model, options), usual);

  options.given = 0, options.top_k = 1;
  const std::string likeliest = generated(model, options);
  options.top_k = 0, options.given = ATTEND_GIVEN_TEMPERATURE;
  EXPECT_EQ(generated(model, options), likeliest);
  EXPECT_NE(likeliest, usual);
  // Of a program compiled before there was `given`: all zeros are defaults.
  options.size = offsetof(attend_options, given);
  EXPECT_EQ(generated(model, options), usual);

  attend_results* results = nullptr;
  options = some_options();
  options.given = ATTEND_GIVEN_MAX_TOKENS | ATTEND_GIVEN_TOP_P;
  EXPECT_EQ(attend_generate(model, "A", &options, nullptr, nullptr, &results), ATTEND_ERROR) << "a top-p of 0";
}

TEST(ContractC, AThresholdOfZeroFindsEverything) {
  const OpenModel model("models/detr-scenes");
  std::vector<std::uint8_t> grey(64 * 64 * 3, 128);
  attend_tensor image = {};
  image.data = grey.data(), image.rank = 3, image.dtype = ATTEND_U8;
  image.shape[0] = image.shape[1] = 64, image.shape[2] = 3;
  const auto found = [&](const attend_options& options) {
    attend_results* results = nullptr;
    EXPECT_EQ(attend_see(model, &image, 1, &options, &results), ATTEND_OK) << attend_message();
    const std::size_t count = attend_results_count(results, 0);
    attend_results_free(&results);
    return count;
  };
  attend_options options = some_options();
  const std::size_t usual = found(options);
  options.threshold = 1e-6;
  const std::size_t all = found(options);
  EXPECT_GT(all, usual);
  options.threshold = 0, options.given = ATTEND_GIVEN_THRESHOLD;
  EXPECT_EQ(found(options), all);
}

}  // namespace
