// Does a decoding step as it is used (captured, or one kernel) choose the tokens that the layers choose one by one?
//   same_tokens --model DIR [--device cpu] [--dtype f32] [--weights int8] [--threads 2] [--steps 10000] [--batch 1]
//               [--prompt 16] [--tokens 96] [--gap 0.05] [--share 0.005]
// Both continue random prompts with what the layers choose. Where they differ, the layers' logits of both choices are
// compared: below --gap it is a tie, else it is wrong. Prints a JSON object, and ends with exit code 1 where one is
// wrong, or more than --share of the steps are ties. bench/gpt2_generation --write makes a folder with random weights.
#include <fmt/core.h>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "bench/support/bench_main.h"
#include "bench/support/gpt2_folder.h"
#include "bench/support/model_options.h"
#include "tests/decode/same_tokens.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  test::SameTokensOptions compared;
  double share = 0.005;
};

void run(const Options& options) {
  check(!options.model.empty(), "--model must name the folder of a GPT-2");
  const auto backend = options.open();
  const GPT2Folder loaded(options.model, *backend, options.format());
  const test::SameTokens same = test::same_tokens_of(loaded.model.body(), *backend, options.compared);
  const Json report = {{"steps", same.steps},           {"ties", same.ties},           {"wrong", same.wrong},
                       {"widest_gap", same.widest},     {"gap", options.compared.gap}, {"share", options.share},
                       {"batch", options.compared.rows}};
  fmt::print("{}\n", report.dump());
  check(same.wrong == 0, "{} of {} steps chose a token whose logit is lower by --gap {} or more", same.wrong,
        same.steps, options.compared.gap);
  check(same.within(options.share), "{} of {} steps chose between equals otherwise, more than --share {}", same.ties,
        same.steps, options.share);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Do captured decoding steps choose the tokens that the layers choose?");
  options.add_to(app);
  app.add_option("--steps", options.compared.steps, "tokens of all texts that are compared");
  app.add_option("--batch", options.compared.rows, "texts at once");
  app.add_option("--prompt", options.compared.prompt, "random tokens that each text begins with");
  app.add_option("--tokens", options.compared.tokens, "tokens after them, then texts begin anew");
  app.add_option("--gap", options.compared.gap, "logits closer than this are a tie");
  app.add_option("--share", options.share, "of the steps may be ties");
  app.add_option("--seed", options.compared.seed, "of the prompts");
  return bench_main(app, argc, argv, [&] { run(options); });
}
