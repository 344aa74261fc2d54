#include "attend/cli/commands/experiment_networks.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <ostream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/cli/commands/experiment_output.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/device_flags.h"
#include "attend/experiments/gradients.h"
#include "attend/experiments/layer_cost.h"
#include "attend/experiments/reach.h"
#include "attend/experiments/recall.h"
#include "attend/experiments/speed.h"

namespace attend::cli {

namespace {

// "16,64,256" -> 16, 64, 256.
std::vector<std::int64_t> numbers_in(const std::string& text, std::string_view flag) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, number);
    check(error == std::errc() && stop == text.data() + end && number >= 1,
          "experiment: {} takes numbers of 1 or more with commas between them (16,64,256), not '{}'", flag, text);
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}
std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// What every network experiment takes.
template <class Options>
struct NetworkFlags {
  Options options = {};
  std::string list = {};  // --lengths or --distances
  DeviceFlags device = {};
  ExperimentOutput output = {};
};

template <class Options>
void list_network_flags(Flags& flags, NetworkFlags<Options>& options) {
  flags.add("--seed", options.options.seed, "Random seed.");
  flags.add("--device", options.device.device, "Device: cpu, cuda or cuda:N.");
  flags.add("--threads", options.device.threads, "CPU threads; 0 uses all cores.").between(0, 1024);
  list_csv_flag(flags, options.output);
  list_output_flags(flags, options.output);
}

using ReachFlags = NetworkFlags<experiments::ReachOptions>;
void run_reach_command(const ReachFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  const auto backend = flags.device.open();
  const auto maps = experiments::run_reach(flags.options, *backend);
  ResultTable table{{"network", "pairs_reached_percent", "first_to_last", "next_to_last", "last_to_first"}, {}};
  for (const auto& map : maps) {
    const std::int64_t last = map.length - 1;
    table.rows.push_back({map.name, fmt::format("{:.1f}", 100 * map.reached()), fmt::format("{:.3g}", map.at(last, 0)),
                          fmt::format("{:.3g}", map.at(last, last - 1)), fmt::format("{:.3g}", map.at(0, last))});
  }
  std::string title = fmt::format(
      "|d output / d input| of {} layer{}, width {}, random weights. Rows are outputs, columns inputs;\n"
      "'.' is 0, 9 the largest.\n",
      flags.options.layers, flags.options.layers == 1 ? "" : "s", flags.options.width);
  for (const auto& map : maps) title += fmt::format("\n{}\n{}", map.name, experiments::reach_text(map));
  write_results(flags.output, files, streams, experiments::reach_figure(maps), title, table);
}

using GradientFlags = NetworkFlags<experiments::GradientOptions>;
void run_gradients_command(const GradientFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  const auto backend = flags.device.open();
  const auto curves = experiments::run_gradients(flags.options, *backend);
  ResultTable table{{"distance"}, {}};
  for (const auto& curve : curves) table.columns.emplace_back(experiments::name_of(curve.kind));
  for (const std::int64_t distance : experiments::shown_distances(flags.options.length)) {
    table.rows.push_back({std::to_string(distance)});
    for (const auto& curve : curves)
      table.rows.back().push_back(fmt::format("{:.2e}", curve.sizes[static_cast<std::size_t>(distance)]));
  }
  write_results(flags.output, files, streams, experiments::gradients_figure(curves),
                fmt::format("gradient of the loss at the last position by the input at a distance from it, width {}, "
                            "forget bias {}",
                            flags.options.width, flags.options.start.forget_bias),
                table);
}

using RecallFlags = NetworkFlags<experiments::RecallOptions>;
void run_recall_command(const RecallFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  experiments::RecallOptions options = flags.options;
  options.distances = numbers_in(flags.list, "--distances");
  const auto backend = flags.device.open();
  const auto rows = experiments::run_recall(options, *backend, [&](const experiments::RecallRow& row) {
    streams.err << fmt::format("distance {} done\n", row.distance);
  });
  ResultTable table{{"distance"}, {}};
  for (const auto kind : experiments::kRecallLayers) table.columns.emplace_back(experiments::name_of(kind));
  for (const auto& row : rows) {
    table.rows.push_back({std::to_string(row.distance)});
    for (const double accuracy : row.accuracy) table.rows.back().push_back(fmt::format("{:.1f}", 100 * accuracy));
  }
  // A plot needs two places.
  const view::Figure figure =
      rows.size() > 1 ? experiments::recall_figure(rows, 1.0 / static_cast<double>(options.names)) : view::Figure{};
  check(rows.size() > 1 || (flags.output.svg.empty() && flags.output.png.empty()),
        "experiment: a figure needs two or more --distances");
  write_results(flags.output, files, streams, figure,
                fmt::format("names remembered (%) after {} steps of {} texts; chance is {:.1f} %", options.steps,
                            options.batch, 100.0 / static_cast<double>(options.names)),
                table);
}

