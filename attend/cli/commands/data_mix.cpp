#include "attend/data/corpus/mix.h"

#include <fmt/core.h>

#include <charconv>
#include <map>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/cli/commands/data_corpus.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/language_pair.h"

namespace attend::cli {

namespace {

constexpr const char* kDataMixExamples = R"(
  attend data mix .data/parallel-en-fr --out-source train.en --out-target train.fr # all pairs of the folder, shuffled
  attend data mix .data/parallel-en-fr .data/tatoeba-en-fr/train --mix tatoeba-en-fr:2,hansard:0.5 --out-source train.en --out-target train.fr
  attend data mix .data/parallel-en-fr --exclude newstest2014.en newstest2014.fr --out-source train.en --out-target train.fr # no test line is in the output
  attend data mix .data/parallel-en-fr --title-case 0.02 --quotes 0.5 --no-full-stop 0.03 --quoted 0.02 --out-source train.en --out-target train.fr # for news
  attend data mix train back-translated --tag "back-translated:<bt>" --out-source all.en --out-target all.fr)";

// "a:1,b:x" as pairs; the last colon divides.
std::map<std::string, std::string> named_values(const std::string& flag, const std::string& text) {
  std::map<std::string, std::string> values;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t colon = item.rfind(':');
    check(colon != item.npos && colon > 0 && colon + 1 < item.size(), "{}: '{}' is not of the form NAME:VALUE", flag,
          item);
    values[item.substr(0, colon)] = item.substr(colon + 1);
    at = comma + 1;
  }
  return values;
}

double weight_of(const std::string& name, const std::string& text) {
  double weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  check(error == std::errc() && end == text.data() + text.size() && weight >= 0 && weight <= 1000,
        "--mix: the weight of '{}' is '{}', not a number from 0 to 1000", name, text);
  return weight;
}

std::vector<data::CorpusSource> chosen_corpora(const DataMixOptions& options, std::vector<std::string>& held_out) {
  const auto [source, target] = language_pair(options.languages);
  std::vector<data::CorpusSource> corpora;
  for (const std::string& path : options.corpora)
    for (data::CorpusSource& found : data::find_corpora(path, source, target, held_out))
      corpora.push_back(std::move(found));
  std::vector<std::string> names;
  for (const data::CorpusSource& corpus : corpora) names.push_back(corpus.name);
  const auto all_named = [&](const std::string& name) -> std::vector<data::CorpusSource*> {
    std::vector<data::CorpusSource*> named;
    for (data::CorpusSource& corpus : corpora)
      if (corpus.name == name) named.push_back(&corpus);
    check(!named.empty(), "there is no corpus '{}'; those given are: {}", name, joined(names, ", "));
    return named;
  };
  for (const auto& [name, text] : named_values("--mix", options.weights))
    for (data::CorpusSource* corpus : all_named(name)) corpus->weight = weight_of(name, text);
  for (const auto& [name, tag] : named_values("--tag", options.tags))
    for (data::CorpusSource* corpus : all_named(name)) corpus->tag = tag;
  return corpora;
}

}  // namespace

void run_data_mix(const DataMixOptions& options, const Streams& streams) {
  const auto [source, target] = language_pair(options.languages);
  std::vector<std::string> held_out;
  const std::vector<data::CorpusSource> corpora = chosen_corpora(options, held_out);
  std::vector<std::filesystem::path> inputs(options.exclude.begin(), options.exclude.end());
  for (const data::CorpusSource& corpus : corpora) {
    inputs.push_back(corpus.files.source);
    inputs.push_back(corpus.files.target);
  }
  OutputFiles outputs({.outputs = {{"--out-source", options.out.source},
                                   {"--out-target", options.out.target},
                                   {"--report", options.out.report}},
                       .inputs = inputs});
  data::PairCleaner cleaner({.min_words = 0, .max_words = 1 << 30, .max_ratio = 0, .identical = true, .language = 0},
                            {});
  for (const std::string& file : options.exclude) cleaner.exclude(file);
  PairWriter writer(outputs, options.out.source, options.out.target);
  PairProgress progress(streams, "mixing");
  std::map<data::PairFault, std::int64_t> dropped;
  const std::filesystem::path folder = std::filesystem::absolute(options.out.source).parent_path();
  const auto mixed = data::mix_corpora(corpora,
                                       {.seed = options.seed,
                                        .variants = options.variants,
                                        .source_language = source,
                                        .target_language = target,
                                        .scratch = folder,
                                        .on_progress = [&](std::int64_t pairs) { progress.update(pairs); }},
                                       [&](const data::PairView& pair) {
                                         const data::PairFault fault = cleaner.clean(pair);
                                         if (fault == data::PairFault::none)
                                           writer.write({cleaner.source(), cleaner.target()});
                                         else
                                           ++dropped[fault];
                                       });
  writer.finish();
  CorpusReport report = {.title = "pairs taken from each corpus"};
  for (const data::MixedCorpus& corpus : mixed) report.counts.emplace_back(corpus.name, corpus.written);
  for (std::size_t i = 0; i < data::kVariants.size(); ++i) {
    std::int64_t copies = 0;
    for (const data::MixedCorpus& corpus : mixed) copies += corpus.copies[i];
    if (copies > 0) report.counts.emplace_back(fmt::format("of them {}", data::kVariants[i].counted), copies);
  }
  for (const auto& [fault, count] : dropped)
    report.counts.emplace_back(fmt::format("dropped: {}", data::kPairFaults[static_cast<std::size_t>(fault)]), count);
  report.counts.emplace_back("written", writer.count());
  write_report(report, outputs, options.out.report);
  outputs.commit();
  print_report(report, streams);
  if (!held_out.empty()) streams.out << "held out by their names: " << joined(held_out, ", ") << '\n';
}

void add_data_mix_command(Flags& data, const Streams& streams) {
  add_command<DataMixOptions>(
      data, streams,
      {.name = "mix",
       .help = "Mix parallel corpora with weights into one shuffled training set.",
       .examples = kDataMixExamples,
       .notes =
           {"A corpus is a pair of files NAME.en and NAME.fr (--languages), given by that prefix, or every such "
            "pair of a folder. Files called dev, valid, val or test are left out of a folder and named.",
            "A corpus called train has the name of its folder. A weight of 2.5 takes each pair twice, and half of "
            "them once more.",
            "Copies for the news (--title-case, --quotes, --no-full-stop, --quoted) stand beside the pair, at most "
            "one of each kind. A copy's target has the quotation marks of its language, its source any.",
            "The same seed gives the same files."}},
      [](Flags& flags, DataMixOptions& options) {
        flags.add("corpora", options.corpora, "Folders, or prefixes of two files.").required();
        list_flags(flags, options.out);
        flags.add("--languages", options.languages, "Endings of the files, source first.");
        flags.add("--mix", options.weights, "Weights: NAME:WEIGHT,NAME:WEIGHT. Other corpora have 1.");
        flags.add("--tag", options.tags, "Tokens in front of source lines: NAME:TAG, for back-translated text.");
        flags.add("--exclude", options.exclude, "Test files: a pair with one of their lines on either side is dropped.")
            .takes("FILE");
        for (const data::Variant& variant : data::kVariants)
          flags.add(variant.flag, options.variants.*variant.share, variant.help).takes("SHARE").between(0, 1);
        flags.add("--seed", options.seed, "Random seed.");
      },
      run_data_mix);
}

}  // namespace attend::cli
