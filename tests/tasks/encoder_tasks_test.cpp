// fill, classify, tag, answer and embed with small random models in Hugging Face folders: what they say is what a
// forward pass of the text alone says, whatever the batch, and offsets lead back to the text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/cli/program.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/tagger.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kEncoderLines = {
    "The quick brown fox jumps over the lazy dog.", "Attention!", "",
    "A model of language, z\xC3\xBCrich and words", "the dog",    "a b c d e f g"};

class Encoders : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("attend_encoders_" + std::to_string(getpid()));
    models::BertConfig config{.vocabulary = 1804, .max_length = 64, .width = 32, .layers = 2, .heads = 2, .hidden = 48};
    save<models::MaskedLanguageModel>("fill", config);
    save<models::QuestionAnswerer>("answer", config);
    config.labels = {"bad", "fair", "good"};
    save<models::SequenceClassifier>("classify", config);
    save<models::TokenTagger>("tag", config);
    config.family = models::BertFamily::distilbert;
    save<models::SequenceClassifier>("distilled", config);
    config.labels = {"score"}, config.problem = models::ProblemType::regression,
    config.family = models::BertFamily::bert;
    save<models::SequenceClassifier>("number", config);
    models::BertConfig roberta{.family = models::BertFamily::roberta, .vocabulary = 2000, .max_length = 66, .types = 1};
    roberta.width = 32, roberta.layers = 2, roberta.heads = 2, roberta.hidden = 48, roberta.pad = 1;
    save<models::MaskedLanguageModel>("roberta", roberta, "bytelevel_bpe_roberta");
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  template <class Model>
  static void save(const char* name, const models::BertConfig& config,
                   const std::string& tokenizer = "wordpiece_cased") {
    Model model(config);
    nn::Parameters parameters(cpu(), model, {.seed = 3, .trained = false});
    // Large weights, so that answers differ.
    for (const auto& entry : parameters.entries()) {
      std::vector<float> values = parameters.read(entry);
      if (entry.parameter->shape.rank() > 1)
        for (float& value : values) value *= 8;
      parameters.write(entry, values);
    }
    checkpoint::save_hugging_face(folder_ / name, parameters, model.config());
    fs::copy_file("tests/fixtures/data/text/" + tokenizer + ".tokenizer.json", folder_ / name / "tokenizer.json");
  }

  static tasks::EncoderModel<models::SequenceClassifier> classifier_model(const char* name) {
    return {folder_ / name, "test", catalogue::Task::classify, cpu(), DType::f32};
  }

  // The states of one text alone, in a padded batch of one: [1, T, C].
  template <class Model>
  static Tensor states_of(const tasks::EncoderModel<Model>& encoder, const text::Encoding& text, Pass& pass) {
    const Shape shape{1, static_cast<std::int64_t>(text.ids.size())};
    const auto tensor = [&](const std::vector<std::int32_t>& values) {
      const Tensor made = make_tensor(cpu(), shape, DType::i32);
      upload(made, values);
      return pass.input(made);
    };
    const std::vector<std::int32_t> ids(text.ids.begin(), text.ids.end());
    const models::BertConfig& config = encoder.model().body().config();
    models::BertInput input{{.ids = tensor(ids)}};
    if (config.types > 1 && !config.distilled()) input.types = tensor(text.type_ids);
    if (config.family == models::BertFamily::roberta)
      input.texts.positions = tensor(models::roberta_positions(ids, shape[1], static_cast<std::int32_t>(config.pad)));
    return encoder.model().body().states(input);
  }

  static std::vector<double> probabilities(std::vector<float> logits, std::size_t begin, std::size_t count) {
    std::vector<double> values;
    double sum = 0;
    for (std::size_t i = begin; i < begin + count; ++i) sum += std::exp(static_cast<double>(logits[i]));
    for (std::size_t i = begin; i < begin + count; ++i)
      values.push_back(std::exp(static_cast<double>(logits[i])) / sum);
    return values;
  }

  static int run(const std::vector<std::string>& args, const std::string& text = {}) {
    std::istringstream in(text);
    out_ = {}, err_ = {};
    return cli::run_program(args, {.in = in, .out = out_, .err = err_});
  }

  static inline fs::path folder_;
  static inline std::ostringstream out_, err_;
};

