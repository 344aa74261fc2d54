// What models cost, against numbers that others published: parameters of GPT-2, GPT-3, ViT and DETR, multiply-adds of
// ViT and DETR (whose papers and tools call a multiply-add a FLOP), and the training cost of Vaswani et al. 2017.
#include "attend/tasks/cost.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/tensor/counting_backend.h"

namespace attend::tasks {
namespace {

Cost cost(const std::string& config, const std::string& input = "") {
  return cost_of(catalogue::describe(parse_json(config, "config.json"), "config.json"),
                 input.empty() ? CostInput{} : cost_input(input));
}

std::string gpt(std::int64_t width, std::int64_t layers, std::int64_t heads, std::int64_t positions) {
  return Json({{"model_type", "gpt2"},
               {"n_embd", width},
               {"n_layer", layers},
               {"n_head", heads},
               {"n_positions", positions}})
      .dump();
}

std::string detr(const std::string& backbone, bool dilated) {
  Json labels = Json::parse("{}");
  for (int i = 0; i < 91; ++i) labels[std::to_string(i)] = "label " + std::to_string(i);
  return Json({{"model_type", "detr"},
               {"architectures", Json::array({"DetrForObjectDetection"})},
               {"use_timm_backbone", true},
               {"backbone", backbone},
               {"dilation", dilated},
               {"id2label", labels}})
      .dump();
}

std::string transformer(std::int64_t width, std::int64_t heads, std::int64_t hidden) {
  return Json({{"model_type", "transformer"},
               {"vocabulary", 37000},
               {"width", width},
               {"heads", heads},
               {"hidden", hidden},
               {"encoder_layers", 6},
               {"decoder_layers", 6},
               {"max_length", 512}})
      .dump();
}

// The files on the hub have exactly so many numbers.
TEST(ModelCost, GPT2HasThePublishedParameters) {
  EXPECT_EQ(cost(gpt(768, 12, 12, 1024)).parameters, 124'439'808);
  EXPECT_EQ(cost(gpt(1024, 24, 16, 1024)).parameters, 354'823'168);
  EXPECT_EQ(cost(gpt(1280, 36, 20, 1024)).parameters, 774'030'080);
  EXPECT_EQ(cost(gpt(1600, 48, 25, 1024)).parameters, 1'557'611'200);
}

// Table 2.1 of Brown et al. 2020. It rounds (350M is 356M, 175.0B is 174.6B) and prints a width of 5140 for 13B, which
// 40 heads do not divide; with 5120 the model has 12.9B.
TEST(ModelCost, GPT3HasTheParametersOfItsTable) {
  struct Row {
    std::int64_t width, layers, heads;
    double millions;
  };
  for (const Row& row : {Row{768, 12, 12, 125},
                         {1024, 24, 16, 350},
                         {1536, 24, 16, 760},
                         {2048, 24, 16, 1300},
                         {2560, 32, 32, 2700},
                         {4096, 32, 32, 6700},
                         {5120, 40, 40, 13000},
                         {12288, 96, 96, 175000}}) {
    const Cost found = cost(gpt(row.width, row.layers, row.heads, 2048), "64");
    const std::int64_t c = row.width;
    EXPECT_EQ(found.parameters, row.layers * (12 * c * c + 13 * c) + (50257 + 2048) * c + 2 * c);
    EXPECT_NEAR(static_cast<double>(found.parameters) / 1e6 / row.millions, 1, 0.02) << row.millions;
  }
}

// 2 N FLOPs a token (Kaplan et al. 2020), N without the tables, plus the output layer and attention: causal, so that
// T (T + 1) / 2 pairs count.
TEST(ModelCost, GPT2CountsEveryProduct) {
  const std::int64_t c = 768, layers = 12, length = 1024;
  const Cost found = cost(gpt(c, layers, 12, length));
  const double products = static_cast<double>(length * (layers * 12 * c * c + 50257 * c)),
               pairs = static_cast<double>(length * (length + 1) / 2);
  EXPECT_DOUBLE_EQ(found.forward.multiply_adds, products + static_cast<double>(2 * layers * c) * pairs);
  // Twice as much backward for products, 5 instead of 2 products for attention.
  EXPECT_DOUBLE_EQ(found.training.multiply_adds, 3 * products + static_cast<double>(7 * layers * c) * pairs);
  EXPECT_GT(found.training.activation_bytes, found.forward.activation_bytes);
  double sum = 0;
  std::int64_t parameters = 0;
  for (const CostPart& part : found.parts) sum += part.multiply_adds, parameters += part.parameters;
  EXPECT_DOUBLE_EQ(sum, found.forward.multiply_adds);
  EXPECT_EQ(parameters, found.parameters);
}

// timm: vit_base_patch16_224 has 86.57M parameters and 17.58 GMACs (with what little its norms and pools take).
TEST(ModelCost, ViTHasThePublishedNumbers) {
  Json labels = Json::parse("{}");
  for (int i = 0; i < 1000; ++i) labels[std::to_string(i)] = "label " + std::to_string(i);
  const Cost found = cost(
      Json({{"model_type", "vit"}, {"architectures", Json::array({"ViTForImageClassification"})}, {"id2label", labels}})
          .dump());
  EXPECT_EQ(found.parameters, 86'567'656);
  EXPECT_NEAR(found.forward.multiply_adds / 1e9, 17.58, 0.05);
}

// Table 1 of Carion et al. 2020: 41M and 60M parameters; 86, 187, 152 and 253 GFLOPS, which are multiply-adds, means
// over images of COCO. The default input is the size at which R50 takes 86.
TEST(ModelCost, DetrHasTheNumbersOfItsTable) {
  struct Row {
    const char* backbone;
    bool dilated;
    double millions, giga;
  };
  for (const Row& row : {Row{"resnet50", false, 41, 86},
                         {"resnet50", true, 41, 187},
                         {"resnet101", false, 60, 152},
                         {"resnet101", true, 60, 253}}) {
    const Cost found = cost(detr(row.backbone, row.dilated));
    EXPECT_NEAR(static_cast<double>(found.parameters) / 1e6, row.millions + 0.5, 0.5);
    EXPECT_NEAR(found.forward.multiply_adds / 1e9 / row.giga, 1, row.giga == 86 ? 0.005 : 0.03) << row.giga;
  }
}

// Table 2 of Vaswani et al. 2017: hours x GPUs x a sustained rate of 9.5 TFLOPS. What is really multiplied in 100,000
// and 300,000 steps of 25,000 tokens each way is less than a third of it: GPUs do not run at their sustained rate.
TEST(ModelCost, TheTransformersTrainingCost) {
  const double base = 12 * 3600 * 8 * 9.5e12, big = 3.5 * 86400 * 8 * 9.5e12;
  EXPECT_NEAR(base / 1e18, 3.3, 0.05);
  EXPECT_NEAR(big / 1e19, 2.3, 0.05);
  const auto counted = [](const Cost& cost, double steps) {
    return 2 * cost.training.multiply_adds / static_cast<double>(cost.units) * 25000 * steps;
  };
  EXPECT_NEAR(counted(cost(transformer(512, 8, 2048)), 1e5) / base, 0.29, 0.02);
  EXPECT_NEAR(counted(cost(transformer(1024, 16, 4096)), 3e5) / big, 0.42, 0.03);
}

TEST(ModelCost, WrongInputsAreRefused) {
  const auto message = [](const std::string& config, const std::string& input) -> std::string {
    try {
      cost(config, input);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string gpt2 = gpt(64, 2, 2, 128);
  for (const char* input : {"x", "12x", "0", "-3", "1x2x3x4", "99999999999999999999", "8,8"})
    EXPECT_NE(message(gpt2, input).find("is no shape"), std::string::npos) << input;
  EXPECT_NE(message(gpt2, "129").find("reads 1 to 128 tokens, not 129"), std::string::npos);
  EXPECT_NE(message(gpt2, "1x32x32").find("it reads texts"), std::string::npos);
  EXPECT_NE(message(R"({"model_type": "vit"})", "100x100").find("224 x 224, not 100 x 100"), std::string::npos);
  EXPECT_NE(message(R"({"model_type": "car"})", "").find("car"), std::string::npos);
}

}  // namespace
}  // namespace attend::tasks
