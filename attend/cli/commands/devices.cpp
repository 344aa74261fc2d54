#include "attend/cli/commands/devices.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <ostream>
#include <string>
#include <utility>

#include "attend/backends.h"
#include "attend/base/thread_pool.h"
#include "attend/cli/commands/version.h"
#include "attend/cli/support/command.h"
#include "attend/cpu/features.h"

namespace attend::cli {

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

// Linux on arm64 gives no name of the processor, only the numbers of who made it and of the part; these are Arm's own.
std::string arm_model() {
  const std::string maker = proc_value("/proc/cpuinfo", "CPU implementer");
  const std::string part = proc_value("/proc/cpuinfo", "CPU part");
  if (maker.empty() || part.empty()) return "";
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"0xd03", "Cortex-A53"},  {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"},  {"0xd08", "Cortex-A72"},
      {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"},  {"0xd0b", "Cortex-A76"},  {"0xd41", "Cortex-A78"},
      {"0xd0c", "Neoverse-N1"}, {"0xd40", "Neoverse-V1"}, {"0xd49", "Neoverse-N2"}, {"0xd4f", "Neoverse-V2"}};
  for (const auto& [number, name] : kParts)
    if (maker == "0x41" && part == number) return std::string(name);
  return fmt::format("implementer {}, part {}", maker, part);
}

std::string cpu_model() {
  std::string model = proc_value("/proc/cpuinfo", "model name");
  if (model.empty()) model = arm_model();
  return model.empty() ? "unknown model" : model;
}

void write_line(std::ostream& out, std::string_view label, std::string_view text) {
  out << fmt::format("  {:<10}{}\n", label, text);
}

}  // namespace

std::size_t total_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

void run_devices(const DevicesOptions&, const Streams& streams) {
  std::ostream& out = streams.out;
  out << "cpu\n";
  write_line(out, "model", cpu_model());
  write_line(out, "features", cpu::describe(cpu::features()));
  write_line(out, "threads", fmt::format("{}", available_cores()));
  write_line(out, "memory", fmt::format("{:.1f} GiB", static_cast<double>(total_memory()) / kGiB));
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
      program, streams,
      {.name = "devices",
       .help = "Show the CPU, the GPUs and the features of this build.",
       .examples = "attend devices"},
      [](Flags&, DevicesOptions&) {}, run_devices);
}

}  // namespace attend::cli
