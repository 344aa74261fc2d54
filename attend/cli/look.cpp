#include "attend/cli/look.h"

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/base/paths.h"
#include "attend/cli/command.h"
#include "attend/image/decode.h"
#include "attend/inspect/inspect.h"
#include "attend/inspect/picture.h"
#include "attend/inspect/picture_page.h"
#include "attend/serve/api.h"
#include "attend/serve/export.h"
#include "attend/serve/http.h"
#include "attend/serve/picture_api.h"
#include "attend/serve/run_reader.h"
#include "attend/serve/shelf.h"
#include "attend/tasks/model_folder.h"
#include "attend/view/heads_picture.h"

namespace attend {

namespace {

constexpr const char* kLookExamples = R"(Examples:
  attend look                                                the model that comes with attend, at http://127.0.0.1:8080
  attend look --model runs/en-de --port 0                    your own, at any free port
  attend look --model gpt2                                   GPT-2, BERT, RoBERTa, DistilBERT, Marian: Hugging Face folders
  attend look --run runs/en-de                               a training run: its curves, and how attention took shape
  attend look --text "I am a student." --export student.html one file for a slide or an e-mail
  attend look --text "I am a student." --png heads.png       every head as one picture, without a browser
  attend look --model vit-base                               a model that looks at pictures; drop yours on the page
  attend look --model vit-base --picture cat.jpg --png heads.png
Ctrl-C ends the server. It is reachable from this machine only, unless --host says otherwise.)";

// The attention between what was read and written, or the last layer's, large; and every head small.
view::Picture picture_of(const std::string& text, tasks::Inspector& inspector) {
  const tasks::Inspection seen = inspector.inspect(text);
  check(!seen.attention.empty(), "look: this model has no attention to show");
  std::vector<view::HeadsRow> rows;
  for (const tasks::SeenAttention& layer : seen.attention)
    rows.push_back({fmt::format("{} {} {}", layer.place.stack, layer.place.kind, layer.place.layer + 1),
                    static_cast<std::size_t>(layer.heads), layer.rows, layer.columns, layer.weights});
  view::HeadsOptions options{.title = seen.text.empty() ? text : text + " → " + seen.text, .main = rows.size() - 1};
  const bool cross = seen.attention.back().place.kind == "cross";
  if (inspector.card().kind == "language-model") options.title = text + " …" + seen.text;
  std::vector<std::string> read = seen.source;
  if (inspector.card().kind == "language-model") read.insert(read.end(), seen.target.begin(), seen.target.end());
  options.words = cross ? seen.target : read, options.onto = read;
  return view::heads_picture(rows, options);
}

void list_look_flags(Flags& flags, LookOptions& options) {
  flags.add("--model", options.model, "a model's folder, or the name of a shipped one")
      .shown_as(tasks::kShippedTranslator);
  flags.add("--run", options.run, "a training run's folder: how it went, and the model it made");
  flags.add("--port", options.port, "of the server; 0 is any free one");
  flags.add("--host", options.host, "the address it listens on; 0.0.0.0 lets other machines in");
  flags.add("--text", options.text, "a sentence, for --export, --svg and --png");
  flags.add("--picture", options.picture, "the same for a model that looks at pictures: a .jpg, .png or .webp");
  flags.add("--export", options.export_file, "writes the page with that sentence or picture as one .html file");
  flags.add("--svg", options.svg_file, "writes its attention, every head, as one picture");
  flags.add("--png", options.png_file, "the same as pixels");
  add_device_flags(flags, options.device);
}

bool writes_files(const LookOptions& options) {
  return !options.export_file.empty() || !options.svg_file.empty() || !options.png_file.empty();
}

void check_options(const LookOptions& options) {
  const bool given = !options.text.empty() || !options.picture.empty();
  check(!given || writes_files(options), "look: --{} is for --export, --svg and --png",
        options.text.empty() ? "picture" : "text");
  check(given || !writes_files(options),
        "look: --export, --svg and --png need --text, or --picture with a model of pictures");
  check(options.text.empty() || options.picture.empty(), "look: --text and --picture go with different models");
  check(options.run.empty() || options.model.empty(), "look: --run has a model of its own; leave --model out");
}

bool is_local(const LookOptions& options) { return options.host == "localhost" || options.host.starts_with("127."); }

void write_picture(const LookOptions& options, const std::function<view::Picture()>& draw) {
  if (options.svg_file.empty() && options.png_file.empty()) return;
  const view::Picture picture = draw();
  if (!options.svg_file.empty()) write_file(options.svg_file, view::to_svg(picture));
  if (!options.png_file.empty()) write_file(options.png_file, view::to_png(picture));
}

// A model, or nothing yet, with all that shows it.
struct Looked {
  std::unique_ptr<tasks::Inspector> text;
  std::unique_ptr<tasks::PictureInspector> pictures;
  std::unique_ptr<serve::PictureApi> picture_api;

