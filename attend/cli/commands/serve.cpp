#include "attend/cli/commands/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"
#include "attend/base/terminal.h"
#include "attend/cli/commands/version.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/image_input.h"
#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/metrics.h"
#include "attend/serve/engine/served_model.h"
#include "attend/serve/engine/served_models.h"
#include "attend/serve/server.h"
#include "attend/tasks/model_folder.h"

namespace attend::cli {

namespace {

constexpr const char* kServeExamples = R"(
  attend serve # all bundled models, at http://127.0.0.1:8080
  attend serve --model en-fr --model bert=runs/my-bert # one bundled model, and your own under another name
  curl localhost:8080/translate -d q="I am a student." -d source=en -d target=fr
  attend serve --host 0.0.0.0 --api-key-file keys.txt # accept other machines, which must send a key
  attend serve --unix /run/attend.sock # behind a proxy on this machine that handles TLS
  curl localhost:8080/embed -H 'content-type: application/json' -d '{"inputs": ["a sentence", "another"]}'
  curl localhost:8080/v1/completions -H 'content-type: application/json' -d '{"model": "shakespeare", "prompt": "ROMEO:"}'
  curl localhost:8080/models/vit-cifar10 --data-binary @cat.jpg -H 'content-type: image/jpeg')";

volatile std::sig_atomic_t reload_wanted = 0;
extern "C" void note_reload(int) { reload_wanted = 1; }

// While one lives, SIGHUP is noted.
class ReloadGuard {
 public:
  ReloadGuard() { std::signal(SIGHUP, note_reload); }
  ~ReloadGuard() { std::signal(SIGHUP, SIG_DFL); }
  ReloadGuard(const ReloadGuard&) = delete;
  ReloadGuard& operator=(const ReloadGuard&) = delete;
};

// What still runs when the drain is over has been told to stop. Should it not, the process ends all the same: it has
// nothing to lose, and whoever sent SIGTERM waits.
class EndGuard {
 public:
  explicit EndGuard(std::ostream& err) : err_(err) {}
  ~EndGuard() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;

  void begin() {
    thread_ = std::thread([this] {
      constexpr auto kPatience = std::chrono::seconds(5);
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kPatience, [this] { return over_; })) return;
      err_ << "attend serve: what does not stop is cut off\n" << std::flush;
      std::_Exit(1);
    });
  }

 private:
  std::ostream& err_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

std::vector<std::pair<std::string, std::filesystem::path>> folders_of(const ServeOptions& options) {
  std::vector<std::pair<std::string, std::filesystem::path>> folders;
  for (const std::string& given : options.models) {
    const std::size_t equals = given.find('=');
    std::filesystem::path folder = tasks::find_model(equals == std::string::npos ? given : given.substr(equals + 1));
    std::filesystem::path last = folder;
    if (!last.has_filename()) last = last.parent_path();  // "runs/en-de/"
    const bool cached = equals == std::string::npos && !path_exists(given) && given.find('/') != std::string::npos;
    folders.emplace_back(cached ? given  // "org/name": the snapshot's folder has a number for a name
                         : equals == std::string::npos ? last.filename().string()
                                                       : given.substr(0, equals),
                         folder);
    check(!folders.back().first.empty(), "serve: --model {} has no name", given);
  }
  if (!folders.empty()) return folders;
  for (const std::string& name : tasks::shipped_models())
    if (const std::filesystem::path folder = tasks::find_model(name); serve::can_be_served(folder))
      folders.emplace_back(name, folder);
  check(!folders.empty(), "serve: no bundled models were found; name one: --model DIR");
  return folders;
}

