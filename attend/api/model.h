// What all models of a folder share: where the folder is, what its model does, and how the model is read.
#pragma once

#include <filesystem>
#include <string>

#include "attend/tasks/model_folder.h"

namespace attend {

using tasks::find_model;
using tasks::shipped_models;

struct ModelOptions {
  std::string dtype = "f32";       // what the model computes in: f32, or bf16 on a GPU
  std::string weights = "stored";  // how weights are kept in memory: as in the file, or f32, bf16, int8
};

// What the model of a folder does, by the name of the command: "translate", "generate", "fill", "classify", "tag",
// "answer", "embed", "detect", "describe" or "draw". Throws Error naming what in its config.json is wrong.
std::string task_of(const std::filesystem::path& folder);

}  // namespace attend
