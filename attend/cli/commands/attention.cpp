#include "attend/cli/commands/attention.h"

#include <fmt/core.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/view/worked_attention.h"
#include "attend/view/worked_json.h"

namespace attend::cli {

namespace {

struct AttentionOptions {
  std::string q, k, v, w, example, scale, mask;
  view::Score score = view::Score::dot;
  int digits = 2;
  bool json = false;
  std::string svg, png;
  FigureFlags figure = {};
};

constexpr const char* kAttentionExamples = R"(
  attend attention --example slide # q·k = 112 and 96, / 8 = 14 and 12, softmax 0.88 and 0.12
  attend attention --example dictionary --svg dictionary.svg # a soft dictionary: a query between two keys gets both
  attend attention --q "1 0; 0 1" --k "1 0; 0 1; 1 1" --v "10; 20; 30" # 2 queries, 3 keys, d_k = 2, d_v = 1
  attend attention --q "it 1 0" --k "animal 2 0; street 0 2" --v "1 0; 0 1" # rows with names
  attend attention --q q.npy --k k.csv --v v.txt --mask causal --scale none
  attend attention --q "1 2" --k "2 1; 1 2" --v "1 0; 0 1" --score cosine --json)";

// An argument names a file, or is the matrix itself.
bool is_file(const std::string& argument) {
  std::error_code ignored;
  if (std::filesystem::exists(argument, ignored)) return true;
  const std::string ending = std::filesystem::path(argument).extension().string();
  return ending == ".npy" || ending == ".csv" || ending == ".tsv" || ending == ".txt";
}

view::NamedMatrix matrix_of(const std::string& flag, const std::string& argument) {
  if (argument.empty()) return {};
  if (is_file(argument)) return view::read_matrix(read_file(argument), fmt::format("{} {}", flag, argument));
  check(argument.find_first_of("0123456789") != std::string::npos || argument.find_first_of("/.") == std::string::npos,
        "{}: there is no file '{}'", flag, argument);
  return view::read_matrix(argument, flag);
}

void use_example(AttentionOptions& options) {
  check(options.q.empty() && options.k.empty() && options.v.empty(),
        "attention: --example brings its own q, k and v; leave --q, --k and --v out");
  const view::WorkedExample& example = view::worked_example(options.example);
  options.q = example.q, options.k = example.k, options.v = example.v;
}

void run_attention(const AttentionOptions& given, const Streams& streams) {
  AttentionOptions options = given;
  if (!options.example.empty()) use_example(options);
  for (const auto& [flag, value] : {std::pair{"--q", options.q}, {"--k", options.k}, {"--v", options.v}})
    check(!value.empty(), "attention: {} is missing; give --q, --k and --v, or --example slide", flag);
  std::vector<std::string> read;
  for (const std::string& argument : {options.q, options.k, options.v, options.w})
    if (!argument.empty() && is_file(argument)) read.push_back(argument);
  OutputFiles outputs(command_files(
      streams, {.outputs = {{"--svg", options.svg}, {"--png", options.png}}, .files = read, .reads_lines = false}));
  const bool scaled = options.scale.empty() ? options.score == view::Score::dot : options.scale == "sqrt";
  const view::WorkedAttention worked = view::work_attention(
      matrix_of("--q", options.q), matrix_of("--k", options.k), matrix_of("--v", options.v),
      matrix_of("--w", options.w), {.score = options.score, .scaled = scaled, .causal = options.mask == "causal"});
  const view::Figure figure = view::worked_figure(worked, options.digits);
  if (!options.svg.empty()) outputs.write(options.svg, svg_of(figure, options.figure));
  if (!options.png.empty()) outputs.write(options.png, png_of(figure, options.figure));
  if (options.json)
    streams.out << view::to_json(worked).dump() << '\n';
  else
    streams.out << view::worked_tables(worked, options.digits);
  outputs.commit();
}

}  // namespace

void add_attention_command(Flags& program, const Streams& streams) {
  add_command<AttentionOptions>(
      program, streams,
      {.name = "attention",
       .help = "Compute attention on your own numbers, step by step.",
       .examples = kAttentionExamples,
       .notes =
           {"A matrix is a file (text, CSV or .npy) or the numbers themselves: rows end with ; or a new line; 1.5*64 "
            "is a number 64 times. A row may begin with its name, and a first row of words names the columns.",
            "Queries and keys need equally many columns (d_k), keys and values equally many rows. Scores: dot is q k; "
            "additive is w tanh(q + k) (Bahdanau); general is q W k (Luong); cosine is q k / (|q| |k|)."}},
      [](Flags& flags, AttentionOptions& options) {
        flags.add("--q", options.q, "Queries: a file, or numbers such as \"1 0; 0 1\".").group("Data");
        flags.add("--k", options.k, "Keys: one row for each.").group("Data");
        flags.add("--v", options.v, "Values: one row for each key.").group("Data");
        flags
            .add("--w", options.w,
                 "The matrix W of --score general, or the vector w of additive. Default: identity, ones.")
            .group("Data");
        flags.add("--example", options.example, "Use built-in numbers.").one_of({"slide", "dictionary"}).group("Data");
        flags.add("--score", options.score,
                  {{"dot", view::Score::dot},
                   {"additive", view::Score::additive},
                   {"general", view::Score::general},
                   {"cosine", view::Score::cosine}},
                  "How a query is compared with a key.");
        flags.add("--scale", options.scale, "Divide the scores by the square root of d_k (sqrt), or not (none).")
            .one_of({"none", "sqrt"})
            .shown_as("sqrt for dot, none for others");
        flags.add("--mask", options.mask, "Hide later keys: query i sees keys 1 to i.").one_of({"none", "causal"});
        flags.add("--digits", options.digits, "Digits after the decimal point.").between(0, 9).group("Output");
        flags.add("--svg", options.svg, "Write the steps as an SVG figure.");
        flags.add("--png", options.png, "Write the steps as a PNG figure.");
        flags.add("--json", options.json, "Print one JSON object with every step in full precision.");
        add_figure_flags(flags, options.figure);
      },
      run_attention);
}

}  // namespace attend::cli
