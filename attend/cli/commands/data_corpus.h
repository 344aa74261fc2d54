// attend data clean, dedup, split and mix: parallel text before a translator is trained on it (docs/translation.md).
// Every command streams; ten million pairs take less than 2 GB.
#pragma once

#include <string>
#include <vector>

#include "attend/cli/support/corpus_files.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"
#include "attend/data/corpus/clean.h"
#include "attend/data/corpus/duplicates.h"
#include "attend/data/corpus/split.h"
#include "attend/data/corpus/variants.h"

namespace attend::cli {

struct DataCleanOptions {
  CorpusIn in;
  CorpusOut out;
  data::CleanOptions rules = {};
  std::vector<std::string> exclude = {};
};
void run_data_clean(const DataCleanOptions& options, const Streams& streams);
void add_data_clean_command(Flags& data, const Streams& streams);

struct DataDedupOptions {
  CorpusIn in;
  CorpusOut out;
  data::DuplicateOptions rules = {};
};
void run_data_dedup(const DataDedupOptions& options, const Streams& streams);
void add_data_dedup_command(Flags& data, const Streams& streams);

struct DataSplitOptions {
  CorpusIn in;
  std::string out;
  std::string languages = "en-fr";
  data::SplitOptions sizes = {};
};
void run_data_split(const DataSplitOptions& options, const Streams& streams);
void add_data_split_command(Flags& data, const Streams& streams);

struct DataMixOptions {
  std::vector<std::string> corpora = {};
  CorpusOut out;
  std::string languages = "en-fr";
  std::string weights = {}, tags = {};
  std::vector<std::string> exclude = {};
  data::VariantShares variants = {};
  std::uint64_t seed = 1;
};
void run_data_mix(const DataMixOptions& options, const Streams& streams);
void add_data_mix_command(Flags& data, const Streams& streams);

}  // namespace attend::cli
