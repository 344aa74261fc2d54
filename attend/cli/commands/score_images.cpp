#include "attend/cli/commands/score_images.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/data/images/coco_files.h"
#include "attend/metrics/captions.h"
#include "attend/metrics/detection.h"

namespace attend::cli {

namespace {

// What the twelve numbers are, as pycocotools prints them.
struct CocoStat {
  std::string_view name, overlaps, size;
  int detections;
};
constexpr std::array<CocoStat, metrics::kCocoStats> kCocoTable = {{{"AP", "0.50:0.95", "all", 100},
                                                                   {"AP", "0.50", "all", 100},
                                                                   {"AP", "0.75", "all", 100},
                                                                   {"AP", "0.50:0.95", "small", 100},
                                                                   {"AP", "0.50:0.95", "medium", 100},
                                                                   {"AP", "0.50:0.95", "large", 100},
                                                                   {"AR", "0.50:0.95", "all", 1},
                                                                   {"AR", "0.50:0.95", "all", 10},
                                                                   {"AR", "0.50:0.95", "all", 100},
                                                                   {"AR", "0.50:0.95", "small", 100},
                                                                   {"AR", "0.50:0.95", "medium", 100},
                                                                   {"AR", "0.50:0.95", "large", 100}}};

// -1 stands for nothing to find.
std::string share_text(double value) { return value < 0 ? "-" : fmt::format("{:.3f}", value); }

void write_coco_table(const data::Instances& truth, const metrics::DetectionScores& scores, std::ostream& out) {
  out << fmt::format("    {:<11}{:<8}{:>10}{:>8}\n", "IoU", "objects", "detections", "score");
  for (std::size_t i = 0; i < kCocoTable.size(); ++i) {
    const CocoStat& stat = kCocoTable[i];
    out << fmt::format("{}  {:<11}{:<8}{:>10}{:>8}\n", stat.name, stat.overlaps, stat.size, stat.detections,
                       share_text(scores.stats[i]));
  }
  std::vector<std::string> names;
  std::size_t width = 8;
  for (const data::Category& category : truth.categories) {
    names.push_back(category.name.empty() ? fmt::format("{}", category.id) : printable(category.name));
    width = std::max(width, names.back().size());
  }
  out << fmt::format("\n{:<{}}      AP\n", "category", width);
  for (std::size_t k = 0; k < names.size(); ++k)
    out << fmt::format("{:<{}}{:>8}\n", names[k], width, share_text(scores.per_category[k]));
}

void score_detections(const ScoreOptions& options, const Streams& streams) {
  const data::Instances truth = data::read_instances(options.ground_truth);
  const data::DetectionFile file = data::read_detections(options.predictions, truth);
  if (file.unknown > 0)
    streams.err << fmt::format(
        "attend: {} of {} detections in {} have a category that {} does not have; they are left "
        "out\n",
        with_commas(file.unknown), file.detections.size(), options.predictions, options.ground_truth);
  const metrics::DetectionScores scores = metrics::coco_scores(truth, file.detections);
  if (!options.json) return write_coco_table(truth, scores, streams.out);
  Json per_category = Json::object();
  for (std::size_t k = 0; k < truth.categories.size(); ++k)
    per_category[fmt::format("{}", truth.categories[k].id)] = scores.per_category[k];
  streams.out << Json({{"stats", scores.stats}, {"per_category", std::move(per_category)}}).dump() << '\n';
}

void score_captions(const ScoreOptions& options, const Streams& streams) {
  const data::CaptionFiles files = data::read_captions(options.ground_truth, options.predictions);
  if (files.left_out > 0)
    streams.err << fmt::format("attend: {} has no caption for {} of the {} images of {}; they are left out\n",
                               options.predictions, with_commas(files.left_out),
                               with_commas(files.left_out + static_cast<std::int64_t>(files.images.size())),
                               options.ground_truth);
  const metrics::CaptionScores scores = metrics::caption_scores(metrics::captioned(files.images));
  if (options.json) {
    streams.out << Json({{"bleu", scores.bleu}, {"rouge_l", scores.rouge_l}, {"cider", scores.cider}}).dump() << '\n';
    return;
  }
  for (std::size_t n = 0; n < scores.bleu.size(); ++n)
    streams.out << fmt::format("BLEU-{}   {:.3f}\n", n + 1, scores.bleu[n]);
  streams.out << fmt::format("ROUGE-L  {:.3f}\nCIDEr    {:.3f}\n", scores.rouge_l, scores.cider);
}

}  // namespace

bool is_image_metric(const std::string& name) { return name == "coco" || name == "captions"; }

void score_images(const ScoreOptions& options, const Streams& streams) {
  const std::string& metric = *std::find_if(options.metrics.begin(), options.metrics.end(), is_image_metric);
  check(options.metrics.size() == 1, "score: --metric {} goes alone, not with {} more", metric,
        options.metrics.size() - 1);
  check(!options.ground_truth.empty(), "score: --metric {} needs --ground-truth, COCO's file of {}", metric,
        metric == "coco" ? "instances" : "captions");
  check(!options.predictions.empty(), "score: --metric {} needs --predictions, a file of results", metric);
  check(options.hypotheses.empty() && options.references.empty(),
        "score: --metric {} takes --ground-truth and --predictions, not --hypotheses and --references", metric);
  if (metric == "coco") {
    score_detections(options, streams);
  } else {
    score_captions(options, streams);
  }
}

}  // namespace attend::cli
