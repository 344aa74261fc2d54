#include "attend/tasks/training_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "attend/base/base64.h"
#include "attend/base/unicode.h"
#include "attend/decode/beam_search.h"
#include "attend/models/gpt2_decoder.h"
#include "attend/tasks/inspect_parts.h"
#include "attend/tasks/pieces.h"
#include "attend/tasks/translator.h"

namespace attend::tasks {

namespace {

// A token may be half a character.
std::vector<std::string> valid(std::vector<std::string> pieces) {
  for (std::string& piece : pieces) piece = replace_invalid_utf8(piece);
  return pieces;
}

}  // namespace

Json packed_attention(const Anatomy& anatomy, const view::Collector& collector) {
  Json list = Json::array();
  for (const Anatomy::Attention& attention : anatomy.attention) {
    const view::AttentionWeights& seen = collector.at(attention.label);  // [1, H, T, S]
    std::string bytes;
    for (const float weight : seen.values)
      bytes += static_cast<char>(std::lround(255 * std::clamp(weight, 0.0f, 1.0f)));
    list.push_back({{"stack", attention.place.stack},
                    {"kind", attention.place.kind},
                    {"layer", attention.place.layer},
                    {"heads", attention.heads},
                    {"rows", seen.shape[2]},
                    {"columns", seen.shape[3]},
                    {"packed", base64(bytes)}});
  }
  return list;
}

Json pair_example(const PairExample& parts, std::vector<std::int32_t> source, std::vector<std::int32_t> target) {
  const std::int32_t start = parts.tokenizer.token_to_id(kStartToken).value();
  const std::int32_t end = parts.tokenizer.token_to_id(kEndToken).value();
  std::vector<std::string> read = valid(pieces_of(parts.tokenizer, source)),
                           written = valid(pieces_of(parts.tokenizer, target));
  for (auto* pieces : {&read, &written}) pieces->push_back(fmt::format(" {}", kEndToken));
  source.push_back(end);
  const auto longest = std::min(parts.model.max_length(), static_cast<std::int64_t>(target.size()) + 10);
  target.insert(target.begin(), start);  // what the decoder reads
  const auto sequence = [&](const std::vector<std::int32_t>& ids) {
    const Tensor length = make_tensor(parts.backend, {1}, DType::i32);
    upload(length, std::vector<std::int32_t>{static_cast<std::int32_t>(ids.size())});
    return nn::Sequences{.ids = row_of(parts.backend, ids), .lengths = length};
  };
  const models::PairBatch batch{sequence(source), sequence(target), row_of(parts.backend, target)};
  view::Collector collector;
  {
    Pass pass(parts.backend, {.probe = &collector});
    parts.model.loss(batch.in(pass), {});  // of no interest: any label will do
  }
  Pass pass(parts.backend);
  const auto model = parts.model.start(pass, batch.source, 1);
  const decode::Hypothesis greedy = decode::beam_search(
      *model, {.beams = 1, .start = start, .end = end, .banned = parts.banned, .max_lengths = {longest}})[0][0];
  return {{"source", {{"pieces", read}}},
          {"target", {{"pieces", written}}},
          {"text", replace_invalid_utf8(parts.tokenizer.decode(greedy.tokens))},
          {"attention", packed_attention(anatomy_of(parts.model), collector)}};
}

Json text_example(const models::GPT2LanguageModel& model, const Tokenizer& tokenizer, Backend& backend,
                  const std::vector<std::int32_t>& ids) {
  view::Collector collector;
  {
    Pass pass(backend, {.probe = &collector});
    model.body().states(nn::Sequences{row_of(backend, ids)}.in(pass));
  }
  const std::vector<std::string> pieces = valid(pieces_of(tokenizer, ids));
  const std::size_t half = std::max<std::size_t>(1, ids.size() / 2);
  Pass pass(backend);
  const std::span<const std::int32_t> prompt = std::span(ids).first(half);
  models::GPT2Decoder decoder(model.body(), pass, row_of(backend, prompt), 1);
  const models::GPT2Config& config = model.body().config();
  const std::int64_t longest = std::min<std::int64_t>(24, config.max_length - static_cast<std::int64_t>(half));
  const decode::Hypothesis greedy = decode::beam_search(decoder, {.beams = 1,
                                                                  .start = prompt.back(),
                                                                  .end = static_cast<std::int32_t>(config.end),
                                                                  .max_lengths = {longest}})[0][0];
  const auto middle = pieces.begin() + static_cast<std::ptrdiff_t>(half);
  return {{"source", {{"pieces", std::vector<std::string>(pieces.begin(), middle)}}},
          {"target", {{"pieces", std::vector<std::string>(middle, pieces.end())}}},
          {"text", replace_invalid_utf8(tokenizer.decode(greedy.tokens))},
          {"attention", packed_attention(anatomy_of(config, ""), collector)}};
}

}  // namespace attend::tasks
