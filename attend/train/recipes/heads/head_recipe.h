// Everything that decides a run on labelled texts: a head on a pre-trained model (Devlin et al. 2019, section 4), or,
// without one, on a new model that starts from random weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/recipes/held_out.h"
#include "attend/train/recipes/recipe_json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct HeadRecipe : RunSettings {
  std::string task = "classify";
  std::string from;
  // Of a model from scratch. 0: as the preset says.
  std::string model = "bert", preset = "mini", cell = "lstm", tokenizer;
  std::int64_t vocabulary_size = 8192, width = 0, layers = 0, heads = 0, hidden = 0;
  std::string train, valid, test;
  HeldOutSettings held_out = {};
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
    v("task", task, "What to train.");
    v("from", from,
      "Model folder to fine-tune, from the Hugging Face hub or from attend train. Without it a new model is trained "
      "from scratch, by default for 10 epochs with a learning rate of 0.0005.");
    v("model", model, "Architecture of a model from scratch: bert or rnn.");
    v("cell", cell, "With --model rnn: recurrent cell, tanh, gru or lstm.");
    v("preset", preset,
      "Size of a model from scratch: tiny (2 layers, width 128), mini (4, 256), small (4, 512), medium (8, 512) or "
      "base (12, 768).");
    v("tokenizer", tokenizer, "A tokenizer.json to use. By default a tokenizer is trained on the training texts.");
    v("vocabulary_size", vocabulary_size, "Vocabulary size of the trained tokenizer.");
    v("width", width, "Model width; 0 uses the preset, 128 for an rnn.");
    v("layers", layers, "Number of layers; 0 uses the preset, 1 for an rnn.");
    v("heads", heads, "Attention heads; must divide the width. 0 means one per 64 columns.");
    v("hidden", hidden, "Width of the feed-forward layers; 0 means 4 x width.");
    v("train", train, "Labelled training data: csv, tsv, jsonl, conll (--task tag) or SQuAD json (--task answer).");
    v("valid", valid, "Labelled validation data.");
    held_out.visit(v);
    v("test", test, "Labelled test data, evaluated after training. Results go to test.json in --out.");
    v("format", format, "Format of the data, if the file name does not show it: csv, tsv, jsonl, conll or squad.");
    v("header", header, "The first row of csv and tsv files names the columns. Without it, columns are 1, 2, ...");
    v("text_column", text_column, "Column of the text, the words or the question. Common names are recognised.");
    v("pair_column", pair_column, "Column of the second text, or of the context of a question.");
    v("label_column", label_column, "Column of the label, the tags or the answers.");
    v("label_names", label_names, "Names of the labels, in order. Repeat for each label.");
    v("regression", regression, "Treat labels as numbers to predict, not as classes.");
    v("batch", batch, "Examples per batch.");
    v("max_length", max_length, "Maximum input length in tokens; 0 means the model's maximum, 512 from scratch.");
    v("epochs", epochs, "Passes over the data. Sets --steps when that is 0.");
    v("dropout", dropout, "Dropout; -1 uses the value of the model folder, 0.1 from scratch.");
    v("select", select, "Criterion for the best weights: score or loss.");
    visit_run(v);
  }

  std::vector<UnusedSettings> unused() const {
    if (!from.empty())
      return {
          decided_by_folder({"model", "preset", "tokenizer", "vocabulary_size", "width", "layers", "heads", "hidden"}),
          decided_by_folder({"cell"})};
    if (model == "rnn") return {{{"preset", "heads", "hidden"}, "is for --model bert"}};
    return {{{"cell"}, "is for --model rnn"}};
  }
};

// Zeros stand for what the data decides: steps by epochs, validation and saving once an epoch, and a
// warm-up of -1 for a tenth of the steps.
HeadRecipe resolve_head_recipe(const Json& settings, std::string_view what);
// The recipe with those decided.
HeadRecipe for_texts(HeadRecipe recipe, std::int64_t texts);

}  // namespace attend::train
