// attend look with GPT-2, BERT, RoBERTa and DistilBERT: what is shown is what the models compute by themselves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/look/api/api.h"
#include "attend/look/api/export.h"
#include "attend/look/inspect/inspect.h"
#include "attend/look/inspect/open.h"
#include "attend/look/inspect/source_lines.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/encoder_model.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/tagger.h"
#include "attend/text/learn/bpe_trainer.h"
#include "tests/tasks/translator_fixture.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

namespace fs = std::filesystem;
using test::cpu;

class LookModels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("attend_look_" + std::to_string(getpid()));
    models::BertConfig config{.vocabulary = 1804, .max_length = 64, .width = 32, .layers = 2, .heads = 2, .hidden = 48};
    save<models::MaskedLanguageModel>("bert", config);
    config.labels = {"bad", "fair", "good"};
    save<models::TokenTagger>("tagger", config);
    save<models::QuestionAnswerer>("answerer", config);
    config.family = models::BertFamily::distilbert;
    save<models::SequenceClassifier>("distilbert", config);
    models::BertConfig roberta{.family = models::BertFamily::roberta, .vocabulary = 2000, .max_length = 66, .types = 1};
    roberta.width = 32, roberta.layers = 2, roberta.heads = 2, roberta.hidden = 48, roberta.pad = 1;
    save<models::MaskedLanguageModel>("roberta", roberta, "bytelevel_bpe_roberta");
    roberta.family = models::BertFamily::xlm_roberta;
    save<models::MaskedLanguageModel>("xlm-roberta", roberta, "bytelevel_bpe_roberta");

    text::BpeTrainer trainer({.vocabulary_size = 300, .special_tokens = {"<|endoftext|>"}, .threads = 1});
    trainer.add_text(test::kText);
    const text::TrainedBpe trained = trainer.train();
    const auto size = static_cast<std::int64_t>(trained.tokens.size());
    models::GPT2LanguageModel gpt2(
        {.vocabulary = size + 4, .max_length = 48, .width = 32, .layers = 2, .heads = 2, .start = 0, .end = 0});
    save_model("gpt2", gpt2, text::to_tokenizer_json(trained));
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  template <class Model>
  static void save(const char* name, const models::BertConfig& config,
                   const std::string& tokenizer = "wordpiece_cased") {
    Model model(config);
    save_model(name, model, read_file("tests/fixtures/data/text/" + tokenizer + ".tokenizer.json"));
  }
  template <class Model>
  static void save_model(const char* name, Model& model, const std::string& tokenizer) {
    nn::Parameters parameters(cpu(), model, {.seed = 3, .trained = false});
    // Large weights, so that answers differ; norms and biases that are not what they start from.
    std::uint32_t number = 0;
    for (const auto& entry : parameters.entries()) {
      std::vector<float> values = parameters.read(entry);
      for (float& value : values)
        value = entry.parameter->shape.rank() > 1 ? 8 * value : value + 0.1f * std::sin(static_cast<float>(++number));
      parameters.write(entry, values);
    }
    checkpoint::save_hugging_face(folder_ / name, parameters, model.config());
    write_file(folder_ / name / "tokenizer.json", tokenizer);
  }

  static std::unique_ptr<Inspector> open(const char* name) { return open_inspector(folder_ / name, cpu(), DType::f32); }
  static inline fs::path folder_;
};

// The attention shown is the attention used, in every layer of every model: the walk, op by op, has the weights that
// the probe saw, and its sum of values is what the fused kernel wrote.
TEST_F(LookModels, TheWalkAgreesWithTheFusedKernels) {
  for (const char* name : {"gpt2", "bert", "tagger", "distilbert", "roberta"}) {
    SCOPED_TRACE(name);
    const auto inspector = open(name);
    const std::string text = "the house is blue";
    const Inspection seen = inspector->inspect(text);
    ASSERT_EQ(seen.attention.size(), 2u);
    for (const SeenAttention& layer : seen.attention) {
      const std::size_t token = layer.rows / 2;
      const view::Trace trace =
          inspector->trace({text, seen.target_ids, layer.place, 1, static_cast<std::int64_t>(token)});
      const std::vector<float>& weights = trace.at("softmax").values;
      ASSERT_EQ(weights.size(), layer.columns);
      for (std::size_t i = 0; i < layer.columns; ++i)
        EXPECT_NEAR(weights[i], layer.weights[(layer.rows + token) * layer.columns + i], 2e-5);
      const std::vector<float>&mixed = trace.at("weights·v").values, &fused = trace.at("concat").values;
      for (std::size_t i = 0; i < mixed.size(); ++i) EXPECT_NEAR(mixed[i], fused[mixed.size() + i], 2e-5);
    }
    const std::string stack = seen.attention[0].place.stack;
    EXPECT_EQ(inspector->trace({text, seen.target_ids, {stack, "self", 0}, 0, 1}).at("next layer").values,
              inspector->trace({text, seen.target_ids, {stack, "self", 1}, 0, 1}).at("x").values);
  }
}

