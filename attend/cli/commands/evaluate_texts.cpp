// attend evaluate for models with a head: labels or numbers of texts, tags of words, answers to questions.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/cli/support/evaluation.h"
#include "attend/tasks/head.h"
#include "attend/tasks/labelled_tasks.h"
#include "attend/train/recipes/heads/head_evaluator.h"
#include "attend/train/recipes/heads/head_examples.h"

namespace attend::cli {

namespace {

using tasks::TargetKind;

// The model's labels as the file calls them: a file may have numbers where the model has names.
std::vector<std::string> labels_for(const tasks::Head& head, const data::LabelledFile& file, TargetKind kind) {
  const std::vector<std::string>& own = head.labels();
  if (kind == TargetKind::number || kind == TargetKind::span) return {};
  const auto known = [](const std::vector<std::string>& labels, const std::string& label) {
    return std::ranges::find(labels, label) != labels.end();
  };
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < own.size(); ++i) numbers.push_back(std::to_string(i));
  const bool numbered = kind == TargetKind::label && std::ranges::all_of(file.texts, [&](const auto& text) {
                          return !known(own, text.label) && known(numbers, text.label);
                        });
  const std::vector<std::string>& labels = numbered ? numbers : own;
  for (const data::LabelledText& text : file.texts) {
    if (kind == TargetKind::label)
      check(known(labels, text.label), "{}:{}: the model has no label '{}'", file.path, text.line, text.label);
    for (const std::string& tag : text.tags)
      check(kind != TargetKind::tags || known(labels, tag), "{}:{}: the model has no label '{}'", file.path, text.line,
            tag);
  }
  return labels;
}

std::string shown_text(const data::LabelledText& text) {
  if (!text.words.empty()) {
    std::string line;
    for (const std::string& word : text.words) line += (line.empty() ? "" : " ") + word;
    return line;
  }
  return text.has_pair && text.answers.empty() ? text.text + " | " + text.pair : text.text;
}

}  // namespace

Evaluation evaluate_texts(const EvaluatedModel& model) {
  model.expect_files(1, 1, "one file of labelled texts");
  data::LabelledOptions reading = model.options.texts;
  const tasks::LabelledTask& task = *tasks::labelled_task(model.config.task);
  reading.labelling = task.labelling;
  const data::LabelledFile file = data::read_labelled(model.options.data[0], reading);
  if (file.bad.count() > 0) model.streams.err << fmt::format("attend: {}: {}\n", file.path, file.bad.text());
  const auto head = tasks::make_head(model.config, task.task);
  const TargetKind kind = task.kind_for(head->regression());
  const tasks::EncoderReader reader(model.options.model, "evaluate", head->texts());
  nn::Parameters parameters(model.backend, head->parameters(),
                            checkpoint::run_options(model.options.model, model.options.format()));
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(model.options.model), parameters,
                                {.prefix = std::string(model.config.entry->prefix)});
  const train::EncodedTexts encoded = train::encode_texts(reader, file, kind, labels_for(*head, file, kind));
  if (encoded.cut > 0)
    model.streams.err << fmt::format("attend: {} texts are longer than {} tokens and were cut\n",
                                     with_commas(encoded.cut), reader.longest());
  train::HeadBatches batches(model.backend, reader, kind);
  const auto evaluate = train::make_evaluator(kind, file.texts, head->labels());
  evaluate_examples({*head, reader, model.backend, kind, static_cast<std::size_t>(model.options.batch)},
                    encoded.examples, batches, *evaluate);
  const train::Validation verdict = evaluate->result();
  const train::EvaluationDetails details = evaluate->details();
  Evaluation result{.json = verdict.json};
  result.json["texts"] = file.texts.size();
  result.json.update(details.json);
  result.text = fmt::format("{} texts: {}", with_commas(static_cast<std::int64_t>(file.texts.size())), verdict.text);
  result.table = details.table;
  for (const train::EvaluatedText& wrong : details.wrong) {
    const data::LabelledText& text = file.texts[wrong.source];
    const std::string shown = shown_text(text);
    result.worst.push_back({wrong.badness,
                            {{"line", text.line}, {"text", shown}, {"said", wrong.said}, {"truth", wrong.should}},
                            fmt::format("{}:{}: {}\n  said       {}\n  should be  {}", file.path, text.line, shown,
                                        wrong.said, wrong.should)});
  }
  return result;
}

}  // namespace attend::cli
