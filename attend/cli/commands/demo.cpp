#include "attend/cli/commands/demo.h"

#include "attend/base/error.h"
#include "attend/cli/commands/description_demo.h"
#include "attend/cli/commands/detection_demo.h"
#include "attend/cli/commands/digit_demo.h"
#include "attend/cli/commands/translation_demo.h"
#include "attend/cli/support/command.h"

namespace attend::cli {

namespace {

struct DemoOptions {
  std::string task = "translate", png;
  DigitDemoOptions digits;
};

constexpr const char* kDemoExamples = R"(
  attend demo # translate a few sentences and show the attention weights
  attend demo --task detect # detect objects in a generated scene
  attend demo --task reverse # train a small Transformer to reverse digits in under a minute
  attend demo --task describe # write a caption for a generated image
  attend demo --task describe --png dog.png --seed 4
  attend demo --task sort --steps 1500
  attend demo --task reverse --digits 2718281828 --device cuda)";

void run_demo(const DemoOptions& options, const Streams& streams) {
  if (options.task == "translate")
    return run_translation_demo({.device = options.digits.device, .threads = options.digits.threads}, streams);
  if (options.task == "detect")
    return run_detection_demo(
        {.device = options.digits.device, .threads = options.digits.threads, .seed = options.digits.seed}, streams);
  if (options.task == "describe")
    return run_description_demo({.device = options.digits.device,
                                 .threads = options.digits.threads,
                                 .seed = options.digits.seed,
                                 .png = options.png},
                                streams);
  DigitDemoOptions digits = options.digits;
  digits.task = options.task == "sort" ? DigitTask::sort : DigitTask::reverse;
  run_digit_demo(digits, streams);
}

}  // namespace

void add_demo_command(Flags& program, const Streams& streams) {
  add_command<DemoOptions>(
      program, streams,
      {.name = "demo",
       .help = "Show attention at work: translate, detect or caption with a bundled model, or train a tiny one.",
       .examples = kDemoExamples},
      [](Flags& flags, DemoOptions& options) {
        flags.add("--task", options.task, "Demo to run: translate, detect, describe, reverse or sort.")
            .one_of({"translate", "detect", "describe", "reverse", "sort"});
        DigitDemoOptions& digits = options.digits;
        flags.add("--digits", digits.digits, "reverse, sort: digits to test the trained model on, up to 10.");
        flags.add("--steps", digits.steps, "reverse, sort: training steps, with 64 strings per batch.");
        flags.add("--png", options.png, "describe: write the figure as PNG.");
        flags.add("--device", digits.device, "Device: cpu, cuda or cuda:N.");
        flags.add("--threads", digits.threads, "CPU threads; 0 uses all cores.");
        flags.add("--seed", digits.seed,
                  "Random seed for weights and data (reverse, sort) or for the image (detect, describe).");
      },
      run_demo);
}

}  // namespace attend::cli
