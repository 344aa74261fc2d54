// attend score: BLEU, chrF and TER of translations against references, as sacreBLEU computes and prints them; boxes and
// captions of images as COCO does (score_images.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attend/cli/support/streams.h"
#include "attend/metrics/bleu.h"
#include "attend/metrics/chrf.h"
#include "attend/metrics/ter.h"

namespace attend::cli {

class Flags;

struct ScoreOptions {
  std::string hypotheses;  // - is standard input
  std::vector<std::string> references;
  std::string ground_truth, predictions;  // of images
  std::vector<std::string> metrics = {"bleu"};
  std::string tokenize = "13a", smooth_method = "exp";
  bool lowercase = false;
  bool json = false, sentence_level = false, score_only = false;
  std::optional<int> width = {};  // digits after the point: 1, or all of them in JSON
  metrics::BleuOptions bleu = {};
  metrics::ChrfOptions chrf = {};
  metrics::TerOptions ter = {};
};

void run_score(const ScoreOptions& options, const Streams& streams);
void add_score_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