TEST_F(LookModels, ALanguageModelGoesOnAsItGenerates) {
  const auto inspector = open("gpt2");
  tasks::Generator generator(folder_ / "gpt2", cpu(), DType::f32);
  const Inspection seen = inspector->inspect("He is", {.tokens = 9});
  EXPECT_EQ(seen.text, generator.generate("He is", {.max_tokens = 9, .top_k = 1})[0].text);
  ASSERT_EQ(seen.steps.size(), seen.target_ids.size());
  // Another candidate, and on from there.
  const Inspection other = inspector->inspect("He is", {.tokens = 9, .prefix = {{seen.steps[0].candidates[1].id}}});
  EXPECT_EQ(other.target_ids[0], seen.steps[0].candidates[1].id);
  EXPECT_NEAR(other.steps[0].probability, seen.steps[0].candidates[1].probability, 1e-6);
  // Rows of attention sum to 1 and see nothing behind them.
  const SeenAttention& layer = seen.attention[1];
  ASSERT_EQ(layer.rows, seen.source_ids.size() + seen.target_ids.size());
  for (std::size_t r = 0; r < layer.rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < layer.columns; ++c) {
      sum += layer.weights[r * layer.columns + c];
      EXPECT_TRUE(c <= r || layer.weights[r * layer.columns + c] == 0.0f);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_THROW(inspector->inspect("He is", {.tokens = 0}), Error);
  EXPECT_THROW(inspector->inspect("He is", {.prefix = {{9999}}}), Error);
  EXPECT_THROW(inspector->inspect(std::string(400, 'x')), Error);
}

// Hiding the first tokens of a prompt is asking about the rest of it, at the places where it stood.
TEST_F(LookModels, HidingAndPositionsChangeALanguageModelAndLeaveNoTrace) {
  const auto inspector = open("gpt2");
  const std::string text = "la maison est bleue";
  const Inspection plain = inspector->inspect(text);
  const Inspection hidden = inspector->inspect(text, {.ablation = {.masked = {1}}});
  for (std::size_t r = 0; r < hidden.attention[0].rows; ++r)
    EXPECT_EQ(hidden.attention[0].weights[r * hidden.attention[0].columns + 1], 0.0f);
  EXPECT_NE(hidden.steps[0].probability, plain.steps[0].probability);
  EXPECT_NE(inspector->inspect(text, {.ablation = {.positions = false}}).steps[0].probability,
            plain.steps[0].probability);
  const Ablation both = {.heads = {{{"decoder", "self", 1}, 0, 0.5f}}, .layers = {{"decoder", 0}}};
  EXPECT_NE(inspector->inspect(text, {.ablation = both}).steps[0].probability, plain.steps[0].probability);
  const Inspection again = inspector->inspect(text);
  EXPECT_EQ(again.target_ids, plain.target_ids);
  EXPECT_EQ(again.attention[1].weights, plain.attention[1].weights);
  EXPECT_THROW(inspector->inspect(text, {.ablation = {.layers = {{"encoder", 0}}}}), Error);
}

// A head that is off is a model whose file has zeros where W_O reads it. GPT-2 keeps W_O as [in, out], BERT as [out,
// in].
TEST_F(LookModels, AHeadThatIsOffIsOneWithoutWeights) {
  const auto edited = [](nn::Parameters& parameters, const std::string& name, bool input_major) {
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if (entry.name == name) {
        std::vector<float> values = parameters.read(entry);
        for (std::size_t i = 0; i < 32; ++i)
          for (std::size_t input = 16; input < 32; ++input) values[input_major ? input * 32 + i : i * 32 + input] = 0;
        parameters.write(entry, values);
      }
  };
  const nn::ModelFormat plain(DType::f32, nn::WeightForm::plain);  // what is packed cannot be saved
  tasks::Generator gpt2(folder_ / "gpt2", cpu(), plain);
  edited(gpt2.parameters(), "transformer.h.1.attn.c_proj.weight", true);
  checkpoint::save_hugging_face(folder_ / "gpt2_edited", gpt2.parameters(), gpt2.model().config());
  tasks::EncoderModel<models::MaskedLanguageModel> bert(folder_ / "bert", "test", catalogue::Task::fill, cpu(), plain);
  edited(bert.parameters(), "bert.encoder.layer.1.attention.output.dense.weight", false);
  checkpoint::save_hugging_face(folder_ / "bert_edited", bert.parameters(), bert.model().config());
  for (const std::string name : {"gpt2", "bert"}) {
    fs::copy_file(folder_ / name / "tokenizer.json", folder_ / (name + "_edited") / "tokenizer.json");
    const auto whole = open(name.c_str()), without = open((name + "_edited").c_str());
    const std::string text = "the [MASK] is blue", stack = name == "gpt2" ? "decoder" : "encoder";
    const Inspection off = whole->inspect(text, {.ablation = {.heads = {{{stack, "self", 1}, 1, 0.0f}}}});
    const Inspection expected = without->inspect(text);
    EXPECT_EQ(off.target_ids, expected.target_ids);
    EXPECT_EQ(off.steps.at(0).probability, expected.steps.at(0).probability);
    EXPECT_NE(off.steps.at(0).probability, whole->inspect(text).steps.at(0).probability);
  }
}

// Tensors of XLM-RoBERTa are called as RoBERTa's are: its type is not their prefix.
TEST_F(LookModels, HeadsAreFoundUnderThePrefixOfTheFile) {
  for (const char* name : {"roberta", "xlm-roberta"}) {
    const auto inspector = open(name);
    const std::string text = "the <mask> is blue";
    const Inspection off = inspector->inspect(text, {.ablation = {.heads = {{{"encoder", "self", 1}, 1, 0.0f}}}});
    EXPECT_NE(off.steps.at(0).probability, inspector->inspect(text).steps.at(0).probability) << name;
  }
}

TEST_F(LookModels, MasksAreFilledAsFillFillsThem) {
  for (const auto& [name, mask] : {std::pair{"bert", "[MASK]"}, {"roberta", "<mask>"}}) {
    SCOPED_TRACE(name);
    const auto inspector = open(name);
    EXPECT_EQ(inspector->card().mask, mask);
    const tasks::Filler filler(folder_ / name, cpu());
    const std::vector<std::string> lines = {"the " + std::string(mask) + " is " + mask + " here"};
    const tasks::FilledLine filled = filler.fill(lines, {.top_k = 8})[0];
    const Inspection seen = inspector->inspect(lines[0]);
    ASSERT_EQ(seen.steps.size(), 2u);
    for (std::size_t m = 0; m < 2; ++m)
      for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(seen.steps[m].candidates[i].id, filled[m][i].id);
        EXPECT_NEAR(seen.steps[m].candidates[i].probability, filled[m][i].probability, 1e-5);
      }
    // With the first one chosen, the second is asked again.
    const std::int32_t other = seen.steps[0].candidates[2].id;
    const Inspection chosen = inspector->inspect(lines[0], {.prefix = {{other}}});
    EXPECT_EQ(chosen.steps[0].chosen, other);
    EXPECT_NEAR(chosen.steps[0].probability, seen.steps[0].candidates[2].probability, 1e-5);
    EXPECT_NE(chosen.steps[1].candidates[0].probability, seen.steps[1].candidates[0].probability);
    EXPECT_TRUE(inspector->inspect("nothing hidden").steps.empty());
    EXPECT_THROW(inspector->inspect("nothing hidden", {.prefix = {{3}}}), Error);
  }
}

