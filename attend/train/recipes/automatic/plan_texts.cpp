// Automatic settings of translation, language models, masked ones and text classifiers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/train/recipes/automatic/plan.h"

namespace attend::train {

namespace {

// A Transformer or GPT-2 by its width and layers (of each side).
struct Size {
  std::int64_t width, heads, hidden, layers;
};

double weights_of(const Size& size, int stacks) {
  // Four products of attention and two of the feed-forward layers; a decoder has a second attention.
  const auto width = static_cast<double>(size.width);
  const double attention = 4 * width * width, forward = 2 * width * static_cast<double>(size.hidden);
  const double layers = static_cast<double>(size.layers);
  return stacks == 1 ? layers * (attention + forward) : layers * (3 * attention + 2 * forward);
}

constexpr double kOperations = 6;  // a weight and token, forward and backward (Kaplan et al. 2020)

std::string count_text(double count) {
  return count >= 1e6 ? fmt::format("{:.1f} M", count / 1e6) : with_commas(static_cast<std::int64_t>(count));
}

// Of sizes, largest first, the first whose wanted steps fit into the budget.
struct Fit {
  Size size;
  double weights = 0, step_operations = 0;
  bool limited = false;  // a larger one would fit the data, and not the time
};
template <class Sizes>
Fit largest_that_fits(const Sizes& sizes, int stacks, double tokens, double vocabulary, double wanted_steps,
                      const Planned& from) {
  constexpr double kShare = 0.8;
  Fit fit{};
  for (const Size& size : sizes) {
    // The table of tokens is a product of its own in front of the loss.
    const double weights = weights_of(size, stacks);
    const double step = kOperations * tokens * (weights + vocabulary * static_cast<double>(size.width));
    fit = {size, weights, step, fit.weights > 0};
    if (step * wanted_steps <= kShare * from.budget.seconds * from.machine.operations) break;
  }
  return fit;
}

std::int64_t rounded_up(std::int64_t number, std::int64_t to) { return (number + to - 1) / to * to; }

// Blocks of a text of so many tokens, a tenth of which is held out: that must have some, too.
std::int64_t block_for(double tokens, std::int64_t most) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(tokens / 20) / 16 * 16, 16, most);
}

struct Tokens {
  std::int64_t vocabulary = 8000;
  double characters = 4;  // of a token, on average
  std::string value, why;
  bool single_digits = false;
};

// Few pairs have most words once or twice: small pieces of words, of which all are seen often, build those that were
// never seen. Words of a closed vocabulary are better tokens: sentences get short. Numbers are open whatever the words
// are: of few pairs each digit is a token, since pairs of digits are too rare to be learned one by one.
Tokens tokens_for(const data::DataFacts& facts) {
  const data::TextFacts &source = facts.texts[0], &target = facts.texts[1];
  constexpr std::int64_t kBytes = 260, kFew = 20'000, kClosed = 3000, kMany = 100'000;
  const std::int64_t characters = source.distinct_characters + target.distinct_characters;
  const bool single = source.digits + target.digits > 0 && facts.examples < kMany;
  std::int64_t distinct = source.distinct_words + target.distinct_words, once = source.once + target.once;
  if (single) distinct -= source.digits + target.digits, once -= source.once_digits + target.once_digits;
  const char* digits = single ? "; each digit is one" : "";
  if (once * 10 <= distinct && distinct <= kClosed) {
    const std::int64_t size = rounded_up(kBytes + 4 * distinct, 100);
    return {size, 4, fmt::format("BPE, up to {} tokens{}", with_commas(size), digits),
            fmt::format("{} distinct words{}, few of them once: nearly every word becomes a token",
                        with_commas(distinct), single ? " without digits" : ""),
            single};
  }
  if (facts.examples < kFew) {
    const std::int64_t size = rounded_up(kBytes + 80 + characters, 20);
    return {size, 1.7, fmt::format("BPE, {} tokens{}", with_commas(size), digits),
            fmt::format("{} of {} distinct words come once: short pieces build new words", with_commas(once),
                        with_commas(distinct)),
            single};
  }
  const std::int64_t size = facts.examples < kMany ? 4000 : 8000;
  return {size, 3.5, fmt::format("BPE, {} tokens{}", with_commas(size), digits),
          fmt::format("{} pairs, {} distinct words", with_commas(facts.examples), with_commas(distinct)), single};
}

