// Made texts for the four tasks of BERT (Devlin et al. 2019, figure 4), in the formats of the public datasets:
//   pairs.train.tsv      two sentences: entailment, contradiction or neutral (MNLI)
//   sentences.train.tsv  one sentence: acceptable or unacceptable (CoLA): does every verb agree with its subject?
//   questions.train.json where is somebody now? The answer is a word of the story (SQuAD's JSON)
//   tags.train.conll     names of people and places (CoNLL-2003); Paris may be either, and its sentence decides
// and the same with valid and test. No text is in two of the three sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace attend::data {

struct StoryFolderOptions {
  std::int64_t count = 20000;  // examples of each task to learn from
  std::int64_t unseen = 1000;  // to validate with, and as many to test with
  std::uint64_t seed = 1;
  // Called with the examples done so far. What it throws ends the work and leaves nothing.
  std::function<void(std::int64_t done)> on_progress = {};
};

// The folder is there as a whole or not at all. Throws Error when there is one already that holds anything. Returns the
// bytes written.
std::int64_t write_stories(const std::filesystem::path& folder, const StoryFolderOptions& options);

}  // namespace attend::data