TEST_F(LookModels, AClassifierSaysWhatClassifySays) {
  const auto inspector = open("distilbert");
  const tasks::Classifier classifier(folder_ / "distilbert", cpu());
  const std::vector<std::string> lines = {"The quick brown fox"};
  const tasks::Classified expected = classifier.classify(lines, {.top_k = 0})[0];
  const Inspection seen = inspector->inspect(lines[0]);
  ASSERT_EQ(seen.steps.size(), 1u);
  ASSERT_EQ(seen.steps[0].candidates.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(seen.steps[0].candidates[i].text, expected.labels[i].label);
    EXPECT_NEAR(seen.steps[0].candidates[i].probability, expected.labels[i].probability, 1e-5);
  }
}

TEST_F(LookModels, ATaggerSaysWhatTagSays) {
  const auto inspector = open("tagger");
  const tasks::Tagger tagger(folder_ / "tagger", cpu());
  const std::vector<std::string> lines = {"The quick br\u00f6wn fox in Z\u00fcrich!"};
  const tasks::TaggedLine expected = tagger.tag(lines)[0];
  const Inspection seen = inspector->inspect(lines[0]);
  ASSERT_EQ(seen.steps.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(seen.target[i], expected[i].label);
    EXPECT_EQ(seen.steps[i].span, expected[i].span);
    EXPECT_NEAR(seen.steps[i].probability, expected[i].probability, 1e-5);
    EXPECT_NE(seen.text.find(expected[i].word + " " + expected[i].label), std::string::npos) << seen.text;
  }
}

