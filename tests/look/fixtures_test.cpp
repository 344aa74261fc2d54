// attend look with models whose numbers transformers computed (tests/fixtures): typed in as text, their inputs give the
// same attention and the same answers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/look/api/api.h"
#include "attend/look/inspect/inspect.h"
#include "attend/look/inspect/open.h"
#include "attend/tasks/translator.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

namespace fs = std::filesystem;
using test::cpu;

class LookFixtures : public testing::Test {
 protected:
  LookFixtures() : folder_(fs::temp_directory_path() / ("attend_look_fixtures_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~LookFixtures() override { fs::remove_all(folder_); }

  // The model of a case, with changes to its config.json.
  checkpoint::Safetensors copy(const char* name, const Json& changes) {
    const fs::path from = fs::path("tests/fixtures/data") / name;
    fs::copy_file(from / "model.safetensors", folder_ / "model.safetensors", fs::copy_options::overwrite_existing);
    Json config = read_json(from / "config.json");
    config.update(changes);
    write_file(folder_ / "config.json", config.dump());
    return checkpoint::Safetensors::open((from / "expected.safetensors").string());
  }

  const fs::path folder_;
};

// Marian's case has no tokenizer. Its third sentence ends with token 111, which is made the end here; the seven before
// it are words that SentencePiece knows.
TEST_F(LookFixtures, MarianTranslatesAndAttendsAsItShould) {
  const checkpoint::Safetensors expected = copy("marian", {{"eos_token_id", 111}, {"forced_eos_token_id", 111}});
  const std::string pieces = read_file("tests/fixtures/data/text/spm_unigram.model");
  write_file(folder_ / "source.spm", pieces);
  write_file(folder_ / "target.spm", pieces);
  const std::vector<std::int32_t> source = {41, 33, 68, 82, 62, 37, 16, 111};
  const text::Tokenizer words = text::Tokenizer::load(folder_ / "source.spm");
  std::vector<std::string> names(113);
  names[1] = "<unk>", names[111] = "</s>", names[112] = "<pad>";
  std::string text;
  std::size_t known = 0, other = 0;
  const auto is_word = [](std::string_view piece) {
    return piece.size() > 6 && piece.starts_with("\u2581") &&
           std::ranges::all_of(piece.substr(3), [](char c) { return c >= 'a' && c <= 'z'; });
  };
  for (text::TokenId id = 10; known < 7 || other < 113; ++id) {
    const std::string piece(words.id_to_token(id).value());
    if (known < 7 && is_word(piece)) {
      text += (known ? " " : "") + piece.substr(3);
      names[static_cast<std::size_t>(source[known++])] = piece;
    } else {
      while (other < 113 && (!names[other].empty() || std::ranges::find(source, other) != source.end())) ++other;
      if (other < 113) names[other] = piece;
    }
  }
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < names.size(); ++id) vocabulary[names[id]] = id;
  write_file(folder_ / "vocab.json", vocabulary.dump());

  const auto inspector = open_inspector(folder_, cpu(), DType::f32);
  const Inspection greedy = inspector->inspect(text, {.beams = 1});
  ASSERT_EQ(greedy.source_ids, source) << text;
  const std::vector<std::int64_t> written = expected.ints("greedy");  // [3, 20]: the start, 18 tokens, a forced end
  ASSERT_GE(greedy.target_ids.size(), 18u);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(greedy.target_ids[i], written[2 * 20 + 1 + i]) << i;
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const std::vector<float> truth = expected.floats("encoder_attention." + std::to_string(layer));  // [3, 3, 12, 12]
    const SeenAttention& seen = greedy.attention[layer];
    ASSERT_EQ(seen.weights.size(), 3u * 8u * 8u);
    for (std::size_t i = 0; i < seen.weights.size(); ++i)
      EXPECT_NEAR(seen.weights[i], truth[((2 * 3 + i / 64) * 12 + i / 8 % 8) * 12 + i % 8], 1e-5);
  }
  // The walk is the same model: its softmax is what the probe saw.
  for (const SeenAttention& layer : greedy.attention) {
    const view::Trace trace = inspector->trace({text, greedy.target_ids, layer.place, 1, 3});
    for (std::size_t i = 0; i < layer.columns; ++i)
      EXPECT_NEAR(trace.at("softmax").values[i], layer.weights[(layer.rows + 3) * layer.columns + i], 2e-5);
    if (layer.place.stack == "decoder") {
      EXPECT_EQ(trace.queries[0], "<pad>");
    }
  }
  EXPECT_EQ(inspector->card().start, "<pad>");
  EXPECT_EQ(inspector->card().positions, "sinusoidal-halves");

