// A translator's folder as small as it gets: a tokenizer learned from a few lines and a Transformer with random
// weights.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/model_file.h"
#include "attend/models/transformer.h"
#include "attend/text/learn/bpe_trainer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {

inline constexpr const char* kText =
    "I am a student.\nHe is a student of music.\nthe house is blue & green\nWhere is the station?\n"
    "Je suis un étudiant.\nIl étudie la musique.\nla maison est bleue\nOù est la gare ?\n";

// Removed with everything in it at the end.
class ModelFolder {
 public:
  explicit ModelFolder(std::int64_t max_length = 24)
      : path_(std::filesystem::temp_directory_path() /
              ("attend-translator-" + std::to_string(getpid()) + "-" + std::to_string(count_++))) {
    std::filesystem::create_directories(path_);
    text::BpeTrainer trainer({.vocabulary_size = 320, .threads = 1});
    trainer.add_text(kText);
    const text::TrainedBpe trained = trainer.train();
    write_file(path_ / "tokenizer.json", text::to_tokenizer_json(trained));
    // A few rows of the embedding stand for nothing, as when a vocabulary is rounded up.
    models::Transformer model({.vocabulary = static_cast<std::int64_t>(trained.tokens.size()) + 5,
                               .width = 32,
                               .heads = 4,
                               .hidden = 64,
                               .encoder_layers = 1,
                               .decoder_layers = 2,
                               .max_length = max_length,
                               .pre_norm = true});
    nn::Parameters parameters(cpu(), model, {.seed = 3, .trained = false});
    write_file(path_ / "config.json", model.config().dump(1));
    checkpoint::save_weights((path_ / "model.safetensors").string(), parameters);
  }
  ~ModelFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

}  // namespace attend::test
