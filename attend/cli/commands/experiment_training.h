// Experiments that train small models: attend experiment scores, longer, and scaling --train.
#pragma once

#include "attend/cli/commands/experiment_output.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

void add_training_experiments(Flags& group, const Streams& streams);

// The second half of `attend experiment scaling`: one Transformer trained with the division by √d, and without.
struct ScalingTrainingFlags {
  bool train = false;
  std::int64_t width = 128, steps = 800;
  TrainingFlags training = {};
};
void list_scaling_training_flags(Flags& flags, ScalingTrainingFlags& options);
void run_scaling_training(const ScalingTrainingFlags& flags, const ExperimentOutput& output, const Streams& streams);

}  // namespace attend::cli
