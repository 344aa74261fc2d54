#include "attend/data/corpus/mix.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/base/scratch_file.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::size_t kPiles = 128;  // ten million pairs are 2 GB, and one pile of them 16 MB
constexpr std::uint32_t kPileStream = 1, kWeightStream = 2, kOrderStream = 4;  // and those of kVariants
constexpr std::uint32_t kChoiceStreams = 100;                                  // above the stream of a variant

bool held_out_by_name(std::string_view name) {
  for (const std::string_view word : {"dev", "valid", "val", "test"})
    if (name == word || name.ends_with("." + std::string(word)) || name.starts_with(std::string(word) + "_") ||
        name.starts_with(std::string(word) + "."))
      return true;
  return false;
}

// `train` says nothing about where a text comes from; its folder does.
std::string name_of(const std::filesystem::path& prefix) {
  const std::string stem = prefix.filename().string();
  return stem == "train" && prefix.has_parent_path()
             ? std::filesystem::absolute(prefix).parent_path().filename().string()
             : stem;
}

// Pairs dealt to piles: each pair is "source\ntarget\n".
class Piles {
 public:
  Piles(const MixOptions& options) : seed_(options.seed) {
    for (std::size_t i = 0; i < kPiles; ++i) piles_.push_back(std::make_unique<ScratchFile>(options.scratch));
  }

  void add(std::string_view source, std::string_view target) {
    const std::uint32_t pile = random_word(seed_, kPileStream, static_cast<std::uint64_t>(count_++)) % kPiles;
    piles_[pile]->write(source), piles_[pile]->write("\n");
    piles_[pile]->write(target), piles_[pile]->write("\n");
  }

  void write_shuffled(const PairSink& write) {
    std::uint64_t draws = 0;
    for (const auto& pile : piles_) {
      const std::string text = pile->read();
      std::vector<PairView> pairs;
      for (std::string_view rest = text; !rest.empty();) {
        const std::string_view source = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(source.size() + 1);
        const std::string_view target = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(target.size() + 1);
        pairs.push_back({source, target});
      }
      for (std::size_t left = pairs.size(); left > 1; --left)
        std::swap(pairs[left - 1], pairs[random_word(seed_, kOrderStream, draws++) % left]);
      for (const PairView& pair : pairs) write(pair);
    }
  }

 private:
  std::uint64_t seed_;
  std::vector<std::unique_ptr<ScratchFile>> piles_;
  std::int64_t count_ = 0;
};

}  // namespace

std::vector<CorpusSource> find_corpora(const std::filesystem::path& path, const std::string& source_language,
                                       const std::string& target_language, std::vector<std::string>& held_out) {
  const auto files_of = [&](const std::filesystem::path& prefix) {
    return PairFiles{prefix.string() + "." + source_language, prefix.string() + "." + target_language};
  };
  const auto both = [](const PairFiles& files) {
    return std::filesystem::is_regular_file(files.source) && std::filesystem::is_regular_file(files.target);
  };
  std::vector<CorpusSource> found;
  if (!std::filesystem::is_directory(path)) {
    check(both(files_of(path)), "'{}' is no folder, and there are no files '{}' and '{}'", path.string(),
          files_of(path).source.string(), files_of(path).target.string());
    return {{.name = name_of(path), .files = files_of(path)}};
  }
  std::set<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("." + source_language)) stems.insert(name.substr(0, name.size() - source_language.size() - 1));
  }
  for (const std::string& stem : stems) {
    if (!both(files_of(path / stem))) continue;
    if (held_out_by_name(stem))
      held_out.push_back((path / stem).string());
    else
      found.push_back({.name = name_of(path / stem), .files = files_of(path / stem)});
  }
  check(!found.empty(), "'{}' has no pair of files NAME.{} and NAME.{}", path.string(), source_language,
        target_language);
  return found;
}

std::vector<MixedCorpus> mix_corpora(const std::vector<CorpusSource>& sources, const MixOptions& options,
                                     const PairSink& write) {
  Piles piles(options);
  std::vector<MixedCorpus> report;
  std::int64_t read = 0;
  VariantChoice choice{.source_language = options.source_language, .target_language = options.target_language};
  PairText copy;
  for (const CorpusSource& source : sources) {
    check(source.weight >= 0 && source.weight <= 1000, "the weight of '{}' is {}, not between 0 and 1000", source.name,
          source.weight);
    MixedCorpus& mixed = report.emplace_back();
    mixed.name = source.name;
    PairReader reader(source.files);
    const std::string tag = source.tag.empty() ? "" : source.tag + " ";
    for (PairView pair; reader.next(pair); ++read) {
      const auto chance = [&](std::uint32_t stream) {
        return to_unit(random_word(options.seed, stream, static_cast<std::uint64_t>(read)));
      };
      const double whole = std::floor(source.weight);
      const int times = static_cast<int>(whole) + (chance(kWeightStream) < source.weight - whole ? 1 : 0);
      for (int i = 0; i < times; ++i) piles.add(tag + std::string(pair.source), pair.target);
      mixed.written += times;
      for (std::size_t i = 0; times > 0 && i < kVariants.size(); ++i) {
        const Variant& variant = kVariants[i];
        if (!(chance(variant.stream) < options.variants.*variant.share)) continue;
        choice.draw = random_word(options.seed, variant.stream + kChoiceStreams, static_cast<std::uint64_t>(read));
        if (!variant.apply(pair, choice, copy)) continue;
        piles.add(tag + copy.source, copy.target);
        ++mixed.written, ++mixed.copies[i];
      }
      if (options.on_progress) options.on_progress(read);
    }
    mixed.read = reader.count();
  }
  piles.write_shuffled(write);
  return report;
}

}  // namespace attend::data
