#include "attend/cli/demo.h"

#include <map>

#include "attend/base/error.h"
#include "attend/cli/digit_demo.h"
#include "attend/cli/translation_demo.h"

namespace attend {

namespace {

struct DemoOptions {
  std::string task = "translate";
  DigitDemoOptions digits;
};

constexpr const char* kExamples = R"(Examples:
  attend demo                          translates a few sentences and draws where the model looked
  attend demo --task reverse           trains a small Transformer to reverse digits in under a minute
  attend demo --task sort --steps 1500
  attend demo --task reverse --digits 2718281828 --device cuda)";

void run_demo(const DemoOptions& options, const Streams& streams) {
  if (options.task == "translate")
    return run_translation_demo({.device = options.digits.device, .threads = options.digits.threads}, streams);
  DigitDemoOptions digits = options.digits;
  digits.task = options.task == "sort" ? DigitTask::sort : DigitTask::reverse;
  run_digit_demo(digits, streams);
}

}  // namespace

void add_demo_command(CLI::App& app, const Streams& streams) {
  add_command<DemoOptions>(
      app, streams,
      {.name = "demo",
       .help = "Translates with the shipped model, or trains one to reverse digits, and shows what it attends to.",
       .examples = kExamples},
      [](CLI::App& flags, DemoOptions& options) {
        flags.add_option("--task", options.task, "translate, reverse or sort")
            ->check(CLI::IsMember({"translate", "reverse", "sort"}).description(""))
            ->capture_default_str();
        DigitDemoOptions& digits = options.digits;
        flags.add_option("--digits", digits.digits, "reverse, sort: what it answers in the end, up to 10 digits")
            ->capture_default_str();
        flags.add_option("--steps", digits.steps, "reverse, sort: training steps of 64 strings")->capture_default_str();
        flags.add_option("--device", digits.device, "cpu, cuda or cuda:N")->capture_default_str();
        flags.add_option("--threads", digits.threads, "CPU threads, 0 for all cores")->capture_default_str();
        flags.add_option("--seed", digits.seed, "reverse, sort: of the weights and the strings")->capture_default_str();
      },
      run_demo);
}

}  // namespace attend