bool is_bundled(const Machine& machine, std::string_view name) {
  return std::ranges::find(machine.bundled, name) != machine.bundled.end();
}

}  // namespace

Plan plan_translation(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  check(facts.texts.size() == 2, "translation learns from two sides, not from {}", facts.texts.size());
  const std::int64_t pairs = facts.examples;
  const Tokens tokens = tokens_for(facts);
  static const std::vector<Size> kSizes = {{512, 8, 2048, 6}, {512, 8, 2048, 3}, {256, 4, 1024, 3},
                                           {192, 4, 768, 3},  {128, 4, 512, 3},  {96, 4, 256, 2}};
  // Larger models overfit few pairs.
  const std::size_t largest = pairs < 10'000 ? 4 : pairs < 50'000 ? 3 : pairs < 200'000 ? 2 : pairs < 2'000'000 ? 1 : 0;
  // Small batches of few pairs: rules are learned by steps, and twice as many of them per token pay.
  const std::int64_t batch = pairs < 10'000 ? 600 : pairs < 100'000 ? 2048 : 4096;
  const double length = facts.texts[1].characters.mean / tokens.characters + 1;
  const std::int64_t epoch = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(pairs) * length / static_cast<double>(batch)));
  // 4,000 pairs of a regular language need about 2,000 steps of the model of width 128.
  constexpr double kFewestSteps = 3000;
  const std::int64_t wanted = std::clamp<std::int64_t>(100 * epoch, 2500, 100'000);
  const Fit fit =
      largest_that_fits(std::vector<Size>(kSizes.begin() + static_cast<std::ptrdiff_t>(largest), kSizes.end()), 2,
                        static_cast<double>(batch), static_cast<double>(tokens.vocabulary), kFewestSteps, from);
  const std::int64_t longest = std::max(facts.texts[0].characters.most, facts.texts[1].characters.most);
  const float dropout = pairs < 10'000 ? 0.1f : pairs < 200'000 ? 0.2f : 0.1f;
  const float rate = pairs < 10'000 ? 1.5e-3f : fit.size.width <= 128 ? 2e-3f : fit.size.width <= 256 ? 1.5e-3f : 7e-4f;

  Plan plan;
  plan.step_operations = fit.step_operations, plan.epoch_steps = epoch, plan.wanted_steps = wanted;
  plan.settings = {{"model", "transformer"},
                   {"width", fit.size.width},
                   {"heads", fit.size.heads},
                   {"hidden", fit.size.hidden},
                   {"encoder_layers", fit.size.layers},
                   {"decoder_layers", fit.size.layers},
                   {"pre_norm", true},
                   {"max_length", std::clamp<std::int64_t>(rounded_up(longest + 8, 64), 64, 512)},
                   {"dropout", dropout},
                   {"vocabulary_size", tokens.vocabulary},
                   {"single_digits", tokens.single_digits},
                   {"tokens", batch},
                   {"label_smoothing", pairs < 10'000 ? 0.05f : 0.1f},
                   {"schedule", "cosine"},
                   {"learning_rate", rate},
                   {"bleu_sentences", 200},
                   {"average", 1}};
  plan.table = {{"model", fmt::format("Transformer, {} weights", count_text(fit.weights)),
                 fmt::format("width {}, {} + {} layers: {}", fit.size.width, fit.size.layers, fit.size.layers,
                             fit.limited ? "the largest that fits the time"
                                         : fmt::format("larger models overfit {} pairs", with_commas(pairs))),
                 "--width, --preset"},
                {"tokens", tokens.value, tokens.why, "--vocabulary-size, --single-digits"},
                {"batch", fmt::format("{} tokens", with_commas(batch)),
                 fmt::format("about {} pairs, {} batches in all data",
                             static_cast<std::int64_t>(static_cast<double>(batch) / length), with_commas(epoch)),
                 "--tokens"},
                {"dropout", fmt::format("{}", dropout), fmt::format("for {} pairs", with_commas(pairs)), "--dropout"},
                {"learning rate", fmt::format("{}, cosine", rate), fmt::format("for width {}", fit.size.width),
                 "--learning-rate"}};
  return plan;
}

Plan plan_language(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  check(!facts.texts.empty(), "a language model learns from text");
  const std::int64_t bytes = facts.texts[0].bytes;
  // Pieces of two characters halve the work for a text, so that a short run reads it more often: with equal work a
  // model of 512 tokens is better per character than one of bytes.
  constexpr std::int64_t kBytesAlone = 300'000, kShortPieces = 5'000'000;
  const bool characters = bytes < kBytesAlone, pieces = !characters && bytes < kShortPieces;
  const std::int64_t vocabulary = characters ? 0 : pieces ? 512 : bytes < 50'000'000 ? 4000 : 16'000;
  static const std::vector<Size> kSizes = {{768, 12, 3072, 12}, {512, 8, 2048, 8}, {384, 6, 1536, 6}, {256, 4, 1024, 6},
                                           {192, 4, 768, 5},    {128, 4, 512, 4},  {96, 4, 384, 3}};
  const std::size_t largest = bytes < 3'000'000 ? 2 : bytes < 50'000'000 ? 1 : 0;
  const double tokens = static_cast<double>(bytes) / (characters ? 1.0 : pieces ? 1.9 : 3.5);
  const std::int64_t block = block_for(tokens, from.machine.gpu ? 256 : 128), batch = from.machine.gpu ? 64 : 8;
  const double step_tokens = static_cast<double>(block * batch);
  // Several tokens a weight (Hoffmann et al. 2022 have 20): many steps of a small model beat few of a large one.
  const double fewest_steps = from.machine.gpu ? 1500 : 4000;
  const Fit fit =
      largest_that_fits(std::vector<Size>(kSizes.begin() + static_cast<std::ptrdiff_t>(largest), kSizes.end()), 1,
                        step_tokens, characters ? 257.0 : static_cast<double>(vocabulary), fewest_steps, from);
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(tokens / step_tokens));
  plan.wanted_steps = std::clamp<std::int64_t>(20 * plan.epoch_steps, 1000, 50'000);
  plan.step_operations = fit.step_operations;
  const double seen = from.budget.seconds * from.machine.operations / std::max(fit.step_operations, 1.0) /
                      static_cast<double>(plan.epoch_steps);
  const float dropout = seen > 25 ? 0.2f : seen > 6 ? 0.1f : 0.0f;
  const float rate = fit.size.width <= 256 ? 2e-3f : 1e-3f;
  plan.settings = {{"vocabulary_size", vocabulary},
                   {"width", fit.size.width},
                   {"layers", fit.size.layers},
                   {"heads", fit.size.heads},
                   {"block", block},
                   {"batch", batch},
                   {"dropout", dropout},
                   {"schedule", "cosine"},
                   {"learning_rate", rate},
                   {"weight_decay", 0.1f},
                   {"average", 1}};
  plan.table = {
      {"model", fmt::format("GPT-2, {} weights", count_text(fit.weights)),
       fmt::format("width {}, {} layers: {}", fit.size.width, fit.size.layers,
                   fit.limited ? "the largest that fits the time"
                               : fmt::format("larger models overfit {:.1f} MB", static_cast<double>(bytes) / 1e6)),
       "--width, --layers"},
      {"tokens", characters ? "bytes" : fmt::format("BPE, {} tokens", with_commas(vocabulary)),
       fmt::format("{:.1f} MB of text", static_cast<double>(bytes) / 1e6), "--vocabulary-size"},
      {"batch", fmt::format("{} x {} tokens", batch, block), "many steps in the time", "--batch, --block"},
      {"dropout", fmt::format("{}", dropout), fmt::format("the text is read about {:.1f} times", seen), "--dropout"},
      {"learning rate", fmt::format("{}, cosine", rate), fmt::format("for width {}", fit.size.width),
       "--learning-rate"}};
  return plan;
}

Plan plan_texts(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  check(is_bundled(from.machine, "bert"),
        "training: there is no bundled model 'bert' here to start from; --from names another");
  const std::int64_t texts = facts.examples;
  // 2,000 phrases of SST-2: batches of 16 and this dropout gave 79.0 %, batches of 32 with half of it 77.2 %.
  const bool few = texts >= 1000 && texts < 3000;
  const std::int64_t batch = texts < 500 || few ? 16 : 32;
  const float epochs = texts < 1000 ? 15 : few ? 6 : texts < 10'000 ? 10 : 4;
  const float dropout = few ? 0.2f : 0.1f;
  const float rate = 3e-4f;
  // A word is about one and a half tokens of this vocabulary.
  std::int64_t words = 0;
  for (const data::TextFacts& side : facts.texts) words += side.words.most95;
  const std::int64_t length = std::clamp<std::int64_t>(rounded_up(words * 2 + 4, 16), 32, 128);
  Plan plan;
  plan.epoch_steps = std::max<std::int64_t>(1, texts / batch);
  plan.wanted_steps = static_cast<std::int64_t>(epochs * static_cast<float>(plan.epoch_steps));
  plan.step_operations = 1;
  plan.settings = {{"from", "bert"},        {"batch", batch},        {"max_length", length}, {"schedule", "linear"},
                   {"learning_rate", rate}, {"weight_decay", 0.01f}, {"dropout", dropout}};
  plan.table = {
      {"start", "the bundled model bert",
       fmt::format("fine-tuned: {} texts are too few to learn a language from", with_commas(texts)), "--from"},
      {"batch", fmt::format("{} texts", batch), fmt::format("{} batches in all data", with_commas(plan.epoch_steps)),
       "--batch"},
      {"length", fmt::format("{} tokens", length), fmt::format("95 % of the texts have up to {} words", words),
       "--max-length"},
      {"dropout", fmt::format("{}", dropout), fmt::format("for {} texts", with_commas(texts)), "--dropout"},
      {"learning rate", fmt::format("{}, linear", rate), "for fine-tuning a model of this size", "--learning-rate"}};
  return plan;
}

Plan plan_masked(const Planned& from) {
  const data::DataFacts& facts = from.facts;
  check(!facts.texts.empty(), "a masked language model learns from text");
  const data::TextFacts& text = facts.texts[0];
  constexpr std::int64_t kMuch = 50'000'000;
  const std::int64_t block = block_for(static_cast<double>(text.bytes) / 4, 128);
  // The bundled model knows English. Text with many bytes a character is another language.
  const double characters = text.characters.mean * static_cast<double>(text.characters.count);
  const bool english =
      static_cast<double>(text.bytes) < 1.1 * std::max(characters, 1.0) + static_cast<double>(facts.examples);
  const bool tuned = is_bundled(from.machine, "bert") && english && text.bytes < kMuch;
  const std::int64_t vocabulary = text.bytes < 2'000'000 ? 2000 : 8192, batch = from.machine.gpu ? 64 : 8;
  static const std::vector<Size> kSizes = {{256, 4, 1024, 6}, {192, 4, 768, 4}, {128, 4, 512, 4}};
  const double step_tokens = static_cast<double>(block * batch);
  const Fit fit = tuned ? Fit{kSizes[0], weights_of(kSizes[0], 1), 1, false}
                        : largest_that_fits(kSizes, 1, step_tokens, 0.15 * static_cast<double>(vocabulary), 3000, from);
  Plan plan;
  plan.epoch_steps =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(text.bytes) / 4 / step_tokens));
  plan.wanted_steps = std::clamp<std::int64_t>((tuned ? 10 : 40) * plan.epoch_steps, 500, 100'000);
  plan.step_operations = fit.step_operations;
  const float rate = tuned ? 2e-4f : 1e-3f;
  plan.settings = {{"batch", batch},        {"block", block},        {"schedule", "cosine"},
                   {"learning_rate", rate}, {"weight_decay", 0.01f}, {"dropout", 0.1f}};
  if (tuned)
    plan.settings["from"] = "bert";
  else
    plan.settings.update(Json{{"vocabulary_size", vocabulary},
                              {"width", fit.size.width},
                              {"layers", fit.size.layers},
                              {"heads", fit.size.heads},
                              {"max_length", std::max<std::int64_t>(block, 128)}});
  plan.table = {
      tuned ? Chosen{"start", "the bundled model bert",
                     fmt::format("{:.1f} MB are too little to learn a language from",
                                 static_cast<double>(text.bytes) / 1e6),
                     "--from"}
            : Chosen{"model", fmt::format("BERT, {} weights", count_text(fit.weights)),
                     fmt::format("from scratch, {}", english ? "the text is enough" : "the bundled bert reads English"),
                     "--width, --from"},
      {"batch", fmt::format("{} x {} tokens", batch, block), "many steps in the time", "--batch, --block"},
      {"learning rate", fmt::format("{}, cosine", rate), tuned ? "for fine-tuning" : "from scratch",
       "--learning-rate"}};
  return plan;
}

}  // namespace attend::train
