#include "attend/cli/look.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/base/paths.h"
#include "attend/cli/command.h"
#include "attend/serve/api.h"
#include "attend/serve/export.h"
#include "attend/serve/http.h"
#include "attend/serve/run_reader.h"
#include "attend/tasks/inspect/inspect.h"
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
  const Flag text = flags.add("--text", options.text, "a sentence, for --export, --svg and --png");
  flags.add("--export", options.export_file, "writes the page with that sentence as one .html file").needs(text);
  flags.add("--svg", options.svg_file, "writes its attention, every head, as one picture").needs(text);
  flags.add("--png", options.png_file, "the same as pixels").needs(text);
  add_device_flags(flags, options.device);
}

}  // namespace

void run_look(const LookOptions& options, const Streams& streams) {
  const bool writes = !options.export_file.empty() || !options.svg_file.empty() || !options.png_file.empty();
  check(options.text.empty() || writes, "look: --text is for --export, --svg and --png");
  check(options.run.empty() || options.model.empty(), "look: --run has a model of its own; leave --model out");
  std::filesystem::path folder = options.run;
  std::optional<serve::RunReader> run;
  if (options.run.empty()) {
    folder = tasks::find_model(options.model.empty() ? tasks::kShippedTranslator : options.model);
  } else {
    check(path_exists(folder / "log.jsonl"), "look: there is no training run in {}", folder.string());
    run.emplace(folder);
  }
  const auto backend = options.device.open();
  std::unique_ptr<tasks::Inspector> inspector;
  if (!run || path_exists(folder / "model.safetensors"))  // a young run has none yet
    inspector = tasks::open_inspector(folder, *backend, options.device.type());
  check(inspector || !writes, "look: {} has no model yet", folder.string());
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/en-de/"
  const bool local = options.host == "localhost" || options.host.starts_with("127.");
  serve::Api api({.inspector = inspector.get(), .run = run ? &*run : nullptr},
                 {.name = folder.filename().string(), .only_local_names = local});
  if (!options.export_file.empty()) write_file(options.export_file, serve::exported_page(api, options.text));
  if (!options.svg_file.empty()) write_file(options.svg_file, view::to_svg(picture_of(options.text, *inspector)));
  if (!options.png_file.empty()) write_file(options.png_file, view::to_png(picture_of(options.text, *inspector)));
  if (writes) return;

  InterruptGuard interrupt;
  serve::HttpServer server({.host = options.host, .port = options.port},
                           [&](const serve::HttpRequest& request) { return api.handle(request); });
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
