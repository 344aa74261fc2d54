// Any bytes as a cache of sentence pairs (train.pairs): every pair of a cache that is taken can be read, and batches
// made of them.
#include <cstring>

#include "attend/base/hashing.h"
#include "attend/data/text/cache_format.h"
#include "attend/data/text/pair_batches.h"
#include "fuzz/shared/small_tokenizer.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

namespace {

// Hashes of groups, of the directory and of the trailer, as a writer would have made them.
void repair(Part& part) {
  std::string& file = part.bytes;
  data::Trailer trailer;
  if (file.size() < sizeof data::kMagic + sizeof trailer) return;
  const std::size_t rest = file.size() - sizeof trailer;
  std::memcpy(&trailer, file.data() + rest, sizeof trailer);
  // Entry by entry, each where it lies: the directory may be anywhere.
  for (std::size_t at = trailer.directory_at; at <= rest && rest - at >= sizeof(data::GroupEntry);
       at += sizeof(data::GroupEntry)) {
    data::GroupEntry group, next{.at = trailer.directory_at};
    std::memcpy(&group, file.data() + at, sizeof group);
    if (rest - at >= 2 * sizeof group) std::memcpy(&next, file.data() + at + sizeof group, sizeof next);
    if (group.at >= next.at || next.at > rest) continue;
    group.hash = hash_text(std::string_view(file).substr(group.at, next.at - group.at));
    std::memcpy(file.data() + at, &group, sizeof group);
  }
  if (trailer.directory_at <= rest)
    trailer.directory_hash =
        hash_text(std::string_view(file).substr(trailer.directory_at, rest - trailer.directory_at));
  trailer.hash = hash_text(data::bytes_before_hash(trailer));
  std::memcpy(file.data() + rest, &trailer, sizeof trailer);
}

// As the cache of texts that it was not made from: they replace it, once.
void read_or_replace() {
  const data::ParallelFiles files{write("source", "a b\n"), write("target", "c\n"),
                                  write("tokenizer.json", kSmallTokenizer), folder() / "train.pairs"};
  must_take([&] { data::ParallelCorpus::open_or_build(files, {.threads = 1}); }, "texts make a cache");
  must(!data::ParallelCorpus::open_or_build(files, {.threads = 1}).built(), "a cache that is there is used");
  attempt([&] { data::ParallelCorpus::open_or_build(files, {.max_length = -1}); });
}

}  // namespace

const Target kTarget = {.file = "train.pairs", .repair = repair};

void enter(const Input& input) {
  const auto corpus = data::ParallelCorpus::open(write("train.pairs", input.first().bytes), 1);
  data::to_text(corpus.report());
  for (std::int64_t pair = 0; pair < corpus.pairs(); ++pair) {
    const auto lengths = corpus.lengths(pair);
    const auto source = corpus.source(pair).to_vector(), target = corpus.target(pair).to_vector();
    must(lengths.source == static_cast<std::int64_t>(source.size()) &&
             lengths.target == static_cast<std::int64_t>(target.size()),
         "lengths are those of the pair");
    for (const auto* side : {&source, &target})
      for (std::int32_t id : *side) must(id >= 0 && id < corpus.id_limit(), "ids are below their limit");
    must(source.empty() || corpus.source(pair)[0] == source[0], "one id is the same as among all");
  }
  attempt([&] { corpus.lengths(-1); });
  attempt([&] { corpus.source(corpus.pairs()); });
  read_or_replace();
  for (const bool packed : {true, false})
    attempt([&] {
      data::PairBatches batches(corpus, {.tokens = 64, .packed = packed, .seed = 1});
      for (int i = 0; i < 8; ++i) batches.next();
    });
}

}  // namespace attend::fuzz