TEST_F(Encoders, ClassifySaysWhatAForwardPassSays) {
  for (const char* name : {"classify", "distilled"}) {
    const tasks::Classifier classifier(folder_ / name, cpu());
    const auto encoder = classifier_model(name);
    const auto results = classifier.classify(kEncoderLines, {.top_k = 0});
    ASSERT_EQ(results.size(), kEncoderLines.size());
    for (std::size_t i = 0; i < kEncoderLines.size(); ++i) {
      Pass pass(cpu());
      const text::Encoding text = encoder.reader().tokenizer().encode(kEncoderLines[i]);
      const Tensor states = states_of(encoder, text, pass);
      const auto wanted = probabilities(download(encoder.model().logits(states, {.ids = states})), 0, 3);
      ASSERT_EQ(results[i].labels.size(), 3u);
      for (const tasks::ClassLabel& label : results[i].labels) {
        const std::size_t index = label.label == "bad" ? 0 : label.label == "fair" ? 1 : 2;
        EXPECT_NEAR(label.probability, wanted[index], 1e-5) << name << ' ' << i;
      }
      EXPECT_TRUE(std::ranges::is_sorted(results[i].labels, std::ranges::greater(), &tasks::ClassLabel::probability));
    }
  }
}

// Bit for bit on arm64; on x86-64 products of few rows have an order of their own.
#if defined(__aarch64__)
constexpr double kBatchRounding = 0;
#else
constexpr double kBatchRounding = 1e-6;
#endif

TEST_F(Encoders, TheBatchChangesNothing) {
  const tasks::Classifier classifier(folder_ / "classify", cpu());
  const auto together = classifier.classify(kEncoderLines),
             alone = classifier.classify(kEncoderLines, {.batching = {.batch = 1}});
  for (std::size_t i = 0; i < kEncoderLines.size(); ++i) {
    EXPECT_EQ(together[i].labels[0].label, alone[i].labels[0].label);
    EXPECT_NEAR(together[i].labels[0].probability, alone[i].labels[0].probability, kBatchRounding);
  }
}

TEST_F(Encoders, ATabMakesAPair) {
  const tasks::Classifier classifier(folder_ / "classify", cpu());
  const std::vector<std::string> lines = {"the dog\ta b c"};
  const auto result = classifier.classify(lines, {.top_k = 0});
  Pass pass(cpu());
  const auto encoder = classifier_model("classify");
  const text::Encoding pair = encoder.reader().tokenizer().encode_pair("the dog", "a b c");
  ASSERT_EQ(*std::ranges::max_element(pair.type_ids), 1);
  const Tensor states = states_of(encoder, pair, pass);
  const auto wanted = probabilities(download(encoder.model().logits(states, {.ids = states})), 0, 3);
  EXPECT_NEAR(result[0].labels[0].probability, *std::ranges::max_element(wanted), 1e-5);
}

TEST_F(Encoders, ANumberIsPrintedAsItIs) {
  const tasks::Classifier classifier(folder_ / "number", cpu());
  EXPECT_TRUE(classifier.regression());
  EXPECT_TRUE(classifier.classify(kEncoderLines)[0].labels.empty());
  ASSERT_EQ(run({"classify", "--model", (folder_ / "number").string(), "--json"}, "the dog\n"), 0) << err_.str();
  EXPECT_TRUE(parse_json(out_.str(), "out").contains("score"));
}

TEST_F(Encoders, FillAnswersEveryMask) {
  for (const auto& [name, mask] : {std::pair{"fill", "[MASK]"}, {"roberta", "<mask>"}}) {
    const tasks::Filler filler(folder_ / name, cpu());
    EXPECT_EQ(filler.mask(), mask);
    const std::vector<std::string> lines = {"the " + std::string(mask) + " of " + mask + ".",
                                            std::string(mask) + " is a longer text than the other one"};
    const auto filled = filler.fill(lines, {.top_k = 3});
    const text::Tokenizer& tokenizer = filler.encoder().reader().tokenizer();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      Pass pass(cpu());
      const text::Encoding text = tokenizer.encode(lines[i]);
      const Tensor states = states_of(filler.encoder(), text, pass);
      const auto logits = download(filler.encoder().model().logits(states));
      const auto width = static_cast<std::size_t>(filler.encoder().config().vocabulary);
      std::size_t number = 0;
      for (std::size_t token = 0; token < text.ids.size(); ++token) {
        if (text.tokens[token] != mask) continue;
        const auto wanted = probabilities(logits, token * width, static_cast<std::size_t>(tokenizer.id_limit()));
        const auto best = std::ranges::max_element(wanted);
        ASSERT_EQ(filled[i].at(number).size(), 3u);
        EXPECT_EQ(filled[i][number][0].id, best - wanted.begin()) << name;
        EXPECT_NEAR(filled[i][number][0].probability, *best, 1e-5);
        EXPECT_NEAR(filled[i][number][2].probability, wanted[static_cast<std::size_t>(filled[i][number][2].id)], 1e-5);
        ++number;
      }
      EXPECT_EQ(number, filled[i].size());
    }
    EXPECT_EQ(filler.complete(lines[0], filled[0], 1, 2),
              "the " + filled[0][0][0].token + " of " + filled[0][1][2].token + ".");
  }
  ASSERT_EQ(run({"fill", "--model", (folder_ / "fill").string(), "--top-k", "2"}, "the [MASK] dog\n"), 0) << err_.str();
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 3);
  EXPECT_EQ(run({"fill", "--model", (folder_ / "fill").string()}, "the [MASK]\nno mask\n"), 1);
  EXPECT_NE(err_.str().find("line 2 has no [MASK]"), std::string::npos) << err_.str();
}

