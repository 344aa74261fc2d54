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

constexpr const char* kDemoExamples = R"(Examples:
  attend demo                          translates a few sentences and draws where the model looked
  attend demo --task detect            finds what is where in a drawn scene, and shows where each box looked
  attend demo --task describe          writes a sentence about a painted image, and shows where each word looked
  attend demo --task describe --png dog.png --seed 4
  attend demo --task reverse           trains a small Transformer to reverse digits in under a minute
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
       .help = "Translates, detects or describes with a shipped model, or trains one to reverse digits, and shows what "
               "it attends to.",
       .examples = kDemoExamples},
      [](Flags& flags, DemoOptions& options) {
        flags.add("--task", options.task, "translate, detect, describe, reverse or sort")
            .one_of({"translate", "detect", "describe", "reverse", "sort"});
        DigitDemoOptions& digits = options.digits;
        flags.add("--digits", digits.digits, "reverse, sort: what it answers in the end, up to 10 digits");
        flags.add("--steps", digits.steps, "reverse, sort: training steps of 64 strings");
        flags.add("--png", options.png, "describe: the figure, as a file");
        flags.add("--device", digits.device, "cpu, cuda or cuda:N");
        flags.add("--threads", digits.threads, "CPU threads, 0 for all cores");
        flags.add("--seed", digits.seed,
                  "reverse, sort: of the weights and the strings; detect, describe: which image");
      },
      run_demo);
}

}  // namespace attend::cli
