#include "attend/cli/demo.h"

#include "attend/base/error.h"
#include "attend/cli/command.h"
#include "attend/cli/detection_demo.h"
#include "attend/cli/digit_demo.h"
#include "attend/cli/translation_demo.h"

namespace attend {

namespace {

struct DemoOptions {
  std::string task = "translate";
  DigitDemoOptions digits;
};

constexpr const char* kDemoExamples = R"(Examples:
  attend demo                          translates a few sentences and draws where the model looked
  attend demo --task detect            finds what is where in a drawn scene, and shows where each box looked
  attend demo --task reverse           trains a small Transformer to reverse digits in under a minute
  attend demo --task sort --steps 1500
  attend demo --task reverse --digits 2718281828 --device cuda)";

void run_demo(const DemoOptions& options, const Streams& streams) {
  if (options.task == "translate")
    return run_translation_demo({.device = options.digits.device, .threads = options.digits.threads}, streams);
  if (options.task == "detect")
    return run_detection_demo(
        {.device = options.digits.device, .threads = options.digits.threads, .seed = options.digits.seed}, streams);
  DigitDemoOptions digits = options.digits;
  digits.task = options.task == "sort" ? DigitTask::sort : DigitTask::reverse;
  run_digit_demo(digits, streams);
}

}  // namespace

void add_demo_command(Flags& program, const Streams& streams) {
  add_command<DemoOptions>(
      program, streams,
      {.name = "demo",
       .help =
           "Translates or detects with a shipped model, or trains one to reverse digits, and shows what it attends to.",
       .examples = kDemoExamples},
      [](Flags& flags, DemoOptions& options) {
        flags.add("--task", options.task, "translate, detect, reverse or sort")
            .one_of({"translate", "detect", "reverse", "sort"});
        DigitDemoOptions& digits = options.digits;
        flags.add("--digits", digits.digits, "reverse, sort: what it answers in the end, up to 10 digits");
        flags.add("--steps", digits.steps, "reverse, sort: training steps of 64 strings");
        flags.add("--device", digits.device, "cpu, cuda or cuda:N");
        flags.add("--threads", digits.threads, "CPU threads, 0 for all cores");
        flags.add("--seed", digits.seed, "reverse, sort: of the weights and the strings; detect: which scene");
      },
      run_demo);
}

}  // namespace attend
