// Several parallel corpora as one, each with a weight, in random order. It runs in bounded memory: pairs are dealt to
// temporary files by chance, and then each of those is shuffled by itself.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attend/data/corpus/pair_reader.h"
#include "attend/data/corpus/variants.h"

namespace attend::data {

struct CorpusSource {
  std::string name;
  PairFiles files;
  double weight = 1;     // how often each pair is taken: 2.5 is twice, and once more for half of the pairs
  std::string tag = {};  // in front of each source line, followed by a space: "<bt>" for back-translated text
};

// NAME.source and NAME.target of a folder, in order of name, or one such pair if path is a prefix of two files. Files
// that are held out by name (dev, valid, val, test) are left out of a folder and listed in `held_out`.
std::vector<CorpusSource> find_corpora(const std::filesystem::path& path, const std::string& source_language,
                                       const std::string& target_language, std::vector<std::string>& held_out);

struct MixOptions {
  std::uint64_t seed = 1;
  VariantShares variants = {};
  std::string source_language = "en", target_language = "fr";  // of quotation marks
  std::filesystem::path scratch;                               // folder of the temporary files
  std::function<void(std::int64_t pairs)> on_progress = {};
};

struct MixedCorpus {
  std::string name;
  std::int64_t read = 0, written = 0;
  std::array<std::int64_t, kVariants.size()> copies = {};  // of each variant; they are in `written`
};

using PairSink = std::function<void(const PairView& pair)>;
std::vector<MixedCorpus> mix_corpora(const std::vector<CorpusSource>& sources, const MixOptions& options,
                                     const PairSink& write);

}  // namespace attend::data