  Looked(const std::filesystem::path& folder, Backend& backend, DType dtype) {
    if (tasks::looks_at_pictures(folder)) {
      pictures = std::make_unique<tasks::PictureInspector>(folder, backend, dtype);
      picture_api = std::make_unique<serve::PictureApi>(*pictures);
    } else {
      text = tasks::open_inspector(folder, backend, dtype);
    }
  }
  Looked() = default;

  serve::Api::Parts parts() const { return {.inspector = text.get(), .pictures = picture_api.get()}; }
};

// A model that comes with attend, opened because somebody chose it on the page.
class Chosen : public serve::Shelf::Opened {
 public:
  Chosen(const std::string& name, const LookOptions& options, Backend& backend)
      : looked_(tasks::find_model(name), backend, options.device.type()),
        api_(looked_.parts(), {.name = name, .only_local_names = is_local(options)}) {}
  serve::Api& api() override { return api_; }

 private:
  Looked looked_;
  serve::Api api_;
};

void write_files(const LookOptions& options, Looked& looked, serve::Api& api) {
  if (looked.text) {
    check(!options.text.empty(), "look: this model reads text: give --text, not --picture");
    if (!options.export_file.empty()) write_file(options.export_file, serve::exported_page(api, options.text));
    return write_picture(options, [&] { return picture_of(options.text, *looked.text); });
  }
  check(!options.picture.empty(), "look: this model looks at pictures: give --picture, not --text");
  const image::Image picture = image::read_image(options.picture);
  const std::string name = std::filesystem::path(options.picture).filename().string();
  if (!options.export_file.empty()) {
    const std::string kept = looked.picture_api->keep(read_file(options.picture)).at("picture").text();
    write_file(options.export_file, serve::exported_picture(api, *looked.picture_api, kept));
  }
  write_picture(options,
                [&] { return tasks::picture_page(looked.pictures->inspect(looked.pictures->prepare(picture)), name); });
}

}  // namespace

void run_look(const LookOptions& options, const Streams& streams) {
  check_options(options);
  std::filesystem::path folder = options.run;
  std::optional<serve::RunReader> run;
  if (options.run.empty()) {
    folder = tasks::find_model(options.model.empty() ? tasks::kShippedTranslator : options.model);
  } else {
    check(path_exists(folder / "log.jsonl"), "look: there is no training run in {}", folder.string());
    run.emplace(folder);
  }
  const auto backend = options.device.open();
  Looked looked;
  if (!run || path_exists(folder / "model.safetensors"))  // a young run has none yet
    looked = Looked(folder, *backend, options.device.type());
  check(looked.text || looked.pictures || !writes_files(options), "look: {} has no model yet", folder.string());
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/en-de/"
  serve::Api::Parts parts = looked.parts();
  parts.run = run ? &*run : nullptr;
  serve::Api api(parts, {.name = folder.filename().string(), .only_local_names = is_local(options)});
  if (writes_files(options)) return write_files(options, looked, api);

  // Beside a run its own model is enough.
  serve::Shelf shelf(api, folder.filename().string(),
                     run ? std::vector<serve::Shelf::Entry>{} : serve::shipped_entries(),
                     [&](const std::string& name) { return std::make_unique<Chosen>(name, options, *backend); });
  InterruptGuard interrupt;
  serve::HttpServer server({.host = options.host, .port = options.port, .max_picture = serve::PictureApi::kMostBytes},
                           [&](const serve::HttpRequest& request) { return shelf.handle(request); });
  streams.out << fmt::format("attend look: http://{}:{}/  (Ctrl-C ends it)\n", options.host, server.port())
              << std::flush;
  server.run([&] { return interrupt.requested(); });
}

void add_look_command(Flags& program, const Streams& streams) {
  add_command<LookOptions>(
      program, streams,
      {.name = "look", .help = "Shows a model's attention at work, in a browser.", .examples = kLookExamples},
      list_look_flags, run_look);
}

}  // namespace attend
