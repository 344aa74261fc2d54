// Settings that fit the data, the machine and a budget of time, chosen where a user gave only files: the size of the
// model, tokens, batches, dropout, schedule and steps, each with the reason and the flag that chooses otherwise.
//
// The functions are pure: facts of the data (data/facts) and the measured speed go in, keys of a recipe come out. They
// are written to recipe.json, so that the run repeats and resumes like any other. automatic.h measures and runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/facts/facts.h"
#include "attend/train/recipes/automatic/probe.h"

namespace attend::train {

struct Budget {
  double seconds = 600;
  std::string why = "the default; --minutes, --quick and --thorough choose otherwise";
};

struct Machine {
  double operations = 30e9;  // of training, a second: products and all that is between them
  bool gpu = false;
  std::vector<Probed> probed = {};        // of classify-images: image models, the best for these images first
  std::vector<std::string> bundled = {};  // models that are there to start from: "bert", "vit-cifar10", "detr-scenes"
};

// One line of the table that is printed.
struct Chosen {
  std::string what, value, why, flag;
};

struct Plan {
  Json settings = Json::object();  // keys of the task's recipe
  std::vector<Chosen> table = {};
  double step_operations = 0;     // an estimate
  std::int64_t wanted_steps = 1;  // so many are enough for this data
  std::int64_t epoch_steps = 1;   // see all data once
};

struct Planned {
  const data::DataFacts& facts;
  const Budget& budget;
  const Machine& machine;
};
Plan plan_translation(const Planned& from);
Plan plan_language(const Planned& from);
Plan plan_texts(const Planned& from);  // classify, tag, answer
Plan plan_masked(const Planned& from);
Plan plan_images(const Planned& from);  // classify-images
Plan plan_detection(const Planned& from);
Plan plan_captions(const Planned& from);
// By the name of the task; Error for one that has no such plan (has_plan()).
Plan plan_for(std::string_view task, const Planned& from);
bool has_plan(std::string_view task);

// The share of the data to hold out where no validation data was given: enough to tell models apart, and no more.
float held_out_share(std::int64_t examples);

// What a few real steps took.
struct Timing {
  double step = 0, validation = 0;  // seconds
};
// Steps that fit into the rest of the budget, with validations, and a schedule over them. At most those wanted.
void settle_steps(Plan& plan, const Budget& budget, const Timing& timing);

// The rows as columns of text.
std::string table_text(const std::vector<Chosen>& table);

}  // namespace attend::train
