#include "attend/cli/commands/rerank.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/shared_windows.h"
#include "attend/tasks/reranker.h"

namespace attend::cli {

namespace {

constexpr std::int64_t kWindow = 16;  // batches that are sorted by length together

struct RerankCommand {
  EncoderFlags model;
  std::string query;
  std::int64_t top_k = 0;
  bool raw = false;
};

constexpr const char* kRerankExamples = R"(
  attend rerank --model ms-marco-MiniLM-L-6-v2 "how many people live in berlin" passages.txt
  attend rerank --model ms-marco-MiniLM-L-6-v2 --top-k 3 --json "python list sort" answers.txt
  grep -i berlin notes.txt | attend rerank --model ms-marco-MiniLM-L-6-v2 "population of berlin")";

void print(const RerankCommand& options, std::span<const std::string> documents, std::span<const float> scores,
           std::ostream& out) {
  std::vector<std::size_t> order(documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return scores[i]; });
  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));
  for (const std::size_t i : order)
    if (options.model.json)
      out << Json({{"index", i}, {"score", scores[i]}, {"text", documents[i]}}).dump() << '\n';
    else
      out << fmt::format("{:.4f}\t{}\n", scores[i], documents[i]);
}

void run_rerank(const RerankCommand& options, const Streams& streams) {
  const auto backend = options.model.open(*streams.world);
  check(streams.world->size() == 1, "rerank: runs as one process");
  const tasks::Reranker reranker(options.model.model, *backend, options.model.format());
  std::vector<std::string> documents;
  std::vector<float> scores;
  LineInput input({.files = options.model.files, .max_line = options.model.max_line}, streams.in);
  tasks::EncoderBatching batching{.batch = options.model.batch, .warn = [&](std::string_view message) {
                                    streams.err << "attend: " << printable(message) << '\n';
                                  }};
  const std::int64_t window = options.model.batch * kWindow;
  for (auto lines = input.next_lines(window); !lines.empty(); lines = input.next_lines(window)) {
    const std::vector<float> found = reranker.scores(options.query, lines, options.raw, batching);
    scores.insert(scores.end(), found.begin(), found.end());
    documents.insert(documents.end(), lines.begin(), lines.end());
    batching.first_line += static_cast<std::int64_t>(lines.size());
  }
  print(options, documents, scores, streams.out);
}

}  // namespace

void add_rerank_command(Flags& program, const Streams& streams) {
  add_command<RerankCommand>(
      program, streams,
      {.name = "rerank",
       .help = "Sort documents by relevance to a query (cross-encoder).",
       .examples = kRerankExamples,
       .notes = {"Each line is a document. Scores equal those of CrossEncoder.predict in sentence-transformers and of "
                 "POST /rerank: the logit after the activation in config.json, or a sigmoid."}},
      [](Flags& flags, RerankCommand& options) {
        flags.add("query", options.query, "Query to compare the documents with.").required();
        add_encoder_flags(flags, options.model, "cross-encoder");
        flags.add("files", options.model.files, "Documents, one per line. Standard input by default.");
        add_batch_flag(flags, options.model.batch, "Documents per batch.");
        add_max_line_flag(flags, options.model.max_line);
        flags.add("--top-k", options.top_k, "Number of documents to print; 0 prints all.")
            .group("Output")
            .between(0, 1e9);
        flags.add("--raw-scores", options.raw, "Print logits, without the activation.").group("Output");
      },
      run_rerank);
}

}  // namespace attend::cli
