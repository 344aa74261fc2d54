#include "attend/tasks/encoder_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/models/config_checks.h"

namespace attend::tasks {

namespace {

// Where part lies in whole, from `from` on.
std::size_t place_of(const std::vector<text::TokenId>& part, const std::vector<text::TokenId>& whole,
                     std::size_t from) {
  const auto found =
      std::search(whole.begin() + static_cast<std::ptrdiff_t>(from), whole.end(), part.begin(), part.end());
  check(found != whole.end() || part.empty(), "encoder: the tokenizer's post-processor changes the text's tokens");
  return static_cast<std::size_t>(found - whole.begin());
}

constexpr text::EncodeOptions kWhole{.truncate = false, .pad = false};
constexpr text::EncodeOptions kBare{.add_special_tokens = false, .truncate = false, .pad = false};

EncoderText text_of(text::Encoding encoding) {
  EncoderText text;
  text.ids.assign(encoding.ids.begin(), encoding.ids.end());
  text.types = std::move(encoding.type_ids);
  text.tokens = std::move(encoding.tokens);
  text.offsets = std::move(encoding.offsets);
  return text;
}

std::string mend(std::string_view line, std::int64_t number, const EncoderBatching& batching) {
  if (!find_invalid_utf8(line)) return std::string(line);
  if (batching.warn) batching.warn(fmt::format("line {} is not UTF-8; what is malformed was replaced", number));
  return replace_invalid_utf8(line);
}

}  // namespace

std::string characters_of(std::string_view text, text::Span span) {
  std::size_t at = 0, begin = 0;
  for (std::uint32_t i = 0; i < span.end && at < text.size(); ++i) {
    if (i == span.begin) begin = at;
    at += utf8_length(text[at]);
  }
  return span.begin < span.end ? std::string(text.substr(begin, at - begin)) : std::string();
}

TextSettings text_settings(const models::BertConfig& config) {
  const bool roberta = config.counts_positions();
  const auto first = roberta ? static_cast<std::int32_t>(config.pad) + 1 : 0;
  return {
      .vocabulary = config.vocabulary,
      .longest = config.max_length - first,
      .types = config.typed() ? config.types : 0,
      .start = config.start,
      .pad = config.pad,
      .first_position = first,
      .globals = config.family == models::BertFamily::longformer ? models::GlobalRule(config) : models::GlobalRule{}};
}

EncoderReader::EncoderReader(const std::filesystem::path& folder, std::string command, const TextSettings& settings)
    : command_(std::move(command)), settings_(settings), tokenizer_(text::Tokenizer::load(folder)) {
  for (const char* mark : {"\u2581", "\u0120"})  // SentencePiece's space, byte-level BPE's
    if (tokenizer_.token_to_id(mark)) word_mark_ = mark;
  settings_.start = std::max<std::int64_t>(settings_.start, 0);
  settings_.pad = std::max<std::int64_t>(settings_.pad, 0);
  tokenizer_.fit(settings_.vocabulary, fmt::format("{}: {}", command_, folder.string()));
}

std::int64_t EncoderReader::longest() const {
  return limit_ > 0 ? std::min(limit_, settings_.longest) : settings_.longest;
}

bool EncoderReader::continues_word(const EncoderText& text, std::size_t token) const {
  if (token == text.first.begin) return false;
  if (word_mark_.empty()) return text.tokens[token].starts_with("##");
  return text.offsets[token].begin == text.offsets[token - 1].end && !text.tokens[token].starts_with(word_mark_);
}

EncoderText EncoderReader::read_all(std::string_view text) const {
  const std::vector<text::TokenId> bare = tokenizer_.encode_ids(text, kBare);
  EncoderText result = text_of(tokenizer_.encode(text, kWhole));
  const std::size_t begin = bare.empty() ? std::min<std::size_t>(1, result.ids.size())
                                         : place_of(bare, {result.ids.begin(), result.ids.end()}, 0);
  result.first = {begin, begin + bare.size()};
  result.second = {result.ids.size(), result.ids.size()};
  return result;
}

EncoderText EncoderReader::read_all(std::string_view text, std::string_view second) const {
  const std::vector<text::TokenId> one = tokenizer_.encode_ids(text, kBare), two = tokenizer_.encode_ids(second, kBare);
  EncoderText result = text_of(tokenizer_.encode_pair(text, second, kWhole));
  const std::vector<text::TokenId> all(result.ids.begin(), result.ids.end());
  const std::size_t begin = one.empty() ? std::min<std::size_t>(1, all.size()) : place_of(one, all, 0);
  result.first = {begin, begin + one.size()};
  // The second text is looked for from the end, behind which only what was put there can be.
  const auto found = std::find_end(all.begin(), all.end(), two.begin(), two.end());
  const auto second_begin = two.empty() ? result.first.end : static_cast<std::size_t>(found - all.begin());
  check(two.empty() || found != all.end(), "{}: the tokenizer's post-processor changes the text's tokens", command_);
  result.second = {second_begin, second_begin + two.size()};
  return result;
}

EncoderText EncoderReader::shortened(const EncoderText& text, EncoderText::Range first, EncoderText::Range second) {
  EncoderText result;
  const auto keep = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      result.ids.push_back(text.ids[i]), result.types.push_back(text.types[i]);
      result.tokens.push_back(text.tokens[i]), result.offsets.push_back(text.offsets[i]);
    }
  };
  keep(0, text.first.begin);
  result.first.begin = result.ids.size();
  keep(first.begin, first.end);
  result.first.end = result.ids.size();
  keep(text.first.end, text.second.begin);
  result.second.begin = result.ids.size();
  keep(second.begin, second.end);
  result.second.end = result.ids.size();
  keep(text.second.end, text.ids.size());
  result.cut = text.ids.size() - result.ids.size();
  return result;
}