using LayerFlags = NetworkFlags<experiments::LayerCostOptions>;
void run_layers_command(const LayerFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  experiments::LayerCostOptions options = flags.options;
  options.lengths = numbers_in(flags.list, "--lengths");
  const auto backend = flags.device.open();
  const auto rows = experiments::run_layer_costs(options, *backend);
  ResultTable formulas{{"layer", "complexity", "sequential steps", "path length"}, {}};
  for (const auto& formula : experiments::kLayerFormulas)
    formulas.rows.push_back(
        {std::string(experiments::name_of(formula.kind)), formula.complexity, formula.sequential, formula.path});
  ResultTable table{{"n", "layer", "multiply_adds", "sequential_steps", "path_length", "forward_ms", "training_ms"},
                    {}};
  for (const auto& row : rows)
    table.rows.push_back({std::to_string(row.length), std::string(experiments::name_of(row.kind)),
                          fmt::format("{:.0f}", row.multiply_adds), std::to_string(row.sequential),
                          std::to_string(row.path), fmt::format("{:.3f}", row.forward),
                          fmt::format("{:.3f}", row.training)});
  check(options.lengths.size() > 1 || (flags.output.svg.empty() && flags.output.png.empty()),
        "experiment: a figure needs two or more --lengths");
  write_results(flags.output, files, streams,
                options.lengths.size() > 1 ? experiments::layer_cost_figure(rows) : view::Figure{},
                fmt::format("{}\nn positions of width d = {}, kernel k and window r = {}. Measured with one sequence; "
                            "attention's\nprojections add 4·n·d² multiply-adds.",
                            table_text(formulas), options.width, options.kernel),
                table);
}

using SpeedFlags = NetworkFlags<experiments::SpeedOptions>;
void run_speed_command(const SpeedFlags& flags, const Streams& streams) {
  OutputFiles files = opened(flags.output, streams);
  experiments::SpeedOptions options = flags.options;
  options.lengths = numbers_in(flags.list, "--lengths");
  const auto backend = flags.device.open();
  const auto result = experiments::run_speed(options, *backend);
  ResultTable table{{"length", "lstm_training_ms", "transformer_training_ms", "lstm_forward_ms",
                     "transformer_forward_ms", "lstm_token_ms", "transformer_token_ms"},
                    {}};
  for (const auto& row : result.rows) {
    table.rows.push_back({std::to_string(row.length)});
    for (const double time : {row.lstm.training, row.transformer.training, row.lstm.forward, row.transformer.forward,
                              row.lstm.token, row.transformer.token})
      table.rows.back().push_back(fmt::format("{:.3f}", time));
  }
  check(options.lengths.size() > 1 || (flags.output.svg.empty() && flags.output.png.empty()),
        "experiment: a figure needs two or more --lengths");
  write_results(
      flags.output, files, streams, options.lengths.size() > 1 ? experiments::speed_figure(result) : view::Figure{},
      fmt::format("3 LSTM layers ({} weights) and 2 Transformer layers ({} weights) of width {}; {} texts in a "
                  "batch;\na token is generated behind one text of the length",
                  result.lstm_parameters, result.transformer_parameters, options.width, options.batch),
      table);
}

