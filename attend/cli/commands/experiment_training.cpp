#include "attend/cli/commands/experiment_training.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/cli/support/command.h"
#include "attend/experiments/digit_training.h"
#include "attend/experiments/longer_lines.h"

namespace attend::cli {

namespace {

Json curve_json(const experiments::LearningCurve& curve) {
  return {{"steps", curve.steps}, {"loss", curve.losses}, {"seconds", curve.seconds}};
}

Json digits_json(const std::vector<experiments::DigitResult>& results) {
  Json list = Json::array();
  for (const auto& one : results)
    list.push_back({{"model", one.model},
                    {"score", one.score},
                    {"parameters", one.parameters},
                    {"right", one.right},
                    {"curve", curve_json(one.curve)}});
  return list;
}

void print_digits(const std::vector<experiments::DigitResult>& results, const experiments::DigitTraining& training,
                  const Streams& streams) {
  streams.out << fmt::format("Reverse {} to {} digits: {} steps of {} strings, then {} unseen strings\n\n",
                             training.min_length, training.max_length, training.learn.steps, training.rows,
                             training.tested)
              << "model        score           parameters  loss, middle  loss, end   right  seconds\n";
  for (const auto& one : results)
    streams.out << fmt::format("{:<12} {:<15} {:>10}  {:>12.3f} {:>10.3f} {:>6.1f}% {:>8.1f}\n", one.model, one.score,
                               one.parameters, one.curve.losses[one.curve.losses.size() / 2 - 1],
                               one.curve.losses.back(), 100 * one.right, one.curve.seconds);
}

struct ScoresFlags {
  std::string models = "transformer,rnn", scores = "scaled-dot,dot,general,additive,cosine";
  std::int64_t steps = 500;
  TrainingFlags training = {};
  ExperimentOutput output = {};
};

std::vector<std::string> listed(const std::string& names, const char* flag) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    check(end > begin, "{} has an empty name: '{}'", flag, names);
    result.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

void run_scores_command(const ScoresFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  experiments::ScoreOptions options{.models = listed(flags.models, "--models"),
                                    .scores = listed(flags.scores, "--scores")};
  options.training.seed = flags.training.seed, options.training.learn.steps = flags.steps;
  const auto models = static_cast<std::int64_t>(options.models.size() * options.scores.size());
  options.training.learn.on_step = step_report(streams, models * flags.steps);
  const auto backend = open_backend(flags.training.device, {.threads = flags.training.threads});
  const auto results = experiments::run_scores(options, *backend);
  options.training.learn.on_step = {};
  write_figure_files(flags.output, files, experiments::scores_figure(results));
  if (flags.output.json)
    streams.out << digits_json(results).dump() << '\n';
  else
    print_digits(results, options.training, streams);
}

struct LongerFlags {
  experiments::LongerOptions options = {};
  std::string positions = "learned,sinusoidal,relative,rotary";
  TrainingFlags training = {};
  ExperimentOutput output = {};
};

void run_longer_command(const LongerFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  experiments::LongerOptions options = flags.options;
  options.positions = listed(flags.positions, "--positions"), options.seed = flags.training.seed;
  options.learn.on_step =
      step_report(streams, static_cast<std::int64_t>(options.positions.size()) * options.learn.steps);
  const auto backend = open_backend(flags.training.device, {.threads = flags.training.threads});
  const auto results = experiments::run_longer(options, *backend);
  options.learn.on_step = {};
  write_figure_files(flags.output, files, experiments::longer_figure(options, results));
  if (flags.output.json) {
    Json list = Json::array();
    for (const auto& one : results)
      list.push_back({{"positions", one.positions},
                      {"parameters", one.parameters},
                      {"within", one.within},
                      {"beyond", one.beyond},
                      {"right", one.right},
                      {"curve", curve_json(one.curve)}});
    streams.out << list.dump() << '\n';
    return;
  }
  streams.out << fmt::format(
      "Every letter is the successor of the one {} places before it; {} steps on lines of {} letters\n\n",
      options.offset, options.learn.steps, options.length);
  streams.out << fmt::format("{:<18} {:>10} {:>10}   {:>17} {:>17} {:>8}\n", "positions", "parameters", "loss, end",
                             fmt::format("places {} to {}", options.offset + 1, options.length + 1),
                             fmt::format("{} to {}", options.length + 2, 2 * options.length + 1), "seconds");
  for (const auto& one : results)
    streams.out << fmt::format("{:<18} {:>10} {:>10.3f}   {:>16.1f}% {:>16.1f}% {:>8.1f}\n", one.positions,
                               one.parameters, one.curve.losses.back(), 100 * one.within, 100 * one.beyond,
                               one.curve.seconds);
}

void add_scores_command(Flags& group, const Streams& streams) {
  add_command<ScoresFlags>(
      group, streams,
      {.name = "scores",
       .help = "Train a small Transformer and an RNN with each attention score, and compare them.",
       .examples = R"(
  attend experiment scores --svg scores.svg
  attend experiment scores --models transformer --scores dot,scaled-dot --steps 600)"},
      [](Flags& flags, ScoresFlags& options) {
        flags.add("--models", options.models, "Models, separated by commas: transformer, rnn.").takes("NAMES");
        flags
            .add("--scores", options.scores, "Scores, separated by commas: scaled-dot, dot, general, additive, cosine.")
            .takes("NAMES");
        flags.add("--steps", options.steps, "Training steps of each model.").between(2, 1e6);
        list_training_flags(flags, options.training);
        list_output_flags(flags, options.output);
      },
      run_scores_command);
}

void add_longer_command(Flags& group, const Streams& streams) {
  add_command<LongerFlags>(
      group, streams,
      {.name = "longer",
       .help = "Train small GPTs with different positions, and test them on lines twice as long.",
       .examples = R"(
  attend experiment longer --svg longer.svg
  attend experiment longer --positions rotary,none --length 16 --offset 3)"},
      [](Flags& flags, LongerFlags& options) {
        flags
            .add("--positions", options.positions,
                 "Encodings, separated by commas: learned, sinusoidal, sinusoidal-halves, relative, rotary, none.")
            .takes("NAMES");
        flags.add("--length", options.options.length, "Letters of a training line.").between(4, 256);
        flags.add("--offset", options.options.offset, "How many places before it the letter stands that decides.")
            .between(1, 255);
        flags.add("--steps", options.options.learn.steps, "Training steps of each model.").between(2, 1e6);
        list_training_flags(flags, options.training);
        list_output_flags(flags, options.output);
      },
      run_longer_command);
}

}  // namespace

void list_scaling_training_flags(Flags& flags, ScalingTrainingFlags& options) {
  flags.add("--train", options.train, "Train a Transformer with one head both ways instead, and compare.");
  flags.add("--dimensions", options.width, "With --train: width of the head, d.").between(8, 256);
  flags.add("--steps", options.steps, "With --train: training steps.").between(2, 1e6);
}

void run_scaling_training(const ScalingTrainingFlags& flags, const ExperimentOutput& output, const Streams& streams) {
  OutputFiles files = opened(output, streams);
  experiments::ScalingTraining options{.width = flags.width};
  options.training.seed = flags.training.seed, options.training.learn.steps = flags.steps;
  options.training.learn.on_step = step_report(streams, 2 * flags.steps);
  const auto backend = open_backend(flags.training.device, {.threads = flags.training.threads});
  const auto results = experiments::train_scaling(options, *backend);
  options.training.learn.on_step = {};
  write_figure_files(output, files, experiments::scaling_training_figure(results));
  if (output.json) {
    streams.out << digits_json(results).dump() << '\n';
    return;
  }
  streams.out << fmt::format("One head of width d = {}. ", flags.width);
  print_digits(results, options.training, streams);
}

void add_training_experiments(Flags& group, const Streams& streams) {
  add_scores_command(group, streams);
  add_longer_command(group, streams);
}

}  // namespace attend::cli
