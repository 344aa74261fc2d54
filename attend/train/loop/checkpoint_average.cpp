#include "attend/train/loop/checkpoint_average.h"

#include <map>

#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/safetensors.h"

namespace attend::train {

void load_average(std::span<const std::filesystem::path> files, const std::vector<nn::Parameters*>& parameters) {
  const auto share = 1.0 / static_cast<double>(files.size());
  std::vector<checkpoint::Safetensors> opened;
  for (const std::filesystem::path& file : files) opened.push_back(checkpoint::Safetensors::open(file.string()));
  std::map<const nn::Parameters::Entry*, std::vector<double>> sums;
  for (const checkpoint::Safetensors& file : opened) {
    checkpoint::load_weights(file, parameters);
    for (const nn::Parameters* some : parameters)
      for (const nn::Parameters::Entry& entry : some->entries()) {
        const std::vector<float> values = some->read(entry);
        std::vector<double>& sum = sums[&entry];
        sum.resize(values.size());
        for (std::size_t j = 0; j < values.size(); ++j) sum[j] += share * static_cast<double>(values[j]);
      }
  }
  for (nn::Parameters* some : parameters)
    for (const nn::Parameters::Entry& entry : some->entries())
      some->write(entry, std::vector<float>(sums[&entry].begin(), sums[&entry].end()));
}

}  // namespace attend::train