void add_reach(Flags& group, const Streams& streams) {
  add_command<ReachFlags>(
      group, streams,
      {.name = "reach", .help = "Which input reaches which output of a layer, from its gradients.", .examples = R"(
  attend experiment reach
  attend experiment reach --layers 3 --svg reach.svg # convolutions hear further with depth)"},
      [](Flags& flags, ReachFlags& options) {
        flags.add("--length", options.options.length, "Number of positions.").between(2, 32);
        flags.add("--dimensions", options.options.width, "Dimensions of the network; a multiple of 8.").between(8, 32);
        flags.add("--layers", options.options.layers, "Number of layers.").between(1, 16);
        flags.add("--kernel", options.options.kernel, "Kernel size of the convolution; odd.").between(1, 31);
        list_network_flags(flags, options);
      },
      run_reach_command);
}

void add_layers(Flags& group, const Streams& streams) {
  add_command<LayerFlags>(
      group, streams,
      {.name = "layers",
       .help = "Complexity, sequential steps and path length of a layer, with measured times.",
       .examples = R"(
  attend experiment layers
  attend experiment layers --dimensions 16 --lengths 64,256,1024 --csv layers.csv # n larger than d)"},
      [](Flags& flags, LayerFlags& options) {
        options.list = list_text(options.options.lengths);
        flags.add("--lengths", options.list, "Numbers of positions n, with commas.").takes("LIST");
        flags.add("--dimensions", options.options.width, "Dimensions d; a multiple of 8.").between(8, 4096);
        flags.add("--kernel", options.options.kernel, "Kernel size k and attention window r; odd.").between(1, 1023);
        flags.add("--repeats", options.options.repeats, "Runs to measure; the fastest counts.").between(1, 1000);
        list_network_flags(flags, options);
      },
      run_layers_command);
}

void add_gradients(Flags& group, const Streams& streams) {
  add_command<GradientFlags>(
      group, streams,
      {.name = "gradients", .help = "Gradient at inputs further and further back: RNNs and attention.", .examples = R"(
  attend experiment gradients
  attend experiment gradients --forget-bias 0 --svg gradients.svg # gates that keep half of the state
  attend experiment gradients --gain 3 # recurrent weights so large that gradients explode)"},
      [](Flags& flags, GradientFlags& options) {
        flags.add("--length", options.options.length, "Number of positions.").between(3, 4096);
        flags.add("--dimensions", options.options.width, "Dimensions of the networks; a multiple of 8.")
            .between(8, 1024);
        flags.add("--forget-bias", options.options.start.forget_bias,
                  "Bias of the gate that keeps the state: forget of an LSTM, update of a GRU.");
        flags.add("--gain", options.options.start.gain, "Factor of the initial recurrent weights.").between(0, 100);
        list_network_flags(flags, options);
      },
      run_gradients_command);
}

void add_recall(Flags& group, const Streams& streams) {
  add_command<RecallFlags>(
      group, streams,
      {.name = "recall", .help = "Remember a name that was said early: trained RNNs and attention.", .examples = R"(
  attend experiment recall
  attend experiment recall --distances 8,32 --steps 1000 # more training
  attend experiment recall --svg recall.svg --csv recall.csv)"},
      [](Flags& flags, RecallFlags& options) {
        options.list = list_text(options.options.distances);
        flags.add("--distances", options.list, "Tokens from the name to the question, with commas.").takes("LIST");
        flags.add("--steps", options.options.steps, "Training steps of each network.").between(0, 1e5);
        flags.add("--names", options.options.names, "Number of names.").between(2, 1024);
        flags.add("--dimensions", options.options.width, "Dimensions of the networks; a multiple of 8.")
            .between(8, 1024);
        flags.add("--learning-rate", options.options.learning_rate, "First learning rate; it falls to 0.");
        list_network_flags(flags, options);
      },
      run_recall_command);
}

void add_speed(Flags& group, const Streams& streams) {
  add_command<SpeedFlags>(
      group, streams,
      {.name = "speed", .help = "Time of an LSTM and a Transformer of the same size over lengths.", .examples = R"(
  attend experiment speed
  attend experiment speed --device cuda --dimensions 512 --lengths 64,256,1024
  attend experiment speed --batch 1 --svg speed.svg)"},
      [](Flags& flags, SpeedFlags& options) {
        options.list = list_text(options.options.lengths);
        flags.add("--lengths", options.list, "Text lengths, with commas.").takes("LIST");
        flags.add("--dimensions", options.options.width, "Dimensions of both models; a multiple of 32.")
            .between(32, 4096);
        flags.add("--batch", options.options.batch, "Texts in a batch.").between(1, 1024);
        flags.add("--repeats", options.options.repeats, "Runs to measure; the fastest counts.").between(1, 1000);
        list_network_flags(flags, options);
      },
      run_speed_command);
}

}  // namespace

void add_network_experiments(Flags& group, const Streams& streams) {
  add_reach(group, streams);
  add_layers(group, streams);
  add_gradients(group, streams);
  add_recall(group, streams);
  add_speed(group, streams);
}

}  // namespace attend::cli
