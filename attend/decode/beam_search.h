// Beam search: the few best beginnings are kept and continued together (greedy search is a beam of one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/nn/step_model.h"

namespace attend::decode {

// A beginning that a search kept at one of its steps, for whoever wants to see how it went.
struct BeamNode {
  std::int32_t parent = -1;  // the node it continues; -1: the start
  std::int32_t token = 0;
  std::int32_t step = 0;  // from 0
  float score = 0;        // as a hypothesis of this length would have
  bool ended = false;     // with the end token: a result, or one for a while
};

struct BeamOptions {
  std::int64_t beams = 4;
  LengthPenalty penalty = LengthPenalty::wu;
  float alpha = 0.6f;
  std::int32_t start = 1, end = 2;
  std::vector<std::int32_t> suppressed = {};  // tokens never written (padding)
  std::vector<std::int64_t> max_lengths;      // of each sentence, without start and end
  std::int64_t results = 1;                   // n best
  std::vector<BeamNode>* tree = nullptr;      // gets all that the search for a single sentence kept, step by step
};

// A search that is taken a step at a time, for whoever does other things between them. The options must outlive it.
class BeamSearch {
 public:
  // Hears of a sentence as soon as it has its results, best first.
  using Ended = std::function<void(std::size_t sentence, std::vector<Hypothesis> results)>;
  BeamSearch(nn::StepModel& model, const BeamOptions& options, Ended ended);
  ~BeamSearch();
  BeamSearch(const BeamSearch&) = delete;
  BeamSearch& operator=(const BeamSearch&) = delete;

  bool done() const;
  void step();  // one more token of every sentence that is not at its end
  // The sentence is not wanted any more; it leaves, unheard, with the next step.
  void drop(std::size_t sentence);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// For each sentence its best hypotheses, best first. model must have beams rows for each of max_lengths.size()
// sentences. A sentence ends when nothing still open can come before the results it has: stopping early never
// changes them. Equal scores go to what was found first.
std::vector<std::vector<Hypothesis>> beam_search(nn::StepModel& model, const BeamOptions& options);

}  // namespace attend::decode
