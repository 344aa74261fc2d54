#include "attend/text/learn/bpe_trainer.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/learn/pair_merger.h"
#include "attend/text/steps/byte_level.h"
#include "attend/text/text_reader.h"

namespace attend::text {

BpeTrainer::BpeTrainer(BpeTrainerOptions options)
    : options_(std::move(options)), pool_(options_.threads), counter_(pool_, options_.words) {
  constexpr std::size_t kLargestVocabulary = 10'000'000;
  check(options_.vocabulary_size < kLargestVocabulary, "train BPE: a vocabulary of {} tokens is too large",
        options_.vocabulary_size);
  const std::size_t least = options_.special_tokens.size() + 256;
  check(options_.vocabulary_size >= least,
        "train BPE: a vocabulary of {} tokens has no room for the {} special tokens and 256 bytes",
        options_.vocabulary_size, options_.special_tokens.size());
  for (const std::string& token : options_.special_tokens) {
    check(!token.empty() && !find_invalid_utf8(token), "train BPE: a special token must be UTF-8 text, not {}",
          shown(token));
    check(std::ranges::count(options_.special_tokens, token) == 1, "train BPE: the special token {} is there twice",
          shown(token));
  }
}

void BpeTrainer::add_file(const std::filesystem::path& path) {
  TextReader reader(path);
  for (std::string_view block; !(block = reader.next_block()).empty();) counter_.add(block);
}

TrainedBpe BpeTrainer::train() {
  TrainedBpe trained;
  Vocabulary vocabulary;
  const auto id_of = [&](const std::string& token) {
    if (const auto known = vocabulary.find(token)) return *known;
    const auto id = static_cast<TokenId>(trained.tokens.size());
    vocabulary.add(token, id);
    trained.tokens.push_back(token);
    return id;
  };
  for (const std::string& token : options_.special_tokens) id_of(token);
  trained.special_tokens = trained.tokens.size();
  trained.add_prefix_space = options_.words.add_prefix_space;

  // The bytes, in the order of their printable characters.
  std::vector<int> bytes(256);
  for (int byte = 0; byte < 256; ++byte) bytes[static_cast<std::size_t>(byte)] = byte;
  std::ranges::sort(bytes, {}, [](int byte) { return kByteCharacters[static_cast<std::size_t>(byte)]; });
  std::vector<TokenId> byte_ids(256);
  for (int byte : bytes)
    byte_ids[static_cast<std::size_t>(byte)] = id_of(to_byte_characters(std::string(1, static_cast<char>(byte))));

  PairMerger merger(counter_.words(), [&](std::string_view word, std::vector<TokenId>& symbols) {
    for (char byte : word) symbols.push_back(byte_ids[static_cast<unsigned char>(byte)]);
  });
  while (trained.tokens.size() < options_.vocabulary_size) {
    const PairMerger::Best best = merger.next();
    if (best.count < std::max<std::uint64_t>(options_.min_frequency, 1)) break;
    const std::string token =
        trained.tokens[static_cast<std::size_t>(best.first)] + trained.tokens[static_cast<std::size_t>(best.second)];
    if (token.size() > limits::kLongestToken) continue;  // a line of one letter, a million times
    const TokenId joined = id_of(token);
    trained.merges.emplace_back(best.first, best.second);
    merger.join(joined);
    if (options_.on_progress && trained.merges.size() % 64 == 0) options_.on_progress(trained.tokens.size());
  }

  // A pair that was joined twice has the later rank.
  PairTable<bool> seen(trained.merges.size());
  std::vector<std::pair<TokenId, TokenId>> last;
  for (auto merge = trained.merges.rbegin(); merge != trained.merges.rend(); ++merge) {
    bool& known = seen[PairTable<bool>::key_of(merge->first, merge->second)];
    if (!known) last.push_back(*merge);
    known = true;
  }
  trained.merges.assign(last.rbegin(), last.rend());
  return trained;
}

}  // namespace attend::text
