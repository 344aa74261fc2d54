#include "attend/cli/commands/info.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/base/terminal.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/quantised.h"
#include "attend/cli/commands/info_cost.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/cost.h"
#include "attend/text/tokenizer.h"

namespace attend::cli {

namespace {

constexpr const char* kInfoExamples = R"(
  attend info en-fr # a bundled model
  attend info path/to/gpt2 --tensors # list every tensor
  attend info vit-cifar10 --cost # multiply-adds of every layer, activation memory, images per second
  attend info gpt3-config.json --cost --input 2048 --json # from a config.json alone)";

struct InfoOptions {
  std::string model;
  std::string input;
  bool json = false, tensors = false, cost = false;
};

// Numbers and bytes of one part of a model.
struct Part {
  std::int64_t numbers = 0, bytes = 0, tensors = 0;
  std::string layers;  // "0 to 11" when the part is repeated
};

std::string size_text(std::int64_t bytes) {
  return bytes >= 1'000'000 ? fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6)
                            : fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
}

struct Summary {
  std::vector<std::pair<std::string, Part>> parts;  // in the order of the file
  Part all;
  std::set<std::string> types;
};

Summary summarise(const checkpoint::TensorFiles& files) {
  Summary summary;
  std::map<std::string, std::size_t> places;
  std::map<std::string, std::set<std::int64_t>> layers;
  for (const std::string& name : files.names()) {
    const checkpoint::TensorFile& file = *files.holding(name);
    const checkpoint::StoredTensor& tensor = file[name];
    const std::string scale_name = name + std::string(checkpoint::kScaleSuffix);
    const std::size_t scale =
        checkpoint::is_scale(file, scale_name) && file.find(scale_name) ? file[scale_name].size_in_bytes() : 0;
    std::int64_t layer = -1;
    const std::string key = tasks::part_of(name, layer);
    const auto [place, added] = places.emplace(key, summary.parts.size());
    if (added) summary.parts.push_back({key, {}});
    for (Part* part : {&summary.parts[place->second].second, &summary.all}) {
      part->numbers += tensor.shape.size();
      part->bytes += static_cast<std::int64_t>(tensor.size_in_bytes() + scale);
      ++part->tensors;
    }
    if (layer >= 0) layers[key].insert(layer);
    summary.types.insert(std::string(name_of(tensor.type)));
  }
  for (auto& [key, part] : summary.parts)
    if (const auto found = layers.find(key); found != layers.end())
      part.layers = fmt::format(" x {}", found->second.size());
  return summary;
}

// What it says, or why it cannot.
template <class Say>
std::string said(Say say) {
  try {
    return say();
  } catch (const Error& error) {
    return error.what();
  }
}

void run_info(const InfoOptions& options, const Streams& streams) {
  check(options.input.empty() || options.cost, "info: --input is the shape that --cost counts; add --cost");
  if (options.cost) return run_cost({.model = options.model, .input = options.input, .json = options.json}, streams);
  const std::filesystem::path folder = options.model;
  const Json config = read_json(folder / "config.json");
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  const Summary summary = summarise(files);
  std::string type = "unknown";
  if (config.is_object() && config.contains("model_type") && config["model_type"].is_string())
    type = config["model_type"].get<std::string>();
  std::optional<catalogue::ModelConfig> model;  // of a folder of timm, with a config as ours are
  const std::string use = said([&] {
    model = catalogue::describe(config, (folder / "config.json").string());
    return fmt::format("attend {}", name_of(model->task));
  });
  if (model && model->timm) type = fmt::format("{} (timm's {})", model->entry->type, config["architecture"].text());
  const catalogue::Entry* entry = model ? model->entry : catalogue::find(config);
  const catalogue::Input input = entry ? entry->input : catalogue::Input();
  const std::string reads = said([&] {
    if (input.summary) return input.summary(model ? model->json : config, (folder / "config.json").string());
    return fmt::format("{} tokens{}",
                       with_commas(static_cast<std::int64_t>(text::Tokenizer::load(folder).vocabulary_size())),
                       config.contains("attention_window")
                           ? "; a token sees " + config["attention_window"].dump() + " others (attention_window)"
                           : "");
  });

  if (options.json) {
    Json parts = Json::array();
    for (const auto& [name, part] : summary.parts)
      parts.push_back({{"name", name}, {"parameters", part.numbers}, {"bytes", part.bytes}, {"tensors", part.tensors}});
    streams.out << Json({{"folder", folder.string()},
                         {"model_type", type},
                         {"use", use},
                         {"parameters", summary.all.numbers},
                         {"bytes", summary.all.bytes},
                         {"dtypes", summary.types},
                         {"parts", parts},
                         {std::string(input.name), reads},
                         {"config", config}})
                       .dump()
                << '\n';
    return;
  }
  std::string types;
  for (const std::string& name : summary.types) types += (types.empty() ? "" : ", ") + name;
  // A model of one direction has it in its name.
  const bool ways = config.is_object() && config.contains("directions") && config["directions"].is_string();
  const std::string directions = ways ? fmt::format("  directions  {}\n", printable(config["directions"].text())) : "";
  streams.out << fmt::format(
      "{}\n  model       {}\n  use         {}\n{}  parameters  {}\n  on disk     {} ({})\n  {:<10}  {}\n\n",
      printable(folder.string()), printable(type), printable(use), directions, with_commas(summary.all.numbers),
      size_text(summary.all.bytes), types, input.name, printable(reads));
  std::size_t width = 4;
  for (const auto& [name, part] : summary.parts) width = std::max(width, printable(name).size() + part.layers.size());
  for (const auto& [name, part] : summary.parts)
    streams.out << fmt::format(
        "  {:<{}}  {:>15}  {:>10}  {:5.1f} %\n", printable(name) + part.layers, width, with_commas(part.numbers),
        size_text(part.bytes),
        100 * static_cast<double>(part.numbers) / static_cast<double>(std::max<std::int64_t>(summary.all.numbers, 1)));
  if (options.tensors) {
    streams.out << '\n';
    for (const std::string& name : files.names()) {
      const checkpoint::StoredTensor& tensor = (*files.holding(name))[name];
      streams.out << fmt::format("  {:<5} {} {}\n", name_of(tensor.type), printable(name), tensor.shape);
    }
  }
}

}  // namespace

void add_info_command(Flags& program, const Streams& streams) {
  add_command<InfoOptions>(
      program, streams,
      {.name = "info",
       .help = "Show a model's architecture, parameters, size, tokenizer and cost.",
       .examples = kInfoExamples,
       .notes = {"--cost runs the model's forward pass on a device that only counts. It needs config.json, but no "
                 "weights. A multiply-add is two FLOPs; sums, norms and activations are not counted. Papers on images "
                 "often give multiply-adds under the name FLOPs."}},
      [](Flags& flags, InfoOptions& options) {
        add_model_file_flag(flags, "model,--model", options.model, "Model folder").required();
        flags.add("--cost", options.cost,
                  "Count parameters, multiply-adds per layer and activation memory. MODEL may be a config.json alone.");
        flags.add("--input", options.input, "With --cost: 512 or 8x512 tokens, 224x224 or 8x224x224 pixels.");
        flags.add("--tensors", options.tensors, "List every tensor.");
        flags.add("--json", options.json, "Print one JSON object.");
      },
      run_info);
}

}  // namespace attend::cli
