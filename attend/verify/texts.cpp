// The texts that case.json lists, from their characters on: token ids, and the vectors of sentence-transformers.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attend/base/error.h"
#include "attend/tasks/embedder.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

struct CaseText {
  std::string first;
  std::optional<std::string> second = {};
};

// A text, or a list of two.
std::vector<CaseText> texts_of(const VerifyCase& verified) {
  std::vector<CaseText> texts;
  const auto listed = verified.notes.find("texts");
  if (listed == verified.notes.end()) return texts;
  const std::string what = (verified.folder / "case.json").string();
  check(listed->is_array(), "{}: 'texts' must be a list", what);
  for (const Json& each : *listed) {
    const bool pair = each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
    check(each.is_string() || pair, "{}: each of 'texts' is a text or a list of two", what);
    if (pair)
      texts.push_back({each[0].get<std::string>(), each[1].get<std::string>()});
    else
      texts.push_back({each.get<std::string>()});
  }
  return texts;
}

std::vector<std::int64_t> tokens_of(const text::Tokenizer& tokenizer, const CaseText& text, std::int64_t longest) {
  const text::EncodeOptions whole{.truncate = false, .pad = false};
  const text::Encoding encoding =
      text.second ? tokenizer.encode_pair(text.first, *text.second, whole) : tokenizer.encode(text.first, whole);
  std::vector<std::int64_t> ids(encoding.ids.begin(), encoding.ids.end());
  // Only texts that are one are cut: what is put behind them stays.
  if (longest > 0 && !text.second && static_cast<std::int64_t>(ids.size()) > longest) {
    const std::int64_t end = ids.back();
    ids.resize(static_cast<std::size_t>(longest));
    ids.back() = end;
  }
  return ids;
}

// The ids that each text should have, by its number: those case.json lists, or else the inputs without their padding.
std::map<std::size_t, std::vector<std::int64_t>> expected_ids(VerifyCase& verified) {
  std::map<std::size_t, std::vector<std::int64_t>> ids;
  const Json& listed =
      verified.notes["expected"].is_object() ? verified.notes["expected"]["input_ids"] : verified.notes;
  if (listed.is_array()) {
    for (std::size_t i = 0; i < listed.size(); ++i)
      for (const Json& id : listed[i]) ids[i].push_back(id.is_number_integer() ? id.get<std::int64_t>() : -1);
    return ids;
  }
  for (const std::optional<std::size_t>& text : verified.runs()) {
    verified.select(text);
    if (!verified.wants("input_ids")) continue;
    const Shape shape = verified.stored("input_ids").shape;
    const std::vector<std::int64_t> all = verified.stored_ints("input_ids");
    std::vector<std::int64_t> mask(all.size(), 1);
    if (verified.wants("attention_mask")) mask = verified.stored_ints("attention_mask");
    if (shape.rank() != 2 || mask.size() != all.size()) continue;
    const auto width = static_cast<std::size_t>(shape[1]);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (mask[i]) ids[text.value_or(0) + i / width].push_back(all[i]);
  }
  verified.select({});
  return ids;
}

}  // namespace

std::optional<VerifiedTensor> check_tokens(VerifyCase& verified, const catalogue::ModelConfig& model) {
  const std::vector<CaseText> texts = texts_of(verified);
  if (texts.empty()) return std::nullopt;
  const auto ids = expected_ids(verified);
  if (ids.empty()) return std::nullopt;
  const text::Tokenizer tokenizer = text::Tokenizer::load(verified.folder);
  const std::int64_t most = model.task == catalogue::Task::embed ? tasks::longest_sentence(verified.folder) : 0;
  VerifiedTensor row{.name = "tokens of texts", .shape = {static_cast<std::int64_t>(ids.size())}};
  for (const auto& [text, want] : ids) {
    if (text < texts.size() && want == tokens_of(tokenizer, texts[text], most)) continue;
    if (row.error++ == 0) row.note = fmt::format("the first that differs is text {}", text);
  }
  row.relative = row.error / static_cast<double>(ids.size());
  if (row.error > 0) row.verdict = VerifiedTensor::beyond;
  return row;
}

void run_embeddings(VerifyCase& verified, const nn::ModelFormat& format) {
  if (!verified.wants("embeddings")) return;
  const tasks::Embedder embedder(verified.folder, verified.backend, format);
  std::vector<std::vector<float>> vectors;
  std::vector<std::string> lines;
  for (const CaseText& text : texts_of(verified)) lines.push_back(text.first);
  if (!lines.empty()) {
    vectors = embedder.embed(lines);
  } else {  // without the texts: those that have ids
    for (const std::optional<std::size_t>& text : verified.runs()) {
      verified.select(text);
      if (!text || *text != vectors.size() || !verified.wants("input_ids")) continue;
      tasks::EncoderText read;
      for (const std::int64_t id : verified.stored_ints("input_ids"))
        read.ids.push_back(static_cast<std::int32_t>(id)), read.types.push_back(0);
      const tasks::EncoderText* one = &read;
      vectors.push_back(embedder.modules()(tasks::states_of(embedder.encoder(), {&one, 1})[0]));
    }
    verified.select({});
  }
  ProducedTensor all{{static_cast<std::int64_t>(vectors.size()), embedder.width()}, {}, {}, lines.empty()};
  for (const std::vector<float>& vector : vectors) all.floats.insert(all.floats.end(), vector.begin(), vector.end());
  verified.keep("embeddings", all);
}

}  // namespace attend::verify
