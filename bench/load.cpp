// Clients that stream texts from /v1/completions, as many at once as asked for, and what they see.
//   load --port 8080 [--clients 1 16 64 256] [--prompts FILE] [--tokens 128] [--seconds 10] [--model NAME] [--threads
//   2] load --echo [..]
// Every client asks for one text after another on a connection of its own, greedily. --prompts has a prompt a line,
// sent in turn; a line that begins with [ is a list of tokens. Prints a JSON object for each number of clients: tokens
// a second, errors, and the median and 99th percentile of the milliseconds to the first token, between two tokens, and
// of a request. The first --warm seconds do not count.
// --echo: the same clients against a server in this program that computes nothing. It shows what they can take at most.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <optional>
#include <thread>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "bench/support/bench_main.h"
#ifdef ATTEND_WITHOUT_BOOST
int main() {
  fmt::print(stderr, "load: built without Boost (libboost-dev)\n");
  return 1;
}
#else
#include "bench/support/load_client.h"
#include "bench/support/load_echo.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  std::string host = "127.0.0.1", model, prompts;
  std::uint16_t port = 8080;
  std::vector<std::int64_t> clients = {1, 16, 64, 256};
  std::int64_t tokens = 128;
  double seconds = 10, warm = 2;
  int threads = 2;
  bool echo = false;
};

std::vector<std::string> requests(const Options& options) {
  std::vector<std::string> prompts;
  if (!options.prompts.empty()) {
    const std::string text = read_file(options.prompts);
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      if (end > at) prompts.push_back(text.substr(at, end - at));
    }
    check(!prompts.empty(), "{} has no prompts", options.prompts);
  } else {
    prompts = {"the old man and the sea the old man and the sea "};
  }
  std::vector<std::string> all;
  for (const std::string& prompt : prompts) {
    const Json body = {{"model", options.model},
                       {"prompt", prompt.front() == '[' ? Json::parse(prompt) : Json(prompt)},
                       {"max_tokens", options.tokens},
                       {"temperature", 0},
                       {"stream", true},
                       {"stream_options", {{"include_usage", true}}}};
    const std::string text = body.dump();
    all.push_back(
        fmt::format("POST /v1/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n"
                    "content-length: {}\r\n\r\n{}",
                    options.host, text.size(), text));
  }
  return all;
}

Json quantiles(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    if (seconds.empty()) return Json();
    const auto index = static_cast<std::size_t>(share * static_cast<double>(seconds.size()));
    return Json(1e3 * seconds[std::min(index, seconds.size() - 1)]);
  };
  return {{"p50", at(0.5)}, {"p99", at(0.99)}};
}

Json run(const Options& options, const boost::asio::ip::tcp::endpoint& server, std::int64_t count) {
  const std::vector<std::string> asked = requests(options);
  const auto threads = static_cast<std::size_t>(std::min<std::int64_t>(options.threads, count));
  using Seconds = std::chrono::duration<double>;
  const auto now = LoadWindow::Clock::now();
  const auto after = [now](double seconds) {
    return now + std::chrono::duration_cast<LoadWindow::Clock::duration>(Seconds(seconds));
  };
  const LoadWindow window{after(options.warm), after(options.warm + options.seconds)};
  std::vector<LoadSeen> seen(threads);
  std::vector<std::thread> running;
  const Stopwatch cpu(Stopwatch::Counts::cpu);
  for (std::size_t thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      boost::asio::io_context io(1);
      std::deque<LoadClient> clients;
      for (auto i = thread; i < static_cast<std::size_t>(count); i += threads)
        clients.emplace_back(io, server, window, asked, i, seen[thread]).start();
      io.run_until(window.end);
    });
  for (std::thread& thread : running) thread.join();
  LoadSeen all;
  for (const LoadSeen& one : seen) all.add(one);
  // A token without a character of its own is no event. The usage of the texts that ended tells how many there are.
  const double each =
      all.all_events > 0 ? static_cast<double>(all.all_tokens) / static_cast<double>(all.all_events) : 1;
  return {{"clients", count},
          {"tokens_per_second", std::round(static_cast<double>(all.events) * each / options.seconds)},
          {"requests", all.whole.size()},
          {"errors", all.errors},
          {"why", all.why},
          {"first_ms", quantiles(std::move(all.first))},
          {"between_ms", quantiles(std::move(all.between))},
          {"request_ms", quantiles(std::move(all.whole))},
          {"cores", cpu.seconds() / (options.warm + options.seconds)}};
}

void run(const Options& options) {
  std::optional<LoadEcho> echo;
  if (options.echo) echo.emplace(options.tokens, options.threads);
  const auto server = echo ? echo->address()
                           : boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address(options.host), options.port);
  for (const std::int64_t clients : options.clients) {
    check(clients >= 1, "{} clients", clients);
    std::cout << run(options, server, clients).dump() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Clients that stream texts from /v1/completions, timed.");
  app.add_option("--host", options.host, "address of the server");
  app.add_option("--port", options.port, "of the server");
  app.add_option("--model", options.model, "name of the model");
  app.add_option("--clients", options.clients, "how many at once; one run for each number");
  app.add_option("--prompts", options.prompts, "a file with a prompt a line");
  app.add_option("--tokens", options.tokens, "of each text");
  app.add_option("--seconds", options.seconds, "that count");
  app.add_option("--warm", options.warm, "seconds before those");
  app.add_option("--threads", options.threads, "of the clients")->check(CLI::PositiveNumber);
  app.add_flag("--echo", options.echo, "against a server in this program that computes nothing");
  return bench_main(app, argc, argv, [&] { run(options); });
}
#endif
