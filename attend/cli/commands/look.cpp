#include "attend/cli/commands/look.h"

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/base/paths.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/image_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/http/http.h"
#include "attend/image/decode.h"
#include "attend/look/api/api.h"
#include "attend/look/api/export.h"
#include "attend/look/api/image_store.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/api/run_reader.h"
#include "attend/look/api/shown_model.h"
#include "attend/look/api/training_thread.h"
#include "attend/look/inspect/inspect.h"
#include "attend/look/inspect/open.h"
#include "attend/look/inspect/text_page.h"
#include "attend/tasks/model_folder.h"

namespace attend::cli {

namespace {

constexpr const char* kLookExamples = R"(
  attend look # bundled model, at http://127.0.0.1:8080
  attend look --model gpt2 # GPT-2, BERT, RoBERTa, Longformer, Marian, ViT, DETR, ...
  attend look --run runs/en-de # a training run: curves, and attention over time
  attend look --model runs/en-de --port 0 # any free port
  attend look --run runs/a --run runs/b # compare the curves of two runs
  attend look --text "I am a student." --export page.html # one HTML file, for a slide or an e-mail
  attend look --text "I am a student." --png heads.png # all heads as one image, without a browser
  attend look --text "I am a student." --view words --png words.png --width 1600 --dark # for a slide
  attend look --model vit-base # an image model; drop an image on the page
  attend look --model vit-base --image cat.jpg --png heads.png
  attend look --model detr-resnet-50 # click a box to see its attention weights
  attend look --model runs/show-tell --beside runs/show-attend-tell # compare two captioning models
  attend look --model runs/sagan-cifar10 --beside runs/sagan-no-attention-cifar10 # compare two image generators)";

std::vector<std::string> figure_views() {
  std::vector<std::string> views = look::text_views();
  views.insert(views.end(), {"compare", "rollout"});
  return views;
}

void list_look_flags(Flags& flags, LookOptions& options) {
  add_model_flag(flags, options.model, "Model folder").shown_as(tasks::kShippedTranslator);
  flags.add("--beside", options.beside, "Second captioning or image-generation model to compare with.").group("Model");
  flags
      .add("--run", options.runs, "Folder of a training run, to show its curves and its model. Repeat to compare runs.")
      .group("Model")
      .one_at_a_time();
  flags.add("--port", options.port, "Port of the server; 0 picks a free one.").group("Server");
  flags.add("--host", options.host, "Address to listen on; 0.0.0.0 accepts other machines.").group("Server");
  flags.add("--text", options.text, "Sentence for --export, --svg and --png.").group("Data");
  flags.add("--image", options.image, "Image for --export, --svg and --png: .jpg, .png or .webp.").group("Data");
  flags.add("--export", options.export_file, "Write the page for that sentence or image as one .html file.")
      .group("Output");
  flags.add("--svg", options.svg_file, "Write a figure of the attention weights as SVG.");
  flags.add("--png", options.png_file, "Write a figure of the attention weights as PNG.");
  flags
      .add("--view", options.view,
           "Figure for --svg and --png. words draws one head between the words, all-heads a layer's heads in colours, "
           "ablate the answer without a part of the model, compare three networks that reverse words. Images: map, "
           "rollout or steps.")
      .one_of(figure_views())
      .group("Figure");
  flags
      .add("--stack", options.stack,
           "Attention of this stack in words, heads, all-heads, steps, ablate. By default cross-attention.")
      .one_of({"encoder", "decoder"})
      .group("Figure");
  flags.add("--layer", options.layer, "Layer in these views, from 1; 0 chooses the clearest head.")
      .between(0, 1000)
      .group("Figure");
  flags.add("--head", options.head, "Head in these views, from 1; 0 chooses the clearest.")
      .between(0, 1000)
      .group("Figure");
  flags.add("--word", options.word, "Token whose weights words and all-heads draw alone, and that steps follows.")
      .group("Figure");
  flags.add("--without", options.without, "--view ablate: the part that is switched off.")
      .one_of({"head", "layer", "word", "positions"})
      .group("Figure");
  add_figure_flags(flags, options.figure);
  add_max_pixels_flag(flags, options.max_pixels);
  add_device_flags(flags, options.device);
}

bool writes_files(const LookOptions& options) {
  return !options.export_file.empty() || !options.svg_file.empty() || !options.png_file.empty();
}

void check_options(const LookOptions& options) {
  const bool given = !options.text.empty() || !options.image.empty();
  check(!given || writes_files(options), "look: --{} is for --export, --svg and --png",
        options.text.empty() ? "image" : "text");
  check(given || !writes_files(options),
        "look: --export, --svg and --png need --text, or --image with a model of images");
  check(options.text.empty() || options.image.empty(), "look: --text and --image go with different models");
  check(options.runs.empty() || options.model.empty(), "look: --run has a model of its own; leave --model out");
}

bool is_local(const LookOptions& options) { return options.host == "localhost" || options.host.starts_with("127."); }

void write_figure(const LookOptions& options, OutputFiles& outputs, const std::function<view::Figure()>& draw) {
  if (options.svg_file.empty() && options.png_file.empty()) return;
  const view::Figure image = draw();
  if (!options.svg_file.empty()) outputs.write(options.svg_file, svg_of(image, options.figure));
  if (!options.png_file.empty()) outputs.write(options.png_file, png_of(image, options.figure));
}

// The three networks of the page's "RNN or attention".
view::Figure compared(const LookOptions& options, Backend& backend) {
  std::vector<std::unique_ptr<look::Inspector>> inspectors;
  std::vector<look::ComparedModel> models;
  for (const auto& [name, title] : {std::pair{"reverse-rnn-plain", "RNN without attention"},
                                    {"reverse-rnn-attention", "RNN with attention"},
                                    {"reverse-transformer", "Transformer"}}) {
    inspectors.push_back(look::open_inspector(tasks::find_model(name), backend, options.device.type()));
    models.push_back({title, inspectors.back().get()});
  }
  return look::compare_page(models, options.text);
}

void write_files(const LookOptions& options, const look::ShownModel& shown, look::Api& api, OutputFiles& outputs,
                 Backend& backend) {
  check(!shown.drawings(), "look: this model reads nothing, it draws: attend draw --out and --show-attention");
  if (shown.text()) {
    check(!options.text.empty(), "look: this model reads text: give --text, not --image");
    if (!options.export_file.empty()) outputs.write(options.export_file, look::exported_page(api, options.text));
    return write_figure(options, outputs, [&] {
      if (options.view == "compare") return compared(options, backend);
      return look::text_page(*shown.text(), options.text,
                             {.view = options.view,
                              .layer = options.layer - 1,
                              .head = options.head - 1,
                              .stack = options.stack,
                              .word = options.word,
                              .without = options.without});
    });
  }
  check(!options.image.empty(), "look: this model reads images: give --image, not --text");
  const image::Image image = image::read_image(options.image, {.most_pixels = options.max_pixels});
  const std::string name = std::filesystem::path(options.image).filename().string();
  if (!options.export_file.empty()) {
    const std::string kept = shown.images()->keep(read_file(options.image)).at("image").text();
    outputs.write(options.export_file, look::exported_image(api, *shown.images(), kept));
  }
  write_figure(options, outputs, [&] {
    return shown.figure(image, name, {.view = options.view, .layer = options.layer - 1, .head = options.head - 1});
  });
}

}  // namespace

void run_look(const LookOptions& options, const Streams& streams) {
  check_options(options);
  std::filesystem::path folder;
  std::vector<std::unique_ptr<look::RunReader>> runs;
  for (const std::string& run : options.runs) {
    check(path_exists(std::filesystem::path(run) / "log.jsonl"), "look: there is no training run in {}", run);
    runs.push_back(std::make_unique<look::RunReader>(run));
  }
  if (!runs.empty())
    folder = options.runs[0];
  else
    folder = tasks::find_model(options.model.empty() ? tasks::kShippedTranslator : options.model);
  const std::filesystem::path beside = options.beside.empty() ? "" : tasks::find_model(options.beside);
  OutputFiles outputs(command_files(
      streams,
      {.outputs = {{"--export", options.export_file}, {"--svg", options.svg_file}, {"--png", options.png_file}},
       .files = {options.image},
       .model = folder.string(),
       .beside = beside.string()}));
  const auto backend = options.device.open();
  look::ShownModel shown;
  if (runs.empty() || checkpoint::has_weights(folder))  // a young run has none yet
    shown = look::ShownModel(folder, beside, *backend, options.device.type());
  check(shown || !writes_files(options), "look: {} has no model yet", folder.string());
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/en-de/"
  look::Api::Parts parts = shown.parts();
  for (const auto& run : runs) (parts.run ? parts.others.emplace_back() : parts.run) = run.get();
  look::Api api(parts, {.name = folder.filename().string(), .only_local_names = is_local(options)});
  if (writes_files(options)) {
    write_files(options, shown, api, outputs, *backend);
    return outputs.commit();
  }

  // Beside a run its own model is enough. Only this machine's own visitors may start trainings.
  std::optional<look::TrainingThread> training;
  if (runs.empty() && is_local(options)) training.emplace();
  look::ModelRegistry shelf(
      api, folder.filename().string(), runs.empty() ? look::shipped_entries() : std::vector<look::ModelEntry>{},
      [&](const look::ModelEntry& model) {
        return std::make_unique<look::ChosenModel>(model, *backend, options.device.type(), is_local(options));
      },
      training ? &*training : nullptr);
  InterruptGuard interrupt;
  http::Server server({.host = options.host, .port = options.port, .max_image = look::ImageStore::kMostBytes},
                      [&](const http::Request& request) { return shelf.handle(request); });
  streams.out << fmt::format("attend look: http://{}:{}/  (Ctrl-C ends it)\n", options.host, server.port())
              << std::flush;
  server.run([&] { return interrupt.requested(); });
}

void add_look_command(Flags& program, const Streams& streams) {
  add_command<LookOptions>(
      program, streams,
      {.name = "look",
       .help = "Explore a model's attention weights in a browser.",
       .examples = kLookExamples,
       .notes = {"Ctrl-C stops the server. Only this machine can reach it, unless --host says otherwise."}},
      list_look_flags, run_look);
}

}  // namespace attend::cli