std::vector<std::string> keys_of(const std::string& file) {
  std::vector<std::string> keys;
  if (file.empty()) return keys;
  const std::string text = read_file(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    if (end > at && text[at] != '#') keys.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  check(!keys.empty(), "serve: {} has no key in it", file);
  return keys;
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::function<void(const http::RequestRecord&)> access_log(const std::string& kind, std::ostream& out) {
  if (kind == "none") return {};
  const bool json = kind == "json";
  return [json, &out](const http::RequestRecord& record) {
    if (json)
      out << Json({{"time", time_now()},
                   {"id", record.id},
                   {"client", record.client},
                   {"method", record.method},
                   {"path", record.path},
                   {"status", record.status},
                   {"received", record.received},
                   {"sent", record.sent},
                   {"ms", record.seconds * 1e3}})
                 .dump()
          << '\n';
    else
      out << fmt::format("{} {} {} {} {} {} {:.1f} ms {}\n", time_now(), record.client, record.method,
                         printable(record.path), record.status, record.sent, record.seconds * 1e3, record.id);
    out.flush();
  };
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

constexpr std::size_t kLeastMemory = 16 << 20;

serve::ServerOptions server_options(const ServeOptions& options, const Streams& streams) {
  serve::ServerOptions result;
  result.http.host = options.host, result.http.port = options.port, result.http.unix_path = options.unix_path;
  result.http.max_body = bytes_named(options.max_body, "--max-body");
  result.http.max_image = bytes_named(options.max_image, "--max-image");
  if (!options.max_memory.empty()) result.http.max_memory = bytes_named(options.max_memory, "--max-memory", 1e15);
  check(options.max_memory.empty() || result.http.max_memory >= kLeastMemory,
        "serve: --max-memory {} is too little: a request of {} needs several times that, and 16MB at least",
        options.max_memory, options.max_body);
  result.http.patience = milliseconds(options.request_timeout);
  result.http.idle = milliseconds(options.idle_timeout);
  result.http.drain = milliseconds(options.drain_timeout);
  result.http.max_connections = static_cast<std::size_t>(options.max_connections);
  result.http.log = access_log(options.access_log, streams.err);
  result.keys = keys_of(options.api_key_file);
  result.cors_origin = options.cors_origin;
  check(result.cors_origin.find_first_of("\r\n") == std::string::npos, "serve: --cors-origin is one line");
  result.max_concurrent = options.max_concurrent;
  result.max_batch_tokens = options.max_batch_tokens;
  result.max_client_batch = options.max_client_batch_size;
  result.max_pixels = options.max_pixels;
  result.version = version_text();
  if (options.look) result.open_look_backend = [] { return open_backend("cpu", {.threads = 1}); };
  return result;
}

void list_serve_flags(Flags& flags, ServeOptions& options) {
  flags
      .add("--model", options.models, "Model to serve: [NAME=]FOLDER, or the name of a bundled model. Repeat for more.")
      .one_at_a_time()
      .shown_as("all bundled models");
  flags.add("--host", options.host, "Address to listen on, IPv4 or IPv6; 0.0.0.0 or :: accepts other machines.")
      .group("Server");
  flags.add("--port", options.port, "Port; 0 picks a free one.").group("Server").between(0, 65535);
  flags.add("--unix", options.unix_path, "Unix socket to listen on as well.").group("Server");
  flags.add("--api-key-file", options.api_key_file, "File with one API key per line. Clients must send one of them.")
      .group("Server");
  flags.add("--cors-origin", options.cors_origin, "Allowed CORS origin, or *.").group("Server");
  flags.add("--max-connections", options.max_connections, "Open connections; more wait.")
      .group("Limits")
      .between(1, 1 << 20);
  flags.add("--max-concurrent", options.max_concurrent, "Concurrent requests; more get status 429.")
      .group("Limits")
      .between(1, 1 << 16);
  flags.add("--max-body", options.max_body, "Maximum size of a request, such as 2MB.").group("Limits");
  flags.add("--max-image", options.max_image, "Maximum size of an image file.").group("Limits");
  add_max_pixels_flag(flags, options.max_pixels);
  flags.add("--max-memory", options.max_memory, "Memory for all requests together, such as 512MB; more get status 503.")
      .group("Limits")
      .shown_as("a quarter of the memory of the machine, cgroup or ulimit -v");
  flags.add("--max-client-batch-size", options.max_client_batch_size, "Inputs per request; more get status 413.")
      .group("Limits")
      .between(1, 1 << 20);
  flags.add("--max-batch-tokens", options.max_batch_tokens, "Tokens per batch.")
      .group("Performance")
      .between(1, 1 << 24);
  flags.add("--max-rows", options.max_rows, "Texts to generate in one batch.").group("Performance").between(1, 4096);
  flags
      .add("--kept-prompts", options.kept_prompts,
           "Long prompts to remember for requests that begin alike; 0 also reads prompts in one piece.")
      .group("Performance")
      .between(0, 1024);
  flags.add("--batch-wait-us", options.batch_wait_us, "Microseconds that an idle server waits to fill a batch.")
      .group("Performance")
      .between(0, 1e6);
  flags.add("--request-timeout", options.request_timeout, "Seconds to receive a request or to send a response.")
      .group("Limits")
      .between(0.01, 3600);
  flags.add("--idle-timeout", options.idle_timeout, "Seconds to keep an idle connection.")
      .group("Limits")
      .between(0.01, 86400);
  flags.add("--drain-timeout", options.drain_timeout, "Seconds to finish running requests at shutdown.")
      .group("Limits")
      .between(0, 86400);
  flags.add("--access-log", options.access_log, "Log one line per request on standard error: text, json or none.")
      .group("Output")
      .one_of({"text", "json", "none"});
  flags.add("--look,!--no-look", options.look, "Serve the page of attend look at /look.").group("Server");
  flags
      .add("--pooling", options.pooling,
           "Pooling of the token vectors: mean, cls, max, mean_sqrt_len, weightedmean or lasttoken. Default: the "
           "model's 1_Pooling, or mean.")
      .one_of({"mean", "cls", "max", "mean_sqrt_len", "weightedmean", "lasttoken"});
  add_device_flags(flags, options.device);
  add_weights_flag(flags, options.device);
  add_exact_prompts_flag(flags, options.device);
}

}  // namespace

std::size_t bytes_named(const std::string& text, const std::string& flag, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::ranges::transform(unit, unit.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (unit.ends_with("B")) unit.pop_back();
  const double scale = unit.empty() ? 1 : unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : unit == "G" ? 1 << 30 : 0;
  check(error == std::errc() && scale > 0 && number >= 1 && number * scale <= most,
        "serve: {} {} is no number of bytes, such as 512KB or 2MB, up to {:.0f} GB", flag, text, most / 1e9);
  return static_cast<std::size_t>(number * scale);
}

void run_serve(const ServeOptions& options, const Streams& streams) {
  check(http::has_http_server(), "serve: this program was built where there was no Boost (libboost-dev), and cannot");
  serve::ServerOptions server_settings = server_options(options, streams);
  const nn::ModelFormat format = options.device.format();
  EndGuard end(streams.err);  // first, to be there until all else has gone
  serve::Metrics metrics;
  serve::Engine engine(options.batch_wait_us);
  serve::ServedModels models(
      engine, metrics,
      {.open_backend = [device = options.device] { return std::shared_ptr<Backend>(device.open()); },
       .format = format,
       .max_batch_tokens = options.max_batch_tokens,
       .max_rows = options.max_rows,
       .kept_prompts = options.kept_prompts,
       .pooling =
           options.pooling.empty() ? std::optional<tasks::Pooling>() : tasks::pooling_named(options.pooling, "serve")});
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& [name, folder] : folders_of(options)) models.open(name, folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();

  InterruptGuard interrupt;
  const ReloadGuard reload;
  serve::Server server(std::move(server_settings), models, metrics);
  std::string names;
  for (const auto& model : models.all())
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", model->name(), catalogue::name_of(model->task()));
  const bool six = options.host.find(':') != std::string::npos && !options.host.starts_with('[');
  streams.out << fmt::format("attend serve: http://{}{}{}:{}/{}  {}; loaded in {:.2f} s  (Ctrl-C ends it)\n",
                             six ? "[" : "", options.host, six ? "]" : "", server.port(),
                             options.unix_path.empty() ? "" : " and unix:" + options.unix_path, names, seconds)
              << std::flush;
  server.run([&] {
    if (reload_wanted) {
      reload_wanted = 0;
      server.later([&] {
        for (const std::string& line : models.reload()) streams.err << "attend serve: " << line << '\n' << std::flush;
        serve::give_back_memory();  // what a model had that was replaced
      });
    }
    return interrupt.requested();
  });
  end.begin();
  streams.out << "attend serve: done\n" << std::flush;
}

void add_serve_command(Flags& program, const Streams& streams) {
  add_command<ServeOptions>(program, streams,
                            {.name = "serve",
                             .help = "Serve models over HTTP: OpenAI, LibreTranslate and TEI compatible APIs.",
                             .examples = kServeExamples,
                             .notes = {"/docs lists all paths; see also docs/serve.md. SIGTERM and Ctrl-C finish "
                                       "running requests before the server stops. SIGHUP reloads changed models."}},
                            list_serve_flags, run_serve);
}

}  // namespace attend::cli
