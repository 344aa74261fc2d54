#include "attend/training/train_translation.h"

#include <fmt/core.h>

#include <memory>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/progress.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/text_reader.h"
#include "attend/training/start_folder.h"
#include "attend/training/translation_task.h"

namespace attend::tasks {

namespace {

// Learns the joint vocabulary of both sides, or copies the one the recipe names.
void prepare_tokenizer(const TranslationRecipe& recipe, train::RunFolder& folder, const TrainOptions& options) {
  if (folder.resumed()) return;
  if (!recipe.tokenizer.empty()) return folder.stage("tokenizer.json", given_tokenizer(recipe.tokenizer));
  Progress progress(options.messages,
                    {.label = "learning tokens", .total = recipe.vocabulary_size, .terminal = options.terminal});
  BpeTrainer trainer({.vocabulary_size = static_cast<std::size_t>(recipe.vocabulary_size),
                      .words = {.add_prefix_space = true},
                      .threads = static_cast<int>(recipe.threads),
                      .on_progress = [&](std::size_t tokens) { progress.update(static_cast<std::int64_t>(tokens)); }});
  trainer.add_file(recipe.source);
  trainer.add_file(recipe.target);
  const TrainedBpe trained = trainer.train();
  progress.update(static_cast<std::int64_t>(trained.tokens.size()));
  progress.finish();
  folder.stage("tokenizer.json", to_tokenizer_json(trained));
}

data::ParallelCorpus prepare_pairs(const TranslationRecipe& recipe, const train::RunFolder& folder,
                                   const TrainOptions& options, const char* name, std::int64_t max_length) {
  const bool training = std::string_view(name) == "train";
  const auto [found, made] = folder.derived(fmt::format("{}.pairs", name));
  Progress progress(options.messages,
                    {.label = fmt::format("encoding {}", name), .total = 100, .terminal = options.terminal});
  data::ParallelCorpus corpus = data::ParallelCorpus::open_or_build(
      {.source = training ? recipe.source : recipe.valid_source,
       .target = training ? recipe.target : recipe.valid_target,
       .tokenizer = folder.prepared() / "tokenizer.json",
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
  TextReader reader(path);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block())
    while (!block.empty() && static_cast<std::int64_t>(lines.size()) < count) {
      const std::size_t end = block.find('\n');
      lines.emplace_back(block.substr(0, end));
      if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
      block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    }
  return lines;
}

}  // namespace

train::TrainingResult train_translation(const ResolvedRecipe& resolved, Backend& backend, const TrainOptions& options) {
  const TranslationRecipe& recipe = resolved.recipe;
  for (const auto& [key, value] : {std::pair<const char*, const std::string&>{"source", recipe.source},
                                   {"target", recipe.target},
                                   {"valid_source", recipe.valid_source},
                                   {"valid_target", recipe.valid_target},
                                   {"out", recipe.out}})
    check(!value.empty(), "training: '{}' is missing", key);
  train::RunFolder folder(run_request(recipe, to_json(resolved),
                                      {{"source", recipe.source},
                                       {"target", recipe.target},
                                       {"valid_source", recipe.valid_source},
                                       {"valid_target", recipe.valid_target}},
                                      options));
  prepare_tokenizer(recipe, folder, options);
  const Tokenizer tokenizer = Tokenizer::load(folder.prepared() / "tokenizer.json");

  // Rows of the table come in eights: GPU products like that.
  const std::int64_t vocabulary = (tokenizer.id_limit() + 7) / 8 * 8;
  const std::unique_ptr<models::Seq2Seq> model = make_model(resolved, vocabulary);
  const data::ParallelCorpus training = prepare_pairs(recipe, folder, options, "train", model->max_length());
  const data::ParallelCorpus validation = prepare_pairs(recipe, folder, options, "valid", model->max_length());
  const nn::ParametersOptions computed = parameters_options(recipe, backend);
  const DType dtype = computed.dtype;
  nn::Parameters parameters(backend, model->parameters(), computed);
  model->place(backend, dtype);
  folder.stage("config.json", model->config().dump(2) + "\n");
  folder.stage("recipe.json", to_json(resolved).dump(2) + "\n");
  options.messages << fmt::format("{} with {:.1f} M weights, {} on {}\n", recipe.model,
                                  static_cast<double>(parameters.count()) / 1e6, name_of(dtype), backend.name());

  const ValidationText sample{first_lines(recipe.valid_source, recipe.bleu_sentences),
                              first_lines(recipe.valid_target, recipe.bleu_sentences)};
  TranslationTask task({*model, tokenizer, backend, training, validation, sample},
                       {.tokens = recipe.tokens,
                        .seed = recipe.seed,
                        .label_smoothing = recipe.label_smoothing,
                        .r_drop = recipe.r_drop,
                        .select_by_bleu = recipe.select == "bleu"});
  return train::train(task, parameters,
                      trainer_options(recipe, resolved.model["width"].get<std::int64_t>(), folder, options));
}

}  // namespace attend::tasks
