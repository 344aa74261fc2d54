#include <fmt/core.h>

#include <ostream>

#include "attend/cli/commands/data_corpus.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/language_pair.h"

namespace attend::cli {

namespace {

constexpr const char* kDataSplitExamples = R"(
  attend data split --source all.en --target all.fr --out split # split/train.en, train.fr, valid.en, ..
  attend data split --source all.de --target all.en --languages de-en --valid 1000 --test 3000 --out split)";

}  // namespace

void run_data_split(const DataSplitOptions& options, const Streams& streams) {
  const auto [source, target] = language_pair(options.languages);
  const std::filesystem::path out = options.out;
  const auto file = [&](const char* part, const std::string& language) {
    return (out / (std::string(part) + "." + language)).string();
  };
  std::vector<OutputFiles::Named> named;
  for (const char* part : {"train", "valid", "test"})
    for (const std::string& language : {source, target}) named.push_back({"--out", file(part, language)});
  OutputFiles outputs({.outputs = named, .inputs = {options.in.source, options.in.target}});
  data::Split split(data::PairReader(options.in.files()), options.sizes);
  PairWriter train(outputs, file("train", source), file("train", target));
  PairWriter valid(outputs, file("valid", source), file("valid", target));
  PairWriter test(outputs, file("test", source), file("test", target));
  PairProgress progress(streams, "splitting");
  data::PairReader reader(options.in.files());
  std::int64_t dropped = 0;
  for (data::PairView pair; reader.next(pair); progress.update(reader.count())) {
    switch (split.part_of(pair)) {
      case data::SplitPart::train:
        train.write(pair);
        break;
      case data::SplitPart::valid:
        valid.write(pair);
        break;
      case data::SplitPart::test:
        test.write(pair);
        break;
      case data::SplitPart::dropped:
        ++dropped;
    }
  }
  for (PairWriter* writer : {&train, &valid, &test}) writer->finish();
  outputs.commit();
  print_report({.title = options.out,
                .counts = {{"read", reader.count()},
                           {"train", train.count()},
                           {"valid", valid.count()},
                           {"test", test.count()},
                           {"dropped: a line of a held-out set, or not UTF-8", dropped}}},
               streams);
}

void add_data_split_command(Flags& data, const Streams& streams) {
  add_command<DataSplitOptions>(
      data, streams,
      {.name = "split",
       .help = "Split parallel text into training, validation and test sets that share no sentence.",
       .examples = kDataSplitExamples,
       .notes = {"No line of the validation and test sets is on either side of a training pair, apart from case, space "
                 "and punctuation. The draw depends on the seed and the sentences, not on their order."}},
      [](Flags& flags, DataSplitOptions& options) {
        list_flags(flags, options.in);
        flags.add("--out", options.out, "Folder for train, valid and test files.").takes("FOLDER").required();
        flags.add("--languages", options.languages, "Endings of the files.");
        flags.add("--valid", options.sizes.valid, "Pairs for validation.").between(0, 1e9);
        flags.add("--test", options.sizes.test, "Pairs for the test.").between(0, 1e9);
        flags.add("--seed", options.sizes.seed, "Random seed.");
      },
      run_data_split);
}

}  // namespace attend::cli
