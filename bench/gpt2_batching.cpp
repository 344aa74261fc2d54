// GPT-2 writing after prompts of many lengths, texts of many lengths: continuous batching (a text that ends makes room
// for the next at once) beside static batching (the next --batch texts begin when the longest of these has ended).
//   gpt2_batching [--model FOLDER] [--batch 64] [--texts 512] [--device cuda] [--dtype bf16] [--reps 3]
// Without --model the 124M model with random weights. Prompts have 8 to 128 tokens and texts 8 to 256, both with many
// short and few long ones; greedy, and no text ends before its length. Prints for each repetition the useful tokens a
// second of both and their ratio, then whether both wrote the same.
#include <fmt/format.h>

#include <cmath>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/decode/sample_texts.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/parameters.h"
#include "bench/support/bench_main.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 64, texts = 512, prompt = 128, longest = 256, together = 0;
  int threads = 0, reps = 3;
  std::string model, dtype = "bf16", device = "cuda";
  bool cpu_time = false;
};

// least to most, the logarithm even: many short, few long.
std::int64_t spread(std::uint32_t word, std::int64_t least, std::int64_t most) {
  const double share = static_cast<double>(word) / 4294967296.0,
               ratio = static_cast<double>(most) / static_cast<double>(least);
  return static_cast<std::int64_t>(static_cast<double>(least) * std::pow(ratio, share));
}

std::vector<decode::Text> workload(const Options& options, std::int64_t vocabulary) {
  std::vector<decode::Text> texts;
  for (std::int64_t i = 0; i < options.texts; ++i) {
    const Random4 words = philox(1, 0, static_cast<std::uint64_t>(i));
    decode::Text text{.prompt = {}, .max_length = spread(words.word[0], 8, options.longest)};
    const std::int64_t length = spread(words.word[1], 8, options.prompt);
    for (std::int64_t t = 0; t < length; ++t)
      text.prompt.push_back(static_cast<std::int32_t>((i * 7919 + t * t * 31) % vocabulary));
    texts.push_back(std::move(text));
  }
  return texts;
}

using Written = std::vector<std::vector<std::int32_t>>;

// `together` texts at a time; the batch is full until the last of them have begun.
double write(nn::BatchModel& model, const std::vector<decode::Text>& texts, std::size_t together,
             const Options& options, Written& written) {
  const decode::TextsOptions greedy{.draw = {.top_k = 1, .end = -1}, .together = options.together};
  const Stopwatch stopwatch(options.cpu_time ? Stopwatch::Counts::cpu : Stopwatch::Counts::wall);
  for (std::size_t begin = 0; begin < texts.size(); begin += together)
    for (decode::Hypothesis& text :
         decode::sample_texts(model, std::span(texts).subspan(begin, std::min(together, texts.size() - begin)), greedy))
      written.push_back(std::move(text.tokens));
  const double took = stopwatch.seconds();
  std::size_t tokens = 0;
  for (const auto& text : written) tokens += text.size();
  return static_cast<double>(tokens) / took;
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const std::filesystem::path folder = options.model;
  models::GPT2LanguageModel model(
      folder.empty() ? models::GPT2Config{} : models::gpt2_config(read_json(folder / "config.json"), "config.json"));
  nn::Parameters parameters(
      *backend, model,
      {.dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32, .trained = false, .initialized = folder.empty()});
  if (!folder.empty())
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  const std::vector<decode::Text> texts = workload(options, model.body().config().vocabulary);
  nn::CausalBatch batch(model.body(), *backend, options.batch, options.prompt + options.longest);

  const auto all = texts.size(), some = static_cast<std::size_t>(options.batch);
  Written continuous, fixed;
  for (int rep = -1; rep < options.reps; ++rep) {
    continuous.clear(), fixed.clear();
    const double ours = write(batch, texts, all, options, continuous),
                 others = write(batch, texts, some, options, fixed);
    if (rep >= 0)
      fmt::print("continuous {:.0f} tokens/s   static {:.0f} tokens/s   {:.2f}x\n", ours, others, ours / others);
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < all; ++i) same += continuous[i] == fixed[i];
  fmt::print("{} of {} texts are the same\n", same, all);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("GPT-2 writing many texts of many lengths, timed.");
  app.add_option("--model", options.model, "a Hugging Face folder; without it 124M random weights");
  app.add_option("--batch", options.batch, "texts at once")->check(CLI::PositiveNumber);
  app.add_option("--texts", options.texts, "how many in all");
  app.add_option("--prompt", options.prompt, "tokens of the longest prompt");
  app.add_option("--longest", options.longest, "tokens of the longest text");
  app.add_option("--together", options.together, "empty rows that are filled; 0: a sixteenth of the batch, 1: at once");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_flag("--cpu-time", options.cpu_time, "time of this process on its cores (use --threads 1)");
  app.add_option("--reps", options.reps, "how often");
  return bench_main(app, argc, argv, [&] { run(options); });
}
