// From two text files to a model folder that translates: learns the tokens, prepares the pairs, trains; or goes on from
// a folder, with its tokens.
//   config.json  model.safetensors  tokenizer.json  recipe.json    what a model is
//   state.safetensors  checkpoints/  log.jsonl  *.pairs             what resuming needs
#include <fmt/core.h>

#include <limits>
#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/data/corpus/pair_reader.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/text_reader.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/trainings.h"
#include "attend/train/recipes/translation/translation_recipe.h"
#include "attend/train/recipes/translation/translation_task.h"

namespace attend::train {

namespace {

// What is read: the files that were given, or those that the run made of them (held_out.h).
PairFiles files_of(const TranslationRecipe& recipe, const RunContext& run) {
  const float share = recipe.held_out.valid_share;
  if (recipe.pairs.empty() && share == 0)
    return {recipe.source, recipe.target, recipe.valid_source, recipe.valid_target};
  PairFiles files = split_pairs({.source = recipe.source,
                                 .target = recipe.target,
                                 .pairs = recipe.pairs,
                                 .first_column = recipe.source_column,
                                 .second_column = recipe.target_column,
                                 .share = static_cast<double>(share),
                                 .seed = recipe.seed},
                                run.folder);
  if (share == 0) files.valid_source = recipe.valid_source, files.valid_target = recipe.valid_target;
  return files;
}

// A corpus that will not do is found before its tokens are learned, which takes a while.
PairFiles checked(PairFiles files, const RunContext& run) {
  if (run.folder.resumed()) return files;  // the same bytes
  data::check_pairs({files.source, files.target});
  data::check_pairs({files.valid_source, files.valid_target});
  return files;
}

// The joint vocabulary of both sides.
std::string learn_tokens(const TranslationRecipe& recipe, const PairFiles& files, const TrainOptions& options) {
  Progress progress(options.messages,
                    {.label = "learning tokens", .total = recipe.vocabulary_size, .terminal = options.terminal});
  text::BpeTrainer trainer(
      {.vocabulary_size = static_cast<std::size_t>(recipe.vocabulary_size),
       .words = {.add_prefix_space = true, .single_digits = recipe.single_digits},
       .threads = static_cast<int>(recipe.threads),
       .on_progress = [&](std::size_t tokens) { progress.update(static_cast<std::int64_t>(tokens)); }});
  trainer.add_file(files.source);
  trainer.add_file(files.target);
  const text::TrainedBpe trained = trainer.train();
  progress.update(static_cast<std::int64_t>(trained.tokens.size()));
  progress.finish();
  return text::to_tokenizer_json(trained);
}

text::Tokenizer prepare_tokenizer(const TranslationRecipe& recipe, const PairFiles& files, const RunContext& run) {
  if (!run.folder.resumed() && recipe.tokenizer.empty() && !recipe.from.empty())
    copy_tokenizer(run.from, run.folder.prepared());
  else if (!run.folder.resumed())
    run.folder.stage("tokenizer.json", recipe.tokenizer.empty() ? learn_tokens(recipe, files, run.options)
                                                                : given_tokenizer(recipe.tokenizer));
  return text::Tokenizer::load(run.folder.prepared());
}

// What is there before the first step: the folder's that the run goes on from, or none.
std::optional<catalogue::ModelConfig> start_of(const TranslationRecipe& recipe, const RunContext& run) {
  if (recipe.from.empty()) return std::nullopt;
  return catalogue::read_config(run.from, catalogue::Task::translate, "train");
}

data::ParallelCorpus prepare_pairs(const TranslationRecipe& recipe, const PairFiles& files, const RunContext& run,
                                   const char* name, std::int64_t max_length) {
  const bool training = std::string_view(name) == "train";
  const auto [found, made] = run.folder.derived(fmt::format("{}.pairs", name));
  Progress progress(run.options.messages,
                    {.label = fmt::format("encoding {}", name), .total = 100, .terminal = run.options.terminal});
  data::ParallelCorpus corpus = data::ParallelCorpus::open_or_build(
      {.source = training ? files.source : files.valid_source,
       .target = training ? files.target : files.valid_target,
       .tokenizer = run.folder.prepared(),
       .cache = found,
       .rebuilt = made},
      {.max_length = max_length - 1,
       .threads = static_cast<int>(recipe.threads),
       .on_progress = [&](std::uint64_t done, std::uint64_t total) {
         progress.update(static_cast<std::int64_t>(total ? done * 100 / total : 100));
       }});
  progress.print(fmt::format("{}: {}", training ? "training pairs" : "validation pairs", to_text(corpus.report())));
  return corpus;
}

std::vector<std::string> first_lines(const std::string& path, std::int64_t count) {
  std::vector<std::string> lines;
  text::TextReader reader(path);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block())
    while (!block.empty() && static_cast<std::int64_t>(lines.size()) < count) {
      const std::size_t end = block.find('\n');
      lines.emplace_back(block.substr(0, end));
      if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
      block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    }
  return lines;
}

// Read before the run begins: a file that does not fit is not to be found when the model is trained.
ValidationText read_test(const TranslationRecipe& recipe) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  ValidationText text{first_lines(recipe.test_source, kAll), first_lines(recipe.test_target, kAll)};
  check(text.source.size() == text.target.size() && !text.source.empty(),
        "training: the test has {} lines and {} translations", text.source.size(), text.target.size());
  return text;
}

