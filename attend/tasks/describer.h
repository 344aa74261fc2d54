// Images into sentences about them, with any model that writes about images.
//
//   const auto loaded = tasks::load_describer("models/flickr", *backend);
//   const std::vector<image::Image> images = {loaded->prepare(image::read_image("dog.jpg"))};
//   for (const tasks::Description& each : loaded->describe(images, {.beams = 4})) std::cout << each.text << '\n';
//
// What comes out for an image does not depend on those around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/catalogue/catalogue.h"
#include "attend/decode/hypothesis.h"
#include "attend/image/image.h"
#include "attend/image/preprocessor.h"
#include "attend/models/captioner.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/results.h"
#include "attend/tasks/search_defaults.h"
#include "attend/text/tokenizer.h"

namespace attend::tasks {

class Describer {
 public:
  struct Tokens {
    std::int32_t start = 0, end = 0;
    std::vector<std::int32_t> never = {};  // written
    SearchDefaults search = {};
  };
  // Of a model's folder: what its config.json says, or <s>, </s> and so on of its tokenizer.
  static Tokens tokens_of(const Json& config, const text::Tokenizer& tokenizer, std::int64_t vocabulary,
                          std::string_view what);

  // All but the tokens must outlive it. Throws Error when the tokenizer knows more than the model.
  Describer(const models::Captioner& model, const text::Tokenizer& tokenizer, Backend& backend, Tokens tokens);

  const Tokens& tokens() const { return tokens_; }
  // pixels [B, H, W, C]
  std::vector<Description> describe(const Tensor& pixels, const DescribeOptions& options) const;

 private:
  std::vector<std::vector<decode::Hypothesis>> search(const Tensor& pixels, const DescribeOptions& options) const;
  void look(const Tensor& pixels, const std::vector<std::vector<decode::Hypothesis>>& hypotheses,
            std::vector<Description>& results) const;

  const models::Captioner& model_;
  const text::Tokenizer& tokenizer_;
  Backend& backend_;
  Tokens tokens_;
};

// A describer with all it stands on, read from a model's folder: config.json, model.safetensors, tokenizer.json (or
// another that Tokenizer::load knows) and preprocessor_config.json.
struct LoadedDescriber {
  LoadedDescriber(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& device,
                  const nn::ModelFormat& format);
  ~LoadedDescriber();

  image::Image prepare(const image::Image& image) const;
  image::Image prepare(image::ImageRows& image) const;  // the same, without all pixels in memory
  std::vector<Description> describe(std::span<const image::Image> prepared, const DescribeOptions& options) const;

  Backend& backend;
  DType dtype;
  text::Tokenizer tokenizer;
  image::Preprocessor preprocessor;
  std::unique_ptr<models::Captioner> model;
  nn::Parameters parameters;
  Describer describer;
};
// Throws Error naming the file that is missing or wrong. backend must outlive the result.
std::unique_ptr<LoadedDescriber> load_describer(const std::filesystem::path& folder, Backend& backend,
                                                const nn::ModelFormat& format = {});

}  // namespace attend::tasks
