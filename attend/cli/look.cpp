#include "attend/cli/look.h"

#include <fmt/format.h>

#include <ostream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/cli/command.h"
#include "attend/serve/api.h"
#include "attend/serve/export.h"
#include "attend/serve/http.h"
#include "attend/tasks/inspect.h"
#include "attend/tasks/model_folder.h"
#include "attend/view/heads_svg.h"

namespace attend {

namespace {

constexpr const char* kExamples = R"(Examples:
  attend look                                                the model that comes with attend, at http://127.0.0.1:8080
  attend look --model runs/en-de --port 0                    your own, at any free port
  attend look --text "I am a student." --export student.html one file for a slide or an e-mail
  attend look --text "I am a student." --svg heads.svg       every head as one picture, without a browser
Ctrl-C ends the server. It is reachable from this machine only, unless --host says otherwise.)";

void write_heads(const std::string& path, const std::string& text, tasks::Inspector& inspector) {
  const tasks::Inspection seen = inspector.inspect(text);
  check(!seen.attention.empty(), "look: this model has no attention to show");
  std::vector<view::HeadsRow> rows;
  for (const tasks::SeenAttention& layer : seen.attention)
    rows.push_back({fmt::format("{} {} {}", layer.place.stack, layer.place.kind, layer.place.layer + 1),
                    static_cast<std::size_t>(layer.heads), layer.rows, layer.columns, layer.weights});
  write_file(path, view::heads_svg(text + " → " + seen.text, rows));
}

void list_flags(Flags& flags, LookOptions& options) {
  flags.add("--model", options.model, "a model's folder, or the name of a shipped one")
      .shown_as(tasks::kShippedTranslator);
  flags.add("--port", options.port, "of the server; 0 is any free one");
  flags.add("--host", options.host, "the address it listens on; 0.0.0.0 lets other machines in");
  const Flag text = flags.add("--text", options.text, "a sentence, for --export and --svg");
  flags.add("--export", options.export_file, "writes the page with that sentence as one .html file").needs(text);
  flags.add("--svg", options.svg_file, "writes every head as one picture").needs(text);
  add_device_flags(flags, options.device);
}

}  // namespace

void run_look(const LookOptions& options, const Streams& streams) {
  const bool writes = !options.export_file.empty() || !options.svg_file.empty();
  check(options.text.empty() || writes, "look: --text is for --export and --svg");
  const auto folder = tasks::find_model(options.model.empty() ? tasks::kShippedTranslator : options.model);
  const auto backend = options.device.open();
  const auto loaded = tasks::load_translator(folder, *backend, options.device.type());
  tasks::Inspector inspector(*loaded, *backend);
  const bool local = options.host == "localhost" || options.host.starts_with("127.");
  serve::Api api(inspector, {.name = folder.filename().string(), .only_local_names = local});
  if (!options.export_file.empty()) write_file(options.export_file, serve::exported_page(api, options.text));
  if (!options.svg_file.empty()) write_heads(options.svg_file, options.text, inspector);
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
      {.name = "look", .help = "Shows a model's attention at work, in a browser.", .examples = kExamples}, list_flags,
      run_look);
}

}  // namespace attend