TEST_F(Encoders, TagLabelsWordsAndLeadsBackToTheText) {
  const tasks::Tagger tagger(folder_ / "tag", cpu());
  const auto results = tagger.tag(kEncoderLines);
  EXPECT_TRUE(results[2].empty());
  for (std::size_t i = 0; i < kEncoderLines.size(); ++i) {
    Pass pass(cpu());
    const text::Encoding text = tagger.encoder().reader().tokenizer().encode(kEncoderLines[i]);
    const auto logits = download(tagger.encoder().model().logits(states_of(tagger.encoder(), text, pass)));
    std::size_t word = 0;
    for (std::size_t token = 1; token + 1 < text.ids.size(); ++token) {
      if (text.tokens[token].starts_with("##")) continue;
      const auto wanted = probabilities(logits, token * 3, 3);
      const auto best = std::ranges::max_element(wanted);
      ASSERT_LT(word, results[i].size());
      EXPECT_EQ(results[i][word].label, (std::vector<std::string>{"bad", "fair", "good"})[best - wanted.begin()]);
      EXPECT_NEAR(results[i][word].probability, *best, 1e-5);
      EXPECT_EQ(results[i][word].span.begin, text.offsets[token].begin);
      ++word;
    }
    EXPECT_EQ(word, results[i].size());
    // Side by side, the words are the line without its spaces.
    std::string joined, line = kEncoderLines[i];
    for (const tasks::TaggedWord& each : results[i]) joined += each.word;
    std::erase(line, ' ');
    EXPECT_EQ(joined, line);
  }
  ASSERT_EQ(run({"tag", "--model", (folder_ / "tag").string(), "--json"}, kEncoderLines[3] + "\n"), 0) << err_.str();
  const Json json = parse_json(out_.str(), "out");
  EXPECT_EQ(json["words"].size(), results[3].size());
  EXPECT_EQ(json["words"].back()["end"], 37);  // in characters, not bytes
}

TEST_F(Encoders, AnswerIsTheBestSpanOfTheContext) {
  const tasks::Answerer answerer(folder_ / "answer", cpu());
  const std::string question = "the dog", context = "A fox in z\xC3\xBCrich jumps over the lazy dog.";
  Pass pass(cpu());
  const text::Encoding text = answerer.encoder().reader().tokenizer().encode_pair(question, context);
  const auto logits = download(answerer.encoder().model().logits(states_of(answerer.encoder(), text, pass)));
  const std::size_t length = text.ids.size();
  std::size_t first = 0;
  while (text.type_ids[first] == 0) ++first;
  const std::size_t count = length - 1 - first;
  const auto starts = probabilities(logits, first, count), ends = probabilities(logits, length + first, count);
  double best = 0;
  text::Span span;
  for (std::size_t start = 0; start < count; ++start)
    for (std::size_t end = start; end < std::min(count, start + 4); ++end)
      if (starts[start] * ends[end] > best) {
        best = starts[start] * ends[end];
        span = {text.offsets[first + start].begin, text.offsets[first + end].end};
      }
  const auto answers = answerer.answer(question, context, {.top_k = 3, .max_tokens = 4});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].span, span);
  EXPECT_NEAR(answers[0].score, best, 1e-5);
  EXPECT_GE(answers[0].score, answers[1].score);
  for (const tasks::Answer& answer : answers) EXPECT_EQ(answer.text, tasks::characters_of(context, answer.span));
}

TEST_F(Encoders, LongContextsAreReadInOverlappingWindows) {
  const tasks::Answerer answerer(folder_ / "answer", cpu());
  std::string context;
  for (int i = 0; i < 60; ++i) context += "a fox " + std::to_string(i) + " ";
  const auto windows = tasks::answer_windows(answerer.encoder().reader(), "the dog", context, 10);
  ASSERT_GT(windows.size(), 2u);
  const text::Encoding whole = answerer.encoder().reader().tokenizer().encode(context, {.add_special_tokens = false});
  std::uint32_t reached = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& window = windows[i];
    EXPECT_LE(window.ids.size(), 64u);
    EXPECT_LE(window.offsets[window.second.begin].begin, i ? reached : 0u);
    reached = window.offsets[window.second.end - 1].end;
  }
  EXPECT_EQ(reached, whole.offsets.back().end);
  const auto answers = answerer.answer("the dog", context, {.top_k = 5, .overlap = 10});
  for (const tasks::Answer& answer : answers) EXPECT_EQ(answer.text, tasks::characters_of(context, answer.span));
  ASSERT_EQ(run({"answer", "--model", (folder_ / "answer").string(), "--question", "the dog", "--context-text", context,
                 "--json", "--overlap", "10"}),
            0)
      << err_.str();
  EXPECT_EQ(parse_json(out_.str(), "out")["answer"], answers[0].text);
}

