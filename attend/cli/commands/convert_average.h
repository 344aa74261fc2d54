// attend convert --average: one model from several of equal shape, each weight the mean of theirs ("model soups",
// Wortsman et al. 2022; of checkpoints of one run, Vaswani et al. 2017, section 6.1).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/checkpoint/hugging_face.h"

namespace attend::cli {

// Models whose tensors have the same names and shapes, and whose tokenizers are the same.
class AveragedModels {
 public:
  // Throws Error naming the first thing in which two of them differ.
  explicit AveragedModels(const std::vector<std::string>& folders);

  const std::filesystem::path& first() const { return folders_.front(); }
  std::vector<std::string> names() const { return files_.front().names(); }
  const checkpoint::StoredTensor& tensor(const std::string& name) const { return files_.front().all()[name]; }
  // The mean over all models, summed in double.
  std::vector<float> mean(const std::string& name) const;

 private:
  std::vector<std::filesystem::path> folders_;
  std::vector<checkpoint::TensorFiles> files_;
};

}  // namespace attend::cli
