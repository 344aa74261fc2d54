// The end of every bench program: flags are read, the work is done, and what goes wrong is said.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>

namespace attend {

template <class Run>
int bench_main(CLI::App& app, int argc, char** argv, const Run& run) {
  CLI11_PARSE(app, argc, argv);
  try {
    run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path(argv[0]).filename().string(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace attend
