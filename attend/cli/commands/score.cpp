#include "attend/cli/commands/score.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <ostream>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/unicode/unicode.h"
#include "attend/cli/commands/score_images.h"
#include "attend/cli/support/command.h"
#include "attend/metrics/unicode.h"

namespace attend::cli {

namespace {

constexpr const char* kScoreExamples = R"(
  attend score --hypotheses out.de --references test.de # BLEU
  attend translate --model DIR < test.en | attend score --hypotheses - --references test.de
  attend score --metric coco --ground-truth instances_valid.json --predictions boxes.json # AP and AR of boxes
  attend score --hypotheses out.de --references a.de b.de --metric bleu chrf ter --json
  attend score --metric captions --ground-truth captions_valid.json --predictions captions.json # BLEU, ROUGE-L, CIDEr)";

constexpr int kWarnTokenized = 100;  // lines that end in " .": as many as sacreBLEU waits for

// A file in memory, cut at line feeds. A carriage return before one is white space, which no metric counts.
struct TextFile {
  std::string name, text;
  std::vector<std::string_view> lines;
};

std::unique_ptr<TextFile> read_lines(const std::string& path, std::istream& in) {
  auto file = std::make_unique<TextFile>();
  file->name = path == "-" ? "standard input" : path;
  file->text = path == "-" ? read_text(in, file->name) : read_text(path);
  for (std::string_view rest = file->text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (const auto byte = find_invalid_utf8(line))
      fail("score: {}, line {}: not UTF-8 at byte {}", file->name, file->lines.size() + 1, *byte + 1);
    file->lines.push_back(metrics::strip_right(line));
  }
  return file;
}

std::unique_ptr<metrics::Metric> make_metric(const std::string& name, const ScoreOptions& options) {
  if (name == "bleu") {
    metrics::BleuOptions bleu = options.bleu;
    bleu.tokenizer = metrics::tokenizer_named(options.tokenize);
    bleu.smoothing = metrics::smoothing_named(options.smooth_method);
    bleu.lowercase = options.lowercase;
    bleu.effective_order = bleu.effective_order || options.sentence_level;
    return std::make_unique<metrics::Bleu>(bleu);
  }
  if (name == "chrf") {
    metrics::ChrfOptions chrf = options.chrf;
    chrf.lowercase = options.lowercase;
    return std::make_unique<metrics::Chrf>(chrf);
  }
  check(name == "ter", "unknown metric \"{}\": it must be bleu, chrf or ter", name);
  return std::make_unique<metrics::Ter>(options.ter);
}

// sacreBLEU's object; the score has all its digits unless some number of them was asked for.
Json to_json(const metrics::Report& report, const std::optional<int>& width) {
  double score = report.score;
  if (width) {
    const std::string rounded = fmt::format("{:.{}f}", score, *width);
    std::from_chars(rounded.data(), rounded.data() + rounded.size(), score);
  }
  Json json = {{"name", report.name}, {"score", score}, {"signature", metrics::signature_text(report)}};
  if (!report.details.empty()) json["verbose_score"] = report.details;
  for (const auto& [key, value] : report.signature) json[key] = value;
  return json;
}

std::string to_text(const metrics::Report& report, const ScoreOptions& options) {
  const int digits = options.width.value_or(1);
  return options.score_only ? fmt::format("{:.{}f}", report.score, digits) : metrics::report_line(report, digits);
}

// A line for each segment; in JSON, an object per line.
void write_sentences(const TextFile& hypotheses, const std::vector<std::vector<std::string_view>>& references,
                     const ScoreOptions& options, std::ostream& out) {
  check(options.metrics.size() == 1, "score: --sentence-level takes one metric, not {}", options.metrics.size());
  const auto metric = make_metric(options.metrics[0], options);
  for (std::size_t i = 0; i < hypotheses.lines.size(); ++i) {
    metric->clear();
    metric->add(hypotheses.lines[i], references[i]);
    const metrics::Report report = metric->report();
    out << (options.json ? to_json(report, options.width).dump() : to_text(report, options)) << '\n';
  }
}

void write_corpus(const TextFile& hypotheses, const std::vector<std::vector<std::string_view>>& references,
                  const ScoreOptions& options, std::ostream& out) {
  Json list = Json::array();
  for (const std::string& name : options.metrics) {
    const auto metric = make_metric(name, options);
    for (std::size_t i = 0; i < hypotheses.lines.size(); ++i) metric->add(hypotheses.lines[i], references[i]);
    if (options.json) {
      list.push_back(to_json(metric->report(), options.width));
    } else {
      out << to_text(metric->report(), options) << '\n';
    }
  }
  if (options.json) out << (list.size() == 1 ? list[0] : list).dump(1) << '\n';
}

void warn_if_tokenized(const TextFile& hypotheses, std::ostream& err) {
  int tokenized = 0;
  for (const std::string_view line : hypotheses.lines) tokenized += line.ends_with(" .");
  if (tokenized >= kWarnTokenized)
    err << fmt::format("attend: {} lines of {} end in \" .\": BLEU wants text that is not tokenized\n", tokenized,
                       hypotheses.name);
}

void list_score_flags(Flags& flags, ScoreOptions& options) {
  flags.add("--hypotheses", options.hypotheses, "Translations, one per line; - reads standard input.");
  flags.add("--references", options.references,
            "Reference translations: one or more files with the same number of lines.");
  flags
      .add("--metric", options.metrics,
           "Metrics: bleu, chrf and ter for text, one or more; coco or captions for images.")
      .one_of({"bleu", "chrf", "ter", "coco", "captions"})
      .group("Metric");
  flags.add("--ground-truth", options.ground_truth, "coco, captions: COCO instances or captions file.");
  flags.add("--predictions", options.predictions, "coco, captions: results to score, a JSON list.");
  flags.add("--tokenize", options.tokenize, "Tokenizer.").one_of({"13a", "intl", "char", "none"}).group("BLEU");
  flags.add("--lowercase", options.lowercase, "BLEU and chrF: ignore case, as TER does by default.").group("Metric");
  flags.add("--json", options.json, "Print a JSON object with full precision, or a list for several metrics.");
  flags.add("--sentence-level", options.sentence_level, "Print a score per line. BLEU uses effective order.")
      .group("Output");
  flags.add("--score-only", options.score_only, "Print only the number.").group("Output");
  flags.add("--width", options.width, "Decimal places; 1 by default, all with --json.").group("Output").between(0, 17);
  flags.add("--smooth-method", options.smooth_method, "Smoothing method.")
      .one_of({"exp", "floor", "add-k", "none"})
      .group("BLEU");
  flags
      .add("--smooth-value", options.bleu.smooth_value, "Smoothing value of floor (default 0.1) and add-k (default 1).")
      .group("BLEU");
  flags.add("--effective-order", options.bleu.effective_order, "Skip n-gram orders without matches.").group("BLEU");
  flags.add("--chrf-char-order", options.chrf.char_order, "Maximum character n-gram order.")
      .between(0, 100)
      .group("chrF");
  flags.add("--chrf-word-order", options.chrf.word_order, "Maximum word n-gram order; 2 is chrF++.")
      .between(0, 100)
      .group("chrF");
  flags.add("--chrf-beta", options.chrf.beta, "Weight of recall.").between(0, 1000).group("chrF");
  flags.add("--chrf-whitespace", options.chrf.whitespace, "Include white space.").group("chrF");
  flags.add("--chrf-eps-smoothing", options.chrf.eps_smoothing, "Epsilon smoothing, as in chrF++.py, NLTK and Moses.")
      .group("chrF");
  flags.add("--ter-case-sensitive", options.ter.case_sensitive, "Case-sensitive comparison.").group("TER");
  flags.add("--ter-normalized", options.ter.normalized, "Separate punctuation.").group("TER");
  flags.add("--ter-no-punct", options.ter.no_punctuation, "Remove punctuation.").group("TER");
  flags.add("--ter-asian-support", options.ter.asian, "Also separate or remove Chinese and Japanese punctuation.")
      .group("TER");
}

}  // namespace

void run_score(const ScoreOptions& options, const Streams& streams) {
  if (std::any_of(options.metrics.begin(), options.metrics.end(), is_image_metric))
    return score_images(options, streams);
  check(!options.hypotheses.empty(), "score: --hypotheses is required");
  check(!options.references.empty(), "score: --references is required");
  check(options.ground_truth.empty() && options.predictions.empty(),
        "score: --ground-truth and --predictions belong to --metric coco and --metric captions");
  const auto hypotheses = read_lines(options.hypotheses, streams.in);
  check(!hypotheses->lines.empty(), "score: {} is empty", hypotheses->name);
  std::vector<std::unique_ptr<TextFile>> files;
  std::vector<std::vector<std::string_view>> references(hypotheses->lines.size());  // [segment][reference]
  for (const std::string& path : options.references) {
    check(path != "-" || options.hypotheses != "-", "score: standard input is read for the hypotheses already");
    files.push_back(read_lines(path, streams.in));
    const TextFile& file = *files.back();
    check(file.lines.size() == hypotheses->lines.size(), "score: {} has {} lines but {} has {}", hypotheses->name,
          hypotheses->lines.size(), file.name, file.lines.size());
    for (std::size_t i = 0; i < file.lines.size(); ++i) references[i].push_back(file.lines[i]);
  }
  for (const std::string& name : options.metrics)
    if (name == "bleu") warn_if_tokenized(*hypotheses, streams.err);
  if (options.sentence_level) {
    write_sentences(*hypotheses, references, options, streams.out);
  } else {
    write_corpus(*hypotheses, references, options, streams.out);
  }
}

void add_score_command(Flags& program, const Streams& streams) {
  add_command<ScoreOptions>(
      program, streams,
      {.name = "score",
       .help = "Score translations (BLEU, chrF, TER), boxes (COCO AP) and captions.",
       .examples = kScoreExamples,
       .notes = {"BLEU, chrF and TER equal those of sacreBLEU; coco and captions those of the COCO tools. Box "
                 "predictions are [{\"image_id\", \"category_id\", \"bbox\": [x, y, width, height], \"score\"}], "
                 "captions are [{\"image_id\", \"caption\"}].",
                 "With --json, boxes give {\"stats\": [12 numbers], \"per_category\": {id: AP}}, where -1 means no "
                 "ground truth, and captions give {\"bleu\": [4 numbers], \"rouge_l\", \"cider\"}."}},
      list_score_flags, run_score);
}

}  // namespace attend::cli
