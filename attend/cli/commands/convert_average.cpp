#include "attend/cli/commands/convert_average.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"

namespace attend::cli {

namespace {

void check_same_file(const std::filesystem::path& a, const std::filesystem::path& b, const char* name) {
  const bool there = path_exists(a / name);
  check(there == path_exists(b / name) && (!there || read_file(a / name) == read_file(b / name)),
        "convert: {} of '{}' and '{}' differ, so the same weight does not mean the same in both", name, a.string(),
        b.string());
}

// Of tensors that are in one file and not in the other the first is named.
void check_same_names(const checkpoint::TensorFiles& a, const checkpoint::TensorFiles& b, const std::string& with,
                      const std::string& without) {
  for (const std::string& name : a.names())
    check(b.holding(name) != nullptr, "convert: '{}' has a tensor '{}' that '{}' lacks", with, name, without);
}

}  // namespace

AveragedModels::AveragedModels(const std::vector<std::string>& folders) {
  check(folders.size() >= 2, "convert: --average needs at least two models, not {}", folders.size());
  for (const std::string& folder : folders) {
    folders_.emplace_back(folder);
    check(is_folder(folder), "convert: --average takes model folders, and '{}' is none", folder);
    files_.push_back(checkpoint::TensorFiles::open(folder));
  }
  for (std::size_t i = 1; i < files_.size(); ++i) {
    check_same_names(files_[0], files_[i], folders[0], folders[i]);
    check_same_names(files_[i], files_[0], folders[i], folders[0]);
    for (const std::string& name : files_[0].names()) {
      const Shape &a = files_[0].all()[name].shape, &b = files_[i].all()[name].shape;
      check(a == b, "convert: '{}' is {} in '{}' and {} in '{}'", name, a, folders[0], b, folders[i]);
    }
    check_same_file(folders_[0], folders_[i], "tokenizer.json");
  }
}

std::vector<float> AveragedModels::mean(const std::string& name) const {
  std::vector<double> sums;
  for (const checkpoint::TensorFiles& files : files_) {
    const std::vector<float> values = files.all().floats(name);
    sums.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += static_cast<double>(values[i]);
    files.all().forget(name);
  }
  std::vector<float> means(sums.size());
  std::ranges::transform(sums, means.begin(),
                         [this](double sum) { return static_cast<float>(sum / static_cast<double>(files_.size())); });
  return means;
}

}  // namespace attend::cli