EncoderText EncoderReader::cut(EncoderText text, std::int64_t number, const EncoderBatching& batching) const {
  const auto limit = static_cast<std::size_t>(longest());
  if (text.ids.empty()) {
    models::check_token_used(command_, "bos_token_id of config.json", settings_.start, settings_.vocabulary);
    text.ids = {static_cast<std::int32_t>(settings_.start)}, text.types = {0}, text.tokens = {""}, text.offsets = {{}};
    text.second = {1, 1};
  }
  if (text.ids.size() <= limit) return text;
  EncoderText::Range first = text.first, second = text.second;
  std::size_t over = text.ids.size() - limit;
  check(over <= first.size() + second.size(),
        "{}: the model reads {} tokens, fewer than the tokenizer puts around a text", command_, limit);
  for (; over > 0; --over) --(first.size() >= second.size() ? first : second).end;
  if (batching.warn)
    batching.warn(fmt::format("line {} has {} tokens; the model reads {}, and the rest is left out", number,
                              text.ids.size(), limit));
  // Of one text the tokens behind it are between first and second: shortened() keeps both sides of each.
  return shortened(text, first, second);
}

EncoderText EncoderReader::read(std::string_view line, std::int64_t number, const EncoderBatching& batching) const {
  return cut(read_all(mend(line, number, batching)), number, batching);
}

EncoderText EncoderReader::read(std::string_view text, std::string_view second, std::int64_t number,
                                const EncoderBatching& batching) const {
  return cut(read_all(mend(text, number, batching), mend(second, number, batching)), number, batching);
}

PackedTexts EncoderReader::pack(std::span<const EncoderText* const> texts) const {
  PackedTexts packed;
  for (const EncoderText* text : texts) {
    for (std::size_t i = 0; i < text->ids.size(); ++i) {
      packed.ids.push_back(text->ids[i]);
      packed.types.push_back(text->types[i] < settings_.types ? text->types[i] : 0);  // RoBERTa has one type
      packed.positions.push_back(settings_.first_position + static_cast<std::int32_t>(i));
    }
    packed.offsets.push_back(static_cast<std::int32_t>(packed.ids.size()));
    packed.longest = std::max(packed.longest, static_cast<std::int64_t>(text->ids.size()));
  }
  return packed;
}

PaddedTexts EncoderReader::pad(const PackedTexts& packed, std::int64_t longest) const {
  PaddedTexts padded;
  padded.texts.offsets.clear();
  padded.texts.longest = longest;
  const auto pad = static_cast<std::int32_t>(settings_.pad);
  for (std::size_t i = 0; i + 1 < packed.offsets.size(); ++i) {
    const std::int32_t begin = packed.offsets[i], end = packed.offsets[i + 1];
    const auto missing = static_cast<std::size_t>(longest - (end - begin));
    const auto copy = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to, std::int32_t fill) {
      to.insert(to.end(), from.begin() + begin, from.begin() + end);
      to.insert(to.end(), missing, fill);
    };
    copy(packed.ids, padded.texts.ids, pad);
    copy(packed.types, padded.texts.types, 0);
    copy(packed.positions, padded.texts.positions,
         settings_.first_position > 0 ? pad : 0);  // RoBERTa's padding has its own
    padded.lengths.push_back(end - begin);
  }
  return padded;
}

models::BertInput EncoderReader::pack(std::span<const EncoderText* const> texts, Backend& backend) const {
  const PackedTexts packed = pack(texts);
  const auto tensor = [&](const std::vector<std::int32_t>& values) {
    Tensor made = make_tensor(backend, {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(made, values);
    return made;
  };
  if (settings_.padded) {
    const PaddedTexts padded = pad(packed, packed.longest);
    return {{.ids = tensor(padded.texts.ids).reshape({static_cast<std::int64_t>(texts.size()), packed.longest}),
             .lengths = tensor(padded.lengths)}};
  }
  models::BertInput input{{.ids = tensor(packed.ids),
                           .offsets = tensor(packed.offsets),
                           .positions = tensor(packed.positions),
                           .longest = packed.longest}};
  if (settings_.types > 0) input.types = tensor(packed.types);
  return input;
}

std::vector<std::vector<float>> by_text(std::span<const float> rows, EncoderBatch texts, std::size_t width) {
  std::vector<std::vector<float>> result;
  std::size_t at = 0;
  for (const EncoderText* text : texts) {
    const auto own = rows.subspan(at, text->ids.size() * width);
    result.emplace_back(own.begin(), own.end());
    at += own.size();
  }
  return result;
}

void in_batches(std::span<const EncoderText> texts, std::int64_t batch,
                const std::function<void(EncoderBatch texts, std::span<const std::size_t> indices)>& run) {
  check(batch >= 1, "encoder: a batch of {} texts", batch);
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return texts[i].ids.size(); });
  for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(batch)) {
    const auto indices =
        std::span(order).subspan(begin, std::min(order.size() - begin, static_cast<std::size_t>(batch)));
    std::vector<const EncoderText*> chosen;
    for (std::size_t i : indices) chosen.push_back(&texts[i]);
    run(chosen, indices);
  }
}

}  // namespace attend::tasks
