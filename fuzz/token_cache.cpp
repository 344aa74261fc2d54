// Any bytes as a cache of token ids (train.tokens) of a text that stays the same: what is not its cache is replaced,
// and what is gives windows and blocks to train on.
#include <cstring>

#include "attend/base/file_mark.h"
#include "attend/base/hashing.h"
#include "attend/data/text/masked_blocks.h"
#include "attend/data/text/token_stream.h"
#include "fuzz/shared/small_tokenizer.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

namespace {

constexpr const char* kLines = "a b c\na a\n\nb\n";

std::uint64_t byte_hash(std::string_view bytes) {
  ByteHash hash;
  hash.add(bytes);
  return hash.value();
}

// The header as a writer would have made it: magic, hashes of text and tokenizer, how many ids, their hash.
void repair(Part& part) {
  std::string& file = part.bytes;
  if (part.name != "train.tokens" || file.size() < 40) return;
  file.resize(file.size() / 4 * 4);
  const std::string_view ids = std::string_view(file).substr(40);
  const std::uint64_t words[] = {hash_key(2) + byte_hash(kLines), byte_hash(kSmallTokenizer), ids.size() / 4,
                                 hash_text(ids)};
  std::memcpy(file.data(), "attTOK03", 8);
  std::memcpy(file.data() + 8, words, sizeof words);
}

void read(const data::TokenStreamFiles& files) {
  const auto stream = data::TokenStream::open_or_build(files);
  for (std::int64_t i = 0; i < stream.size(); ++i) static_cast<void>(stream[i]);
  for (const std::int64_t length : {1, 3, 100})
    attempt([&] {
      data::random_windows(stream, 2, length, 1, 7);
      must(data::window_count(stream, length) > 0, "a text has windows");
      data::window_at(stream, 0, 3, length);
    });
  attempt([&] {
    const data::MaskedText masked(stream, {.block = 5, .start = 0, .end = 1, .mask = 2, .ordinary = {3, 4, 5, 6}});
    masked.random(3, 5);
    masked.at(0, masked.count());
  });
}

}  // namespace

const Target kTarget = {.file = "train.tokens", .repair = repair};

void enter(const Input& input) {
  const data::TokenStreamFiles files{.texts = {write("text", input.has("text") ? input["text"] : kLines).string()},
                                     .tokenizer = write("tokenizer.json", kSmallTokenizer),
                                     .cache = write("train.tokens", input["train.tokens"]),
                                     .line_end = 1};
  attempt([&] { read(files); });
  attempt([&] { read(files); });  // as it was or as it is now
  attempt([&] { read({.texts = files.texts, .tokenizer = files.tokenizer, .cache = files.cache}); });
}

}  // namespace attend::fuzz
