// The table of models held against the folders there are: reference models written by transformers, and the shipped
// ones. Each is recognised, its weights are named as the table says, and a command that it is not for names the other.
#include "attend/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/tasks/head.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"

namespace attend::test::catalogue_table {
namespace {

using catalogue::Task;

const std::string kData = "tests/fixtures/data/";
const std::string kAllTypes = "known are " + catalogue::types_of();

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Known {
  std::string folder, type;
  Task task;
};
const std::vector<Known> kKnown = {{kData + "bert_base", "bert", Task::embed},
                                   {kData + "bert_masked_lm", "bert", Task::fill},
                                   {kData + "bert_pretraining", "bert", Task::fill},
                                   {kData + "bert_classify", "bert", Task::classify},
                                   {kData + "bert_tag", "bert", Task::tag},
                                   {kData + "bert_qa", "bert", Task::answer},
                                   {kData + "roberta_masked_lm", "roberta", Task::fill},
                                   {kData + "roberta_classify", "roberta", Task::classify},
                                   {kData + "distilbert_classify", "distilbert", Task::classify},
                                   {kData + "gpt2", "gpt2", Task::generate},
                                   {kData + "marian", "marian", Task::translate},
                                   {kData + "resnet", "resnet", Task::classify_images},
                                   {kData + "detr", "detr", Task::detect},
                                   {"models/en-fr", "transformer", Task::translate}};

TEST(Catalogue, KnowsWhatAFolderIsFor) {
  for (const Known& known : kKnown) {
    const catalogue::ModelConfig model = catalogue::read_config(known.folder);
    EXPECT_EQ(model.entry->type, known.type) << known.folder;
    EXPECT_EQ(name_of(model.task), name_of(known.task)) << known.folder;
    EXPECT_TRUE(model.does(known.task));
  }
}

// Older folders say neither what they are nor which head they have: the names of their tensors do.
TEST(Catalogue, TensorNamesTellWhatAConfigDoesNot) {
  for (const Known& known : kKnown) {
    const bool unnamed = known.task == Task::embed;  // a body alone has no prefix
    if (known.task == Task::translate) continue;
    const ChangedFolder folder(known.folder);
    folder.set("architectures", nullptr);
    if (!unnamed) folder.set("model_type", nullptr);
    const catalogue::ModelConfig model = catalogue::read_config(folder.path());
    EXPECT_EQ(model.entry->type, known.type) << known.folder;
    EXPECT_EQ(name_of(model.task), name_of(known.task)) << known.folder;
  }
}

// Whatever head it has, a model of BERT's family embeds and GPT-2 generates.
TEST(Catalogue, AModelDoesWhatItsBodyDoes) {
  EXPECT_NO_THROW(catalogue::read_config(kData + "bert_tag", Task::embed));
  const ChangedFolder classifier(kData + "gpt2");
  classifier.set("architectures", Json::array({"GPT2ForSequenceClassification"}));
  EXPECT_EQ(catalogue::read_config(classifier.path()).task, Task::classify);
  EXPECT_NO_THROW(catalogue::read_config(classifier.path(), Task::generate));
}

// In files of models with a head the body's tensors are under the prefix; transformers wrote these.
TEST(Catalogue, PrefixesAreThoseOfTheFiles) {
  for (const Known& known : kKnown) {
    const catalogue::Entry& entry = *catalogue::read_config(known.folder).entry;
    if (entry.prefix.empty() || known.task == Task::embed) continue;
    const checkpoint::Safetensors file = checkpoint::Safetensors::open(known.folder + "/model.safetensors");
    const auto under = std::ranges::count_if(file.tensors(), [&](const checkpoint::StoredTensor& tensor) {
      return tensor.name.starts_with(std::string(entry.prefix) + ".");
    });
    EXPECT_GT(2 * under, static_cast<std::ptrdiff_t>(file.tensors().size())) << known.folder;
  }
}

TEST(Catalogue, InputMajorMatricesAreThoseOfTheFile) {
  const catalogue::ModelConfig model = catalogue::read_config(kData + "gpt2");
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(kData + "gpt2/model.safetensors");
  const auto width = model.json["n_embd"].get<std::int64_t>();
  int found = 0;
  for (const checkpoint::StoredTensor& tensor : file.tensors())
    if (tensor.name.ends_with("attn.c_attn.weight")) {
      ++found;
      EXPECT_NE(tensor.name.find(model.entry->input_major), std::string::npos);
      EXPECT_EQ(tensor.shape, (Shape{width, 3 * width}));
    }
  EXPECT_GT(found, 0);
  for (const catalogue::Entry& entry : catalogue::entries())
    EXPECT_EQ(entry.input_major.empty(), entry.type != "gpt2" && entry.body != Task::describe) << entry.type;
}

TEST(Catalogue, EveryEntryIsWhole) {
  std::set<std::string_view> types;
  for (const catalogue::Entry& entry : catalogue::entries()) {
    EXPECT_TRUE(types.insert(entry.type).second) << entry.type << " is there twice";
    EXPECT_NE(entry.check, nullptr) << entry.type;
    const bool translates = entry.body == Task::translate;
    EXPECT_EQ(entry.translator.make != nullptr, translates) << entry.type;
    EXPECT_EQ(entry.translator.load != nullptr, translates) << entry.type;
    EXPECT_EQ(entry.translator.start != nullptr, translates) << entry.type;
    EXPECT_EQ(catalogue::find({{"model_type", std::string(entry.type)}}), &entry);
  }
}

TEST(Catalogue, UnknownTypesNameThoseThereAre) {
  const auto message = [](const Json& config) {
    return message_of([&] { catalogue::describe(config, "folder/config.json"); });
  };
  const std::string unknown = message({{"model_type", "elmo"}});
  EXPECT_TRUE(unknown.starts_with("folder/config.json: model_type 'elmo' is not known; " + kAllTypes)) << unknown;
  for (const Json& config : {Json::object(), Json::array(), Json("bert")})
    EXPECT_NE(message(config).find("folder/config.json: no 'model_type'"), std::string::npos) << message(config);
  EXPECT_NE(message({{"model_type", 3}}).find("model_type '3' is not known"), std::string::npos);
  EXPECT_EQ(catalogue::find({{"model_type", "elmo"}}), nullptr);
}

TEST(Catalogue, ConfigsAreChecked) {
  const ChangedFolder folder(kData + "bert_base");
  folder.set("hidden_size", 7);
  EXPECT_NE(message_of([&] { catalogue::read_config(folder.path()); }).find("config.json: hidden_size"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              catalogue::make_seq2seq({{"model_type", "gpt2"}}, "recipe");
            }).find("recipe: model_type 'gpt2' does not translate; there are marian, transformer, rnn"),
            std::string::npos);
}

struct Wrong {
  std::vector<std::string> words;
  std::string message;
};

TEST(Catalogue, TheWrongCommandNamesTheRightOne) {
  const std::vector<Wrong> cases = {
      {{"translate", "--model", "models/bert"}, "models/bert is a bert for fill; use attend fill"},
      {{"fill", "--model", "models/shakespeare"}, "models/shakespeare is a gpt2 for generate; use attend generate"},
      {{"embed", "--model", "models/en-fr"}, "models/en-fr is a transformer for translate; use attend translate"},
      {{"classify", "--model", kData + "bert_tag"}, "is a bert for tag; use attend tag (it is a BertForTokenClass"},
      {{"tag", "--model", kData + "marian"}, "is a marian for translate; use attend translate"},
      {{"generate", "--model", kData + "bert_qa", "a"}, "is a bert for answer; use attend answer"}};
  for (const Wrong& wrong : cases) {
    const Outcome outcome = run_attend(wrong.words, "a\n");
    EXPECT_EQ(outcome.code, 1) << wrong.words[0];
    EXPECT_NE(outcome.err.find(wrong.words[0] + ": "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(wrong.message), std::string::npos) << outcome.err;
  }
}

TEST(Catalogue, InfoSaysWhatAFolderIsFor) {
  EXPECT_EQ(Json::parse(run_attend({"info", "models/bert-sst2", "--json"}).out)["use"], "attend classify");
  const ChangedFolder folder(kData + "bert_base");
  folder.set("model_type", "elmo");
  const Outcome outcome = run_attend({"info", folder.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(kAllTypes), std::string::npos) << outcome.out;
}

// GPT-2's classifier is itself: no token types, positions from 0, labels of its own config.
TEST(Catalogue, HeadsAreThoseOfTheFamily) {
  const ChangedFolder folder(kData + "gpt2");
  folder.set("architectures", Json::array({"GPT2ForSequenceClassification"}));
  folder.set("id2label", {{"0", "bad"}, {"1", "good"}, {"2", "fair"}});
  const catalogue::ModelConfig model = catalogue::read_config(folder.path());
  const auto head = tasks::make_head(model, Task::classify);
  EXPECT_EQ(head->labels(), (std::vector<std::string>{"bad", "good", "fair"}));
  EXPECT_EQ(head->texts().longest, model.json["n_positions"].get<std::int64_t>());
  EXPECT_EQ(head->texts().types, 0);
  EXPECT_EQ(head->config()["architectures"][0], "GPT2ForSequenceClassification");
  EXPECT_NE(message_of([&] { tasks::make_head(model, Task::tag); }).find("only a head for labels"), std::string::npos);
  EXPECT_NE(message_of([&] {
              tasks::make_head(catalogue::read_config("models/en-fr"), Task::classify);
            }).find("a transformer is for translate and takes no head"),
            std::string::npos);

  const auto roberta = tasks::make_head(catalogue::read_config(kData + "roberta_classify"), Task::classify);
  const catalogue::ModelConfig config = catalogue::read_config(kData + "roberta_classify");
  const auto pad = config.json["pad_token_id"].get<std::int64_t>();
  EXPECT_EQ(roberta->texts().first_position, pad + 1);
  EXPECT_EQ(roberta->texts().longest, config.json["max_position_embeddings"].get<std::int64_t>() - pad - 1);
}

}  // namespace
}  // namespace attend::test::catalogue_table