  const auto loaded = tasks::load_translator(folder_, cpu());
  const std::vector<std::string> lines = {text};
  EXPECT_EQ(inspector->inspect(text).text, loaded->translator.translate(lines)[0].text());

  copy("marian", {{"eos_token_id", 0}});
  EXPECT_THROW(open_inspector(folder_, cpu(), DType::f32), Error);
}

// The second text of the case: 8 tokens of a question, the last of which is made its mark, and 5 that may answer it.
TEST_F(LookFixtures, AnswersAreTheLikeliestSpans) {
  const checkpoint::Safetensors expected = copy("bert_qa", Json::object());
  const std::vector<std::int64_t> ids = expected.ints("input_ids");  // [3, 15]
  Json vocabulary = Json::object();
  const auto name = [](std::int64_t id) { return id == 48 ? std::string("?") : "w" + std::to_string(id); };
  for (std::int64_t id = 0; id < 113; ++id) vocabulary[name(id)] = id;
  const auto sequence = [](const char* text, int type) {
    return Json{{"Sequence", {{"id", text}, {"type_id", type}}}};
  };
  write_file(folder_ / "tokenizer.json",
             Json{{"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}},
                  {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                  {"post_processor",
                   {{"type", "TemplateProcessing"},
                    {"single", Json::array({sequence("A", 0)})},
                    {"pair", {sequence("A", 0), sequence("B", 1)}},
                    {"special_tokens", Json::object()}}}}
                 .dump());
  std::string text;
  for (std::size_t i = 0; i < 13; ++i) text += (i ? " " : "") + name(ids[15 + i]);
  const auto inspector = open_inspector(folder_, cpu(), DType::f32);
  EXPECT_EQ(inspector->card().kind, "answering");
  const Inspection seen = inspector->inspect(text);
  ASSERT_EQ(seen.source_ids, std::vector<std::int32_t>(ids.begin() + 15, ids.begin() + 28));

  const std::vector<float> starts = expected.floats("start_logits"), ends = expected.floats("end_logits");
  double start_sum = 0, end_sum = 0, best = -INFINITY;
  std::size_t first = 0, last = 0;
  for (std::size_t i = 8; i < 13; ++i) {
    start_sum += std::exp(starts[15 + i]), end_sum += std::exp(ends[15 + i]);
    for (std::size_t j = i; j < 13; ++j)
      if (starts[15 + i] + ends[15 + j] > best) best = starts[15 + i] + ends[15 + j], first = i, last = j;
  }
  ASSERT_EQ(seen.steps.size(), 1u);
  const InspectedStep& step = seen.steps[0];
  EXPECT_NEAR(step.probability, std::exp(best) / (start_sum * end_sum), 1e-4);
  EXPECT_EQ(step.place, static_cast<std::int64_t>(first));
  std::string answer;
  for (std::size_t i = first; i <= last; ++i) answer += (i > first ? " " : "") + name(ids[15 + i]);
  EXPECT_EQ(seen.target[0], answer);
  EXPECT_EQ(text.substr(step.span.begin, step.span.end - step.span.begin), answer);
  const std::vector<float> attention = expected.floats("attention.2");  // [3, 3, 15, 15]
  for (std::size_t i = 0; i < 3 * 13 * 13; ++i)
    EXPECT_NEAR(seen.attention[2].weights[i], attention[((3 + i / 169) * 15 + i / 13 % 13) * 15 + i % 13], 1e-5);
  // In the page's form, with all candidates.
  Api api({.inspector = inspector.get()}, {.name = "qa"});
  const Json json = parse_json(api.inspect({{"text", text}}), "answer").at("steps").front();
  EXPECT_EQ(json.at("candidates").size(), 8u);
  EXPECT_EQ(json.at("span"), json.at("candidates").front().at("span"));
  for (const char* wrong : {"no question", "a question?", "? "})
    EXPECT_THROW(inspector->inspect(wrong), Error) << wrong;
}

}  // namespace
}  // namespace attend::look
