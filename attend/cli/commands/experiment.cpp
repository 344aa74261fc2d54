#include "attend/cli/commands/experiment.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/json.h"
#include "attend/cli/commands/experiment_networks.h"
#include "attend/cli/commands/experiment_output.h"
#include "attend/cli/commands/experiment_training.h"
#include "attend/cli/support/command.h"
#include "attend/experiments/position_checks.h"
#include "attend/experiments/scaling.h"

namespace attend::cli {

namespace {

struct ScalingFlags {
  experiments::ScalingOptions options = {};
  ScalingTrainingFlags trained = {};
  ExperimentOutput output = {};
};

Json shape_json(const experiments::SoftmaxShape& shape) {
  return {{"variance", shape.variance},
          {"entropy", shape.entropy},
          {"largest", shape.largest},
          {"gradient", shape.gradient}};
}

void run_scaling_command(const ScalingFlags& flags, const Streams& streams) {
  if (flags.trained.train) return run_scaling_training(flags.trained, flags.output, streams);
  OutputFiles files = opened(flags.output, streams);
  const auto rows = experiments::run_scaling(flags.options);
  write_figure_files(flags.output, files, experiments::scaling_figure(rows));
  if (flags.output.json) {
    Json list = Json::array();
    for (const auto& row : rows)
      list.push_back({{"d", row.width}, {"scaled", shape_json(row.scaled)}, {"plain", shape_json(row.plain)}});
    streams.out << Json({{"keys", flags.options.keys}, {"trials", flags.options.trials}, {"rows", list}}).dump()
                << '\n';
    return;
  }
  streams.out << fmt::format("softmax over {} keys, q and k from a normal distribution, means of {} trials\n\n",
                             flags.options.keys, flags.options.trials)
              << "           divided by √d                      not divided\n"
              << "    d   variance  entropy  largest  gradient   variance  entropy  largest  gradient\n";
  for (const auto& row : rows) {
    streams.out << fmt::format("{:>5}", row.width);
    for (const auto* shape : {&row.scaled, &row.plain})
      streams.out << fmt::format("   {:>8.2f} {:>8.3f} {:>8.3f} {:>9.4f}", shape->variance, shape->entropy,
                                 shape->largest, shape->gradient);
    streams.out << '\n';
  }
}

struct PositionFlags {
  experiments::PositionOptions options = {};
  ExperimentOutput output = {};
};

void run_positions_command(const PositionFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  const auto checks = experiments::check_positions(flags.options);
  write_figure_files(flags.output, files, experiments::positions_figure(flags.options));
  if (flags.output.json) {
    Json list = Json::array();
    for (const auto& one : checks)
      list.push_back({{"encoding", one.name},
                      {"unique", one.unique},
                      {"bounded", one.bounded},
                      {"consistent", one.consistent},
                      {"longer", one.longer}});
    streams.out << list.dump() << '\n';
    return;
  }
  const auto said = [](bool holds) { return holds ? "yes" : "no"; };
  streams.out << fmt::format("{} positions; distances of positions {} apart\n\n", flags.options.length,
                             flags.options.offset)
              << "encoding               unique  bounded  same distance        longer sentences\n";
  for (const auto& one : checks)
    streams.out << fmt::format("{:<22} {:<7} {:<8} {:<20} {}\n", one.name, said(one.unique), said(one.bounded),
                               one.changes
                                   ? "no, by the length"
                                   : fmt::format("{} ({:.2f} to {:.2f})", said(one.consistent), one.least, one.most),
                               said(one.longer));
}

}  // namespace

void add_experiment_command(Flags& program, const Streams& streams) {
  Flags group =
      program.command_group({.name = "experiment", .help = "Run the experiments behind the formulas.", .examples = R"(
  attend experiment scaling # why attention divides by √d
  attend experiment positions # what a position encoding should be, checked for five of them
  attend experiment scores # attention scores, trained and compared
  attend experiment longer # positions and lines longer than those of training
  attend experiment reach # which input reaches which output: MLP, convolution, RNN, self-attention
  attend experiment layers # complexity, sequential steps and path length of a layer, with measured times
  attend experiment gradients # vanishing gradients of tanh, GRU and LSTM, and self-attention
  attend experiment recall # RNNs forget a name that was said early, attention does not
  attend experiment speed # are Transformers faster or slower than LSTMs?)"});
  add_command<ScalingFlags>(
      group, streams,
      {.name = "scaling", .help = "Entropy and gradient of the softmax over d, with and without √d.", .examples = R"(
  attend experiment scaling
  attend experiment scaling --keys 8 --svg scaling.svg
  attend experiment scaling --trials 2000 --json
  attend experiment scaling --train --svg curves.svg # a Transformer trained both ways)"},
      [](Flags& flags, ScalingFlags& options) {
        flags.add("--keys", options.options.keys, "Number of keys.").between(2, 65536);
        flags.add("--trials", options.options.trials, "Random queries for each d.").between(1, 1e6);
        list_scaling_training_flags(flags, options.trained);
        list_training_flags(flags, options.trained.training);
        list_output_flags(flags, options.output);
      },
      [](ScalingFlags flags, const Streams& to) {
        flags.options.seed = flags.trained.training.seed;
        run_scaling_command(flags, to);
      });
  add_command<PositionFlags>(
      group, streams,
      {.name = "positions",
       .help = "Check five position encodings: unique, bounded, consistent, longer sentences.",
       .examples = R"(
  attend experiment positions
  attend experiment positions --length 32 --svg positions.svg # sinusoids beside a binary counter)"},
      [](Flags& flags, PositionFlags& options) {
        flags.add("--length", options.options.length, "Number of positions.").between(4, 1024);
        flags.add("--dimensions", options.options.width, "Dimensions of the encoding.").between(2, 1024);
        flags.add("--offset", options.options.offset, "Distance of the positions that are compared.").between(1, 1023);
        list_output_flags(flags, options.output);
      },
      run_positions_command);
  add_network_experiments(group, streams);
  add_training_experiments(group, streams);
}

}  // namespace attend::cli
