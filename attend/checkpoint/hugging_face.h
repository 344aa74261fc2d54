// Model folders as Hugging Face's transformers writes and reads them: config.json, and model.safetensors or the shards
// that model.safetensors.index.json lists; in folders from before safetensors, pytorch_model.bin or its shards.
//
// A model whose visit() names are the file's needs nothing else. One parameter may be several tensors of the file, one
// below the other: its name then lists them between bars, "attention.self.query|key|value.weight".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/checkpoint/tensor_file.h"
#include "attend/nn/parameters.h"

namespace attend::checkpoint {

// The tensors of one file or of several that make up one model.
class TensorFiles {
 public:
  // Safetensors where the folder has them, else torch's files.
  static TensorFiles open(const std::filesystem::path& folder);
  explicit TensorFiles(TensorFile file) : file_(std::move(file)) {}

  const std::string& source() const { return file_.source(); }
  const TensorFile& all() const { return file_; }
  const TensorFile* holding(std::string_view name) const { return file_.find(name) ? &file_ : nullptr; }
  std::vector<std::string> names() const;  // without the scales of I8 tensors (quantised.h)
  // No memory for a model that is far larger than these files: a small config.json can ask for any size.
  void bound(nn::ParametersOptions& options) const;

 private:
  TensorFile file_;  // shards are joined
};

// Whether files have a tensor of this name besides parameters: a mask or counter that older versions stored, or the
// second name of the table of tokens or of the output's bias.
bool is_derived(std::string_view name);

// Of a model that is read from this folder to be run.
nn::ParametersOptions run_options(const std::filesystem::path& folder, const nn::ModelFormat& format);

// One tensor of the file: elements [begin, begin + shape.size()) of a parameter.
struct FilePart {
  std::string name;
  Shape shape;  // in the file
  std::int64_t begin = 0;
  bool channels_first = false;  // there: a convolution's weight (file_order.h)
};
std::vector<FilePart> file_parts(const nn::Parameters::Entry& entry);

struct HuggingFaceOptions {
  // "bert": what the names of the model without its head begin with when it has one; a file may have them with or
  // without it.
  std::string prefix = {};
  // "head.fc": what the names of the head begin with, where the body's begin with nothing they have in common.
  std::string head = {};
  // The name that the file has for a parameter, where the model has another; without it, the model's own.
  std::function<std::string(const std::string& name)> spelling = {};
  // Parameters of the head (outside the prefix), and the pooler, keep their first values when the file lacks them, or
  // has them in another shape: a new head on a pretrained model.
  bool new_head = false;
  // The same for parameters whose names end so, where the file has them in another shape.
  std::vector<std::string> may_differ = {};
};

struct LoadReport {
  std::vector<std::string> missing;  // parameters the file lacks
  std::vector<std::string> unused;   // tensors the model has no place for; copies of others do not count
};

// Throws Error naming the tensor when one is missing or has another shape.
LoadReport load_hugging_face(const TensorFiles& files, nn::Parameters& parameters, const HuggingFaceOptions& options);

// Writes config.json and model.safetensors, in the dtype the model computes in.
void save_hugging_face(const std::filesystem::path& folder, const nn::Parameters& parameters, Json config);

}  // namespace attend::checkpoint
