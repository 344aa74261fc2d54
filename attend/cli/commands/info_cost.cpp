#include "attend/cli/commands/info_cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>
#include <vector>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"
#include "attend/base/progress.h"
#include "attend/base/terminal.h"
#include "attend/catalogue/catalogue.h"
#include "attend/tasks/cost.h"
#include "attend/tensor/backend.h"

namespace attend::cli {

namespace {

// "12.3 G"
std::string in_units(double count) {
  for (const auto& [size, letter] :
       {std::pair{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (count >= size) return fmt::format("{:.2f} {}", count / size, letter);
  return fmt::format("{:.0f} ", count);
}

// Operations a second (two for a multiply-add) of this CPU's best f32 product: the roof that no model comes above.
double measured_roof() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kSide = 768;
  constexpr int kRuns = 6;
  const auto backend = open_backend("cpu");
  const Tensor a = make_tensor(*backend, {kSide, kSide}, DType::f32),
               b = make_tensor(*backend, {kSide, kSide}, DType::f32),
               c = make_tensor(*backend, {kSide, kSide}, DType::f32);
  backend->fill(a, 0.5f), backend->fill(b, 0.25f);
  double least = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = Clock::now();
    backend->matmul({.a = a, .b = b}, {c});
    backend->synchronize();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return 2.0 * kSide * kSide * kSide / least;
}

// Layers of one part that cost the same are one line: "transformer.h 0 to 11".
struct Line {
  tasks::CostPart part;
  std::int64_t last = -1;
  std::string name() const {
    if (part.layer < 0) return part.name;
    return part.layer == last ? fmt::format("{}.{}", part.name, last)
                              : fmt::format("{}.{} to {}, each", part.name, part.layer, last);
  }
};

std::vector<Line> lines_of(const tasks::Cost& cost) {
  std::vector<Line> lines;
  for (const tasks::CostPart& part : cost.parts) {
    if (!lines.empty()) {
      Line& before = lines.back();
      if (part.layer >= 0 && before.part.name == part.name && before.last + 1 == part.layer &&
          before.part.parameters == part.parameters && before.part.multiply_adds == part.multiply_adds) {
        before.last = part.layer;
        continue;
      }
    }
    lines.push_back({part, part.layer});
  }
  return lines;
}

void print_cost(const tasks::Cost& cost, const std::string& model, double roof, std::ostream& out) {
  out << fmt::format(
      "{}\n  parameters  {}\n  input       {}\n  forward     {} multiply-adds, {}FLOPs; activations {}B in f32\n"
      "  training    {}FLOPs forward and backward; activations {}B in f32\n"
      "  roof        {}FLOP/s measured here in f32: at most {:.4g} {} per second\n\n",
      printable(model), with_commas(cost.parameters), cost.input, in_units(cost.forward.multiply_adds),
      in_units(cost.flops()), in_units(static_cast<double>(cost.forward.activation_bytes)),
      in_units(2 * cost.training.multiply_adds), in_units(static_cast<double>(cost.training.activation_bytes)),
      in_units(roof), roof / cost.flops() * static_cast<double>(cost.units), cost.unit);
  const std::vector<Line> lines = lines_of(cost);
  std::size_t width = 4;
  for (const Line& line : lines) width = std::max(width, printable(line.name()).size());
  out << fmt::format("  {:<{}}  {:>15}  {:>14}\n", "part", width, "parameters", "multiply-adds");
  for (const Line& line : lines)
    out << fmt::format("  {:<{}}  {:>15}  {:>14}\n", printable(line.name()), width, with_commas(line.part.parameters),
                       in_units(line.part.multiply_adds));
}

void print_json(const tasks::Cost& cost, const std::string& model, double roof, std::ostream& out) {
  Json parts = Json::array();
  for (const tasks::CostPart& part : cost.parts) {
    Json json = {{"name", part.name}, {"parameters", part.parameters}, {"multiply_adds", part.multiply_adds}};
    if (part.layer >= 0) json["layer"] = part.layer;
    parts.push_back(std::move(json));
  }
  out << Json({{"model", model},
               {"input", cost.input},
               {"parameters", cost.parameters},
               {"multiply_adds", cost.forward.multiply_adds},
               {"flops", cost.flops()},
               {"activation_bytes", cost.forward.activation_bytes},
               {"training_flops", 2 * cost.training.multiply_adds},
               {"training_activation_bytes", cost.training.activation_bytes},
               {"roof_flops_per_second", roof},
               {cost.unit + "_per_second", roof / cost.flops() * static_cast<double>(cost.units)},
               {"parts", parts}})
             .dump()
      << '\n';
}

}  // namespace

void run_cost(const CostOptions& options, const Streams& streams) {
  const std::filesystem::path path = options.model;
  const catalogue::ModelConfig model = std::filesystem::is_directory(path)
                                           ? catalogue::read_config(path)
                                           : catalogue::describe(read_json(path), path.string());
  const tasks::Cost cost =
      tasks::cost_of(model, options.input.empty() ? tasks::CostInput{} : tasks::cost_input(options.input));
  const double roof = measured_roof();
  if (options.json)
    print_json(cost, options.model, roof, streams.out);
  else
    print_cost(cost, options.model, roof, streams.out);
}

}  // namespace attend::cli
