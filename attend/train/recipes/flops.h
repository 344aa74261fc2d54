// What a run computes: operations counted by the model's own passes on a device that only counts (tasks/cost.h), and
// beside it the formula of table 2 of Vaswani et al. 2017, time x devices x rate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace attend::train {

struct TrainingResult;

// Of a forward and a backward pass, for each item (token or image) that a run learns from; a multiply-add is two.
// length: of a text, 0 for what the model was made for. 0 where the model of this config.json cannot be counted.
double counted_flops(const std::filesystem::path& config, const std::string& items, std::int64_t length);

// "3.21 GFLOPs per step, 1.93 TFLOPs in 600 steps, counted; ..". rate: operations a second that one device sustains, 0:
// not known. Empty where nothing was counted.
std::string flops_text(const TrainingResult& result, int devices, double rate);

}  // namespace attend::train