TEST_F(LookModels, AnAnswererSaysWhatAnswerSays) {
  const auto inspector = open("answerer");
  const tasks::Answerer answerer(folder_ / "answerer", cpu());
  const std::string question = "Where is Z\u00fcrich?", context = "The fox is in Z\u00fcrich, the dog is not.";
  const std::vector<tasks::Answer> expected = answerer.answer(question, context, {.top_k = 8});
  const Inspection seen = inspector->inspect(question + " " + context);
  ASSERT_EQ(seen.steps.size(), 1u);
  const std::vector<Candidate>& found = seen.steps[0].candidates;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].text, expected[i].text);
    EXPECT_NEAR(found[i].probability, expected[i].score, 1e-6);
    EXPECT_EQ(found[i].span.begin, expected[i].span.begin + 17);  // characters of the question and the space
  }
  // What is hidden answers nothing.
  InspectOptions options;
  const auto place = seen.steps[0].place;
  options.ablation.masked = {place};
  EXPECT_NE(inspector->inspect(question + " " + context, options).steps[0].place, place);
}

// Without positions an encoder cannot tell one order from another (permutation equivariance).
TEST_F(LookModels, WithoutPositionsOrderDoesNotMatterToAnEncoder) {
  const InspectOptions options{.ablation = {.positions = false}};
  const auto inspector = open("distilbert");
  const auto first = inspector->inspect("the dog a fox", options),
             second = inspector->inspect("a fox the dog", options);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(first.steps[0].candidates[i].probability, second.steps[0].candidates[i].probability, 1e-5);
  EXPECT_GT(std::fabs(inspector->inspect("the dog a fox").steps[0].probability -
                      inspector->inspect("a fox the dog").steps[0].probability),
            1e-5);
}

TEST_F(LookModels, ThePageKnowsWhatItLooksAt) {
  for (const auto& [name, kind] : {std::pair{"gpt2", "language-model"},
                                   {"bert", "masked-lm"},
                                   {"roberta", "masked-lm"},
                                   {"distilbert", "classification"},
                                   {"tagger", "tagging"}}) {
    const auto inspector = open(name);
    Api api({.inspector = inspector.get()}, {.name = name});
    EXPECT_EQ(api.model().at("kind"), kind);
    EXPECT_EQ(api.model().at("positions"), "learned");
    const Json positions = api.positions();
    EXPECT_EQ(positions.at("rows").at(1).size(), 32u);
    EXPECT_NE(exported_page(api, "the house").find(kind), std::string::npos);
  }
  // Words are tagged, [CLS] and [SEP] and what goes on with a word are not.
  const Inspection tagged = open("tagger")->inspect("the house is");
  EXPECT_EQ(tagged.steps.size(), 3u);
  EXPECT_EQ(tagged.steps.front().place, 1);
}

// RoBERTa's places are counted from behind the padding's, and so are the rows the page shows.
TEST_F(LookModels, PositionsAreThoseTheTokensGet) {
  for (const char* name : {"gpt2", "bert", "roberta", "distilbert"}) {
    const auto inspector = open(name);
    const std::string table = name == std::string("gpt2")
                                  ? "transformer.wpe.weight"
                                  : std::string(name) + ".embeddings.position_embeddings.weight";
    const checkpoint::Safetensors file = checkpoint::Safetensors::open((folder_ / name / "model.safetensors").string());
    const std::vector<float> all = file.floats(table);
    const std::size_t first = name == std::string("roberta") ? 2 * 32 : 0;
    const std::vector<float> shown = inspector->positions(5).values;
    ASSERT_EQ(shown.size(), 5u * 32u);
    for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i], all[first + i]);
  }
}

// The lines of code that a walk names hold what they are said to hold.
TEST(SourceLines, AreWhereTheySay) {
  ASSERT_GT(source_lines().size(), 20u);
  for (const SourceLine& line : source_lines()) {
    std::ifstream file{std::string(line.file)};
    std::string text;
    for (int i = 0; i < line.line; ++i) ASSERT_TRUE(std::getline(file, text)) << line.file;
    EXPECT_NE(text.find(line.text), std::string::npos) << line.file << ":" << line.line << " is " << text;
  }
}

}  // namespace
}  // namespace attend::look
