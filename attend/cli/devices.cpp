#include "attend/cli/devices.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <ostream>
#include <string>

#include "attend/backends.h"
#include "attend/base/thread_pool.h"
#include "attend/cli/command.h"
#include "attend/cli/version.h"
#include "attend/cpu/features.h"

namespace attend {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// The value after "key   : value" in a file of /proc, or nothing.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// arm64 kernels give no model name; some machines tell it in the device tree.
std::string cpu_model() {
  std::string model = proc_value("/proc/cpuinfo", "model name");
  if (model.empty()) std::getline(std::ifstream("/proc/device-tree/model"), model, '\0');
  return model.empty() ? "unknown model" : model;
}

double total_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : 0;
}

void write_line(std::ostream& out, std::string_view label, std::string_view text) {
  out << fmt::format("  {:<10}{}\n", label, text);
}

}  // namespace

void run_devices(const DevicesOptions&, const Streams& streams) {
  std::ostream& out = streams.out;
  out << "cpu\n";
  write_line(out, "model", cpu_model());
  write_line(out, "features", cpu::describe(cpu::features()));
  write_line(out, "threads", fmt::format("{}", available_cores()));
  write_line(out, "memory", fmt::format("{:.1f} GiB", total_memory() / kGiB));
  int index = 0;
  for (const Gpu& gpu : gpus()) {
    out << fmt::format("cuda:{}\n", index++);
    write_line(out, "model", gpu.name);
    write_line(out, "compute", fmt::format("{}.{}, {} multiprocessors", gpu.major, gpu.minor, gpu.multiprocessors));
    write_line(out, "memory", fmt::format("{:.1f} GiB", static_cast<double>(gpu.memory) / kGiB));
  }
  if (index == 0) out << (built_with_cuda() ? "cuda: no GPU found\n" : "cuda: not in this build\n");
  out << "build\n";
  write_line(out, "program", version_text());
  write_line(out, "backends", built_with_cuda() ? "cpu, cuda" : "cpu");
}

void add_devices_command(Flags& program, const Streams& streams) {
  add_command<DevicesOptions>(
      program, streams, {.name = "devices", .help = "Shows the CPU, the GPUs and what this build contains."},
      [](Flags&, DevicesOptions&) {}, run_devices);
}

}  // namespace attend
