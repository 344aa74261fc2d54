#include "attend/tasks/fill.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/ops/embedding.h"

namespace attend::tasks {

namespace {

// A token on its own, as text: "##ing" is "ing".
std::string plain(const text::Tokenizer& tokenizer, std::int32_t id) {
  const auto token = tokenizer.id_to_token(id);
  if (token && token->starts_with("##")) return std::string(token->substr(2));
  const text::TokenId ids[] = {id};
  std::string text = tokenizer.decode(ids, {.skip_special_tokens = false});
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

}  // namespace

Filler::~Filler() = default;

Filler::Filler(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : encoder_(folder, "fill", catalogue::Task::fill, backend, format) {
  for (const char* name : {"[MASK]", "<mask>"})
    if (const auto id = encoder_.reader().tokenizer().token_to_id(name); id && mask_.empty())
      mask_ = name, mask_id_ = static_cast<std::int32_t>(*id);
  check(!mask_.empty(), "fill: the tokenizer of {} has neither [MASK] nor <mask>", folder.string());
}

std::vector<FilledLine> Filler::fill(std::span<const std::string> lines, const FillOptions& options) const {
  check(options.top_k >= 1, "fill: top-k must be at least 1, not {}", options.top_k);
  const EncoderReader& reader = encoder_.reader();
  std::vector<EncoderText> texts;
  std::vector<FilledLine> results(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = options.batching.first_line + static_cast<std::int64_t>(i);
    std::size_t masks = 0;
    for (std::size_t at = lines[i].find(mask_); at != std::string::npos; at = lines[i].find(mask_, at + mask_.size()))
      ++masks;
    check(masks > 0, "fill: line {} has no {}", number, mask_);
    results[i].resize(masks);
    texts.push_back(reader.read(lines[i], number, options.batching));
  }
  in_batches(texts, options.batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    std::vector<std::vector<float>> values = logits(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      FilledLine& line = results[indices[i]];
      FilledLine found = filled(std::move(values[i]), options.top_k);
      for (std::size_t mask = 0; mask < std::min(line.size(), found.size()); ++mask)
        line[mask] = std::move(found[mask]);
    }
  });
  return results;
}

// Only the masks are answered, not all tokens: [M, C] -> [M, V].
std::vector<std::vector<float>> Filler::logits(EncoderBatch texts) const {
  std::vector<std::int32_t> rows;
  std::vector<std::size_t> masks;
  std::int32_t row = 0;
  for (const EncoderText* text : texts) {
    const std::size_t before = rows.size();
    for (const std::int32_t id : text->ids) {
      if (id == mask_id_) rows.push_back(row);
      ++row;
    }
    masks.push_back(rows.size() - before);
  }
  std::vector<std::vector<float>> result(texts.size());
  if (rows.empty()) return result;
  Pass pass(encoder_.backend());
  const models::BertInput input = encoder_.reader().pack(texts, encoder_.backend()).in(pass);
  const Tensor chosen = make_tensor(encoder_.backend(), {static_cast<std::int64_t>(rows.size())}, DType::i32);
  upload(chosen, rows);
  const Tensor states = ops::gather(encoder_.model().body().states(input).flat_rows(), pass.input(chosen));
  const std::vector<float> all = download(encoder_.model().logits(states));
  const auto width = static_cast<std::size_t>(encoder_.reader().settings().vocabulary);
  std::size_t at = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto own = std::span(all).subspan(at, masks[i] * width);
    result[i].assign(own.begin(), own.end());
    at += own.size();
  }
  return result;
}

FilledLine Filler::filled(std::vector<float> logits, std::int64_t top_k) const {
  const EncoderReader& reader = encoder_.reader();
  // Rows of the table beyond the tokenizer's ids stand for nothing.
  const auto width = static_cast<std::size_t>(reader.settings().vocabulary),
             known = std::min<std::size_t>(static_cast<std::size_t>(reader.tokenizer().id_limit()), width);
  FilledLine line;
  for (std::size_t begin = 0; begin < logits.size(); begin += width) {
    const auto values = std::span(logits).subspan(begin, known);
    softmax(values);
    line.emplace_back();
    for (const std::size_t id : largest(values, top_k)) {
      const auto token = static_cast<std::int32_t>(id);
      line.back().push_back({token, plain(reader.tokenizer(), token), values[id]});
    }
  }
  return line;
}

std::string Filler::complete(const std::string& line, const FilledLine& filled, std::size_t mask,
                             std::size_t choice) const {
  std::string text;
  std::size_t from = 0, number = 0;
  for (std::size_t at = line.find(mask_); at != std::string::npos; at = line.find(mask_, from), ++number) {
    text += line.substr(from, at - from);
    const std::vector<FilledToken>& tokens = filled.at(number);
    const std::size_t wanted = number == mask ? choice : 0;
    text += wanted < tokens.size() ? tokens[wanted].token : mask_;
    from = at + mask_.size();
  }
  return text + line.substr(from);
}

}  // namespace attend::tasks
