// Any bytes as a cache of sentence pairs (train.pairs): every pair of a cache that is taken can be read, and batches
// made of them.
#include <cstring>

#include "attend/data/cache_format.h"
#include "attend/data/pair_batches.h"
#include "attend/text/hashing.h"
#include "fuzz/shared/door.h"

namespace attend::fuzz {

namespace {

// Hashes of groups, of the directory and of the trailer, as a writer would have made them.
void repair(Part& part) {
  std::string& file = part.bytes;
  data::Trailer trailer;
  if (file.size() < sizeof data::kMagic + sizeof trailer) return;
  const std::size_t rest = file.size() - sizeof trailer;
  std::memcpy(&trailer, file.data() + rest, sizeof trailer);
  if (trailer.directory_at <= rest && trailer.groups <= rest / sizeof(data::GroupEntry)) {
    std::vector<data::GroupEntry> groups((rest - trailer.directory_at) / sizeof(data::GroupEntry));
    std::memcpy(groups.data(), file.data() + trailer.directory_at, groups.size() * sizeof groups[0]);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::uint64_t end = i + 1 < groups.size() ? groups[i + 1].at : trailer.directory_at;
      if (groups[i].at < end && end <= rest)
        groups[i].hash = hash_text(std::string_view(file).substr(groups[i].at, end - groups[i].at));
    }
    std::memcpy(file.data() + trailer.directory_at, groups.data(), groups.size() * sizeof groups[0]);
    trailer.directory_hash =
        hash_text(std::string_view(file).substr(trailer.directory_at, rest - trailer.directory_at));
  }
  trailer.hash = hash_text(data::bytes_before_hash(trailer));
  std::memcpy(file.data() + rest, &trailer, sizeof trailer);
}

}  // namespace

const Door kDoor = {.file = "train.pairs", .repair = repair};

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
  for (const bool packed : {true, false})
    attempt([&] {
      data::PairBatches batches(corpus, {.tokens = 64, .packed = packed, .seed = 1});
      for (int i = 0; i < 8; ++i) batches.next();
    });
}

}  // namespace attend::fuzz