class TranslationJob : public TrainingJob {
 public:
  TranslationJob(const ResolvedRecipe& resolved, const RunContext& run)
      : resolved_(resolved),
        run_(run),
        files_(checked(files_of(recipe(), run), run)),
        start_(start_of(recipe(), run)),
        tokenizer_(prepare_tokenizer(recipe(), files_, run)),
        // Rows of the table come in eights: GPU products like that.
        model_(start_ ? started_model(resolved_, *start_) : make_model(resolved_, (tokenizer_.id_limit() + 7) / 8 * 8)),
        training_(prepare_pairs(recipe(), files_, run, "train", model_->max_length())),
        validation_(prepare_pairs(recipe(), files_, run, "valid", model_->max_length())),
        sample_{first_lines(files_.valid_source, recipe().bleu_sentences),
                first_lines(files_.valid_target, recipe().bleu_sentences)} {
    check(training_.pairs() > 0, "training: no sentence pairs are left to train on");
    check(validation_.pairs() > 0, "training: no sentence pairs are left to validate on");
    if (!recipe().test_source.empty()) test_ = read_test(recipe());
    stage_json(run.folder, "config.json", model_->config());
  }

  JobFacts facts() override {
    const Json config = model_->config();
    return {.name = start_ ? config["model_type"].get<std::string>() : recipe().model,
            .width = config["width"].get<std::int64_t>(),
            .parts = {{model_->parameters()}},
            .settings = recipe(),
            .recipe = to_json(resolved_),
            .tokens = recipe().tokens};  // as many of the source, each side through its half of the weights
  }
  void start(const std::vector<nn::Parameters*>& weights) override {
    if (start_ && !run_.folder.resumed()) {
      start_->entry->translator.load(checkpoint::open_weights(run_.from), *weights[0]);
      run_.options.messages << fmt::format("from {}\n", run_.from.string());
    }
    model_->place(run_.backend, run_.dtype);
  }
  std::unique_ptr<train::Task> task() override {
    return std::make_unique<TranslationTask>(
        TranslationTask::Parts{*model_, tokenizer_, run_.backend, training_, validation_, sample_},
        TranslationTaskOptions{.tokens = recipe().tokens,
                               .seed = recipe().seed,
                               .label_smoothing = recipe().label_smoothing,
                               .r_drop = recipe().r_drop,
                               .start = start_token(),
                               .select_by_bleu = recipe().select == "bleu"});
  }

  void finish(train::Task&) override {
    if (!test_) return;
    const tasks::Translator translator(*model_, tokenizer_, run_.backend, start_token());
    report_test(run_, recipe().test_source, evaluate_translator(translator, *test_));
  }

 private:
  const TranslationRecipe& recipe() const { return resolved_.recipe; }
  std::optional<std::int32_t> start_token() const {
    const Json config = model_->config();
    return catalogue::entry_of(config, "config.json").translator.start(config, tokenizer_, recipe().out);
  }

  const ResolvedRecipe resolved_;
  const RunContext run_;
  const PairFiles files_;
  const std::optional<catalogue::ModelConfig> start_;
  const text::Tokenizer tokenizer_;
  const std::unique_ptr<models::Seq2Seq> model_;
  const data::ParallelCorpus training_, validation_;
  const ValidationText sample_;
  std::optional<ValidationText> test_;
};

}  // namespace

Training translation_training(const Json& settings, std::string_view what) {
  const ResolvedRecipe resolved = resolve_recipe(settings, what);
  const TranslationRecipe& recipe = resolved.recipe;
  std::vector<train::DataFile> files;
  if (recipe.pairs.empty())
    files = {{"source", recipe.source}, {"target", recipe.target}};
  else
    files = {{"pairs", recipe.pairs}};
  if (recipe.held_out.valid_share == 0)
    files.insert(files.end(), {{"valid_source", recipe.valid_source}, {"valid_target", recipe.valid_target}});
  for (const train::DataFile& file : files) check(!file.path.empty(), "training: '{}' is missing", file.key);
  check(!recipe.out.empty(), "training: 'out' is missing");
  check(recipe.test_source.empty() == recipe.test_target.empty(),
        "training: 'test_source' and 'test_target' go together");
  if (!recipe.test_source.empty())
    files.insert(files.end(), {{"test_source", recipe.test_source}, {"test_target", recipe.test_target}});
  return {.settings = recipe,
          .recipe = to_json(resolved),
          .files = files,
          .from = recipe.from,
          .prepare = [resolved](const RunContext& run) { return std::make_unique<TranslationJob>(resolved, run); }};
}

}  // namespace attend::train
