// The weights of a model as one file, by the names of its visit() list.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "attend/base/files.h"
#include "attend/checkpoint/tensor_file.h"
#include "attend/nn/parameters.h"

namespace attend::checkpoint {

// Fills every parameter. Throws Error when the file lacks one, has one of another shape, or holds a tensor that the
// model has no place for. A model may have several sets of them (a GAN's two networks), under names of their own.
void load_weights(const TensorFile& file, nn::Parameters& parameters);
void load_weights(const TensorFile& file, std::span<nn::Parameters* const> all);
// The same for a part of a model that is run alone: tensors whose names begin with `others` may be there, unread.
void load_part(const TensorFile& file, nn::Parameters& parameters, std::string_view others);

// The weights as such a file's bytes: what the model computes with (bf16 when it does), or the f32 masters behind them.
// metadata goes into the header.
enum class SavedWeights : std::uint8_t { values, masters };
void produce_weights(const FileWriter& write, std::span<const nn::Parameters* const> all, SavedWeights which,
                     const std::map<std::string, std::string>& metadata = {});
// The same as a file, atomically.
void save_weights(const std::string& path, const nn::Parameters& parameters, SavedWeights which = SavedWeights::values,
                  const std::map<std::string, std::string>& metadata = {});

}  // namespace attend::checkpoint
