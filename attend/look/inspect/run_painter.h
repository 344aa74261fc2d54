// What a run shows of itself, in the form of an inspection (docs/look.md): a line of look.jsonl for each moment.
// Weights are packed: [heads, rows, columns] of bytes, 255 for 1, in base64. Of an image it is what image_json.h
// writes.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "attend/look/inspect/anatomy.h"
#include "attend/models/image_model.h"
#include "attend/train/loop/example.h"

namespace attend::look {

class RunPainter : public train::Painter {
 public:
  // The folder of the run: its config.json says what the model is made of, once the run has begun.
  explicit RunPainter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  train::ExampleLimits limits() override;
  Json paint(const std::vector<train::Example>& examples) override;

 private:
  const Anatomy& anatomy();

  std::filesystem::path folder_;
  std::optional<Anatomy> anatomy_;
};

}  // namespace attend::look
