#include "attend/cli/commands/tokenize.h"

#include <fmt/core.h>

#include <charconv>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/text/tokenizer.h"

namespace attend::cli {

namespace {

constexpr const char* kTokenizeExamples = R"(
  echo "I am a student." | attend tokenize --tokenizer models/en-fr # ids, separated by spaces
  attend tokenize --tokenizer models/en-fr --input test.en > test.ids
  attend tokenize --tokenizer models/en-fr --decode < test.ids # ids to text
  echo '{"text": "a question", "pair": "its context"}' | attend tokenize --tokenizer bert/tokenizer.json --json)";

std::vector<text::TokenId> parse_ids(std::string_view line, const std::string& where) {
  std::vector<text::TokenId> ids;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      ++at;
      continue;
    }
    text::TokenId id = 0;
    const auto result = std::from_chars(line.data() + at, line.data() + line.size(), id);
    const auto end = static_cast<std::size_t>(result.ptr - line.data());
    const bool whole = end == line.size() || line[end] == ' ' || line[end] == '\t' || line[end] == '\r';
    check(result.ec == std::errc() && whole && id >= 0, "{}: ids are whole numbers with spaces between", where);
    ids.push_back(id);
    at = end;
  }
  return ids;
}

// {"text": .., "pair": ..}, or {"ids": [..]} to decode.
Json tokenize_json(const text::Tokenizer& tokenizer, std::string_view line, const TokenizeOptions& options,
                   const std::string& where) {
  const Json request = parse_json(line, where);
  check(request.is_object(), "{}: must be an object such as {{\"text\": \"..\"}}", where);
  Json answer;
  if (options.decode) {
    check(request.contains("ids") && request["ids"].is_array(), "{}: has no list \"ids\"", where);
    std::vector<text::TokenId> ids;
    for (const auto& id : request["ids"]) {
      check(id.is_number_unsigned() && id.get<std::uint64_t>() <= 0x7fffffff, "{}: \"ids\" must be whole numbers",
            where);
      ids.push_back(id.get<text::TokenId>());
    }
    answer["decoded"] = tokenizer.decode(ids, {.skip_special_tokens = !options.keep_special_tokens});
    return answer;
  }
  check(request.contains("text") && request["text"].is_string(), "{}: has no string \"text\"", where);
  const bool pair = request.contains("pair") && !request["pair"].is_null();
  check(!pair || request["pair"].is_string(), "{}: \"pair\" must be a string", where);
  const text::EncodeOptions encode = {.add_special_tokens = !options.no_special_tokens};
  const auto& text = request["text"].text();
  const text::Encoding encoding =
      pair ? tokenizer.encode_pair(text, request["pair"].text(), encode) : tokenizer.encode(text, encode);
  answer["ids"] = encoding.ids;
  answer["tokens"] = encoding.tokens;
  answer["offsets"] = Json::array();
  for (const text::Span& span : encoding.offsets) answer["offsets"].push_back({span.begin, span.end});
  answer["type_ids"] = encoding.type_ids;
  answer["decoded"] = tokenizer.decode(encoding.ids);
  return answer;
}

std::string tokenize_line(const text::Tokenizer& tokenizer, std::string_view line, const TokenizeOptions& options,
                          const std::string& where) {
  if (options.json) return tokenize_json(tokenizer, line, options, where).dump();
  if (options.decode)
    return tokenizer.decode(parse_ids(line, where), {.skip_special_tokens = !options.keep_special_tokens});
  const auto ids = tokenizer.encode_ids(line, {.add_special_tokens = !options.no_special_tokens});
  return joined(ids, " ");
}

}  // namespace

void run_tokenize(const TokenizeOptions& options, const Streams& streams) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(options.tokenizer);
  LineInputOptions input{.max_line = options.max_line, .keeps_returns = true};  // ids of all that is there
  if (options.input != "-") input.files = {options.input};
  LineInput lines(std::move(input), streams.in);
  for (std::string line; lines.next(line);) {
    const std::string where = fmt::format("tokenize: {}, line {}", lines.name(), lines.number());
    try {
      streams.out << tokenize_line(tokenizer, line, options, where) << '\n';
    } catch (const Error& error) {
      const std::string_view what = error.what();
      if (what.starts_with(where)) throw;
      fail("{}: {}", where, what);
    }
  }
}

void add_tokenize_command(Flags& program, const Streams& streams) {
  add_command<TokenizeOptions>(
      program, streams,
      {.name = "tokenize", .help = "Convert text to token ids, or ids to text.", .examples = kTokenizeExamples},
      [](Flags& flags, TokenizeOptions& options) {
        add_model_file_flag(flags, "--tokenizer", options.tokenizer,
                            "A tokenizer.json, vocab.json, vocab.txt or SentencePiece model, its folder")
            .required();
        flags.add("--input", options.input, "Input file; - reads standard input.");
        add_max_line_flag(flags, options.max_line);
        flags.add("--json", options.json,
                  "Read one JSON object per line, {\"text\": .., \"pair\": ..}, and write ids, tokens, offsets, "
                  "type_ids and decoded.");
        flags.add("--decode", options.decode, "Convert ids to text. With --json, read {\"ids\": [..]}.");
        flags.add("--no-special-tokens", options.no_special_tokens, "Add no special tokens.");
        flags.add("--keep-special-tokens", options.keep_special_tokens, "With --decode: keep special tokens.");
      },
      run_tokenize);
}

}  // namespace attend::cli
