// Everything that decides a run of fine-tuning: a head on a pre-trained model, and labelled texts (Devlin et al. 2019,
// section 4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct HeadRecipe : RunSettings {
  std::string task = "classify";
  std::string from;
  std::string train, valid, test;
  std::string format = "auto";
  bool header = true;
  std::string text_column, pair_column, label_column;
  std::vector<std::string> label_names;
  bool regression = false;
  std::int64_t batch = 32, max_length = 0;
  float epochs = 3;
  float dropout = -1;
  std::string select = "score";

  HeadRecipe() {
    schedule = "linear", learning_rate = 5e-5f, warmup = -1, steps = 0;
    weight_decay = 0.01f, beta2 = 0.999f, epsilon = 1e-8f, average = 1;
    validate_every = 0, save_every = 0, log_every = 50;
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task, "what is trained");
    v("from", from, "a model folder to go on from: of Hugging Face's hub, or one of ours");
    v("train", train, "labelled texts to train on: csv, tsv, jsonl, conll (--task tag) or SQuAD's json (answer)");
    v("valid", valid, "labelled texts to validate on");
    v("test", test, "labelled texts to evaluate the finished model on; test.json in --out has the result");
    v("format", format, "csv, tsv, jsonl, conll or squad, where the file's name does not say so");
    v("header", header, "the first row of csv and tsv names the columns; without, they are 1, 2, ...");
    v("text_column", text_column, "column of the text, the words or the question; found by usual names");
    v("pair_column", pair_column, "column of a second text, or of the context of a question");
    v("label_column", label_column, "column of the label, the tags or the answers");
    v("label_names", label_names, "classify: what to call the labels, in their order; several times");
    v("regression", regression, "classify: labels are numbers to be met, not names");
    v("batch", batch, "texts a batch");
    v("max_length", max_length, "tokens read of a text; 0: as many as the model can");
    v("epochs", epochs, "fine-tuning: times through the texts; decides the steps where those are 0");
    v("dropout", dropout, "fine-tuning: -1 takes what the folder says");
    v("select", select, "fine-tuning: which weights are best: by score or by loss");
    visit_run(v);
  }
};

// Fine-tuning's zeros stand for what the data decides: steps by epochs, validation and saving once an epoch, and a
// warm-up of -1 for a tenth of the steps.
HeadRecipe resolve_head_recipe(const Json& settings, std::string_view what);
// The recipe with those decided.
HeadRecipe for_texts(HeadRecipe recipe, std::int64_t texts);

}  // namespace attend::train