TEST_F(Encoders, EmbeddingsArePooledOverTheTokens) {
  const tasks::Embedder embedder(folder_ / "roberta", cpu());
  const auto mean = embedder.embed(kEncoderLines), unit = embedder.embed(kEncoderLines, {.normalize = true}),
             first = embedder.embed(kEncoderLines, {.pooling = tasks::Pooling::cls, .batching = {.batch = 2}}),
             most = embedder.embed(kEncoderLines, {.pooling = tasks::Pooling::max});
  for (std::size_t i = 0; i < kEncoderLines.size(); ++i) {
    Pass pass(cpu());
    const text::Encoding text = embedder.encoder().reader().tokenizer().encode(kEncoderLines[i]);
    const auto states = download(states_of(embedder.encoder(), text, pass));
    double length = 0;
    for (float value : unit[i]) length += static_cast<double>(value) * value;
    EXPECT_NEAR(length, 1, 1e-5);
    for (std::size_t column = 0; column < 32; ++column) {
      double sum = 0, largest = -INFINITY;
      for (std::size_t row = 0; row < text.ids.size(); ++row) {
        sum += states[row * 32 + column];
        largest = std::max(largest, static_cast<double>(states[row * 32 + column]));
      }
      EXPECT_NEAR(mean[i][column], sum / static_cast<double>(text.ids.size()), 1e-4);
      EXPECT_NEAR(first[i][column], states[column], 1e-4);
      EXPECT_NEAR(most[i][column], largest, 1e-4);
    }
  }
}

TEST_F(Encoders, EmbedWritesNumPyAndSimilarities) {
  const std::string npy = (folder_ / "vectors.npy").string(), model = (folder_ / "classify").string();
  ASSERT_EQ(run({"embed", "--model", model, "--npy", npy, "--similarity"}, "the dog\na b c\nthe dog\n"), 0)
      << err_.str();
  const std::string file = read_file(npy);
  const std::size_t header = 10 + static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
  EXPECT_EQ(header % 64, 0u);
  EXPECT_EQ(file.size(), header + 3 * 32 * 4);
  EXPECT_NE(file.find("'shape': (3, 32)"), std::string::npos);
  std::istringstream rows(out_.str());
  std::vector<double> cosines;
  for (double value = 0; rows >> value;) cosines.push_back(value);
  ASSERT_EQ(cosines.size(), 9u);
  EXPECT_NEAR(cosines[0], 1, 1e-4);
  EXPECT_NEAR(cosines[2], 1, 1e-4);
  EXPECT_NEAR(cosines[1], cosines[3], 1e-4);
  EXPECT_LT(cosines[1], 0.999);
  ASSERT_EQ(run({"embed", "--model", model, "--pooling", "max", "--normalize"}, "the dog\n\n"), 0) << err_.str();
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 2);
}

TEST_F(Encoders, LongLinesAreCutWithAWarning) {
  std::string line;
  for (int i = 0; i < 100; ++i) line += "dog ";
  ASSERT_EQ(run({"classify", "--model", (folder_ / "classify").string()}, "a\n" + line + "\n" + line + "\tthe fox\n"),
            0)
      << err_.str();
  EXPECT_NE(err_.str().find("line 2 has "), std::string::npos) << err_.str();
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 3);
  const tasks::Classifier classifier(folder_ / "classify", cpu());
  const tasks::EncoderText pair = classifier.reader().read(line, "the fox", 1, {});
  EXPECT_EQ(pair.ids.size(), 64u);
  EXPECT_EQ(pair.tokens.front(), "[CLS]");
  EXPECT_EQ(pair.tokens.back(), "[SEP]");
  EXPECT_EQ(pair.tokens[pair.first.end], "[SEP]");
  EXPECT_EQ(
      tasks::characters_of("the fox", {pair.offsets[pair.second.begin].begin, pair.offsets[pair.second.end - 1].end}),
      "the fox");  // the longer text is cut
}

TEST_F(Encoders, TheWrongHeadIsNamedWithTheCommandThatFits) {
  EXPECT_EQ(run({"classify", "--model", (folder_ / "tag").string()}, "a\n"), 1);
  EXPECT_NE(err_.str().find("BertForTokenClassification"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("attend tag"), std::string::npos) << err_.str();
  EXPECT_EQ(run({"answer", "--question", "a", "--context-text", "b", "--model", (folder_ / "fill").string()}), 1);
  EXPECT_NE(err_.str().find("attend fill"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace attend::test
