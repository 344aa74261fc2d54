#include "attend/world/mpi/mpi_world.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/plugin.h"
#include "attend/world/mpi/calls.h"

namespace attend::world {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of one message: MPI counts in int
constexpr double kSoon = 0.2, kRollCallSeconds = 3;

double since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

// ATTEND_MESSAGE_DELAY=0.002 or 0.002,1e9: no message takes less than so many seconds and, at so many bytes a second,
// those of its bytes. For measurements on one host of what happens between hosts.
struct Delay {
  double seconds = 0, seconds_a_byte = 0;
};

Delay delay_from(const std::string& text) {
  char* end = nullptr;
  Delay delay{.seconds = std::strtod(text.c_str(), &end)};
  if (*end == ',') {
    const double bytes = std::strtod(end + 1, &end);
    if (bytes > 0) delay.seconds_a_byte = 1 / bytes;
  }
  check(*end == 0 && delay.seconds >= 0, "ATTEND_MESSAGE_DELAY is '{}', but must be seconds, or seconds,bytes a second",
        text);
  return delay;
}

class MpiWorld : public World {
 public:
  explicit MpiWorld(const AttendMpiCalls& calls) : World(calls.rank, calls.size), calls_(calls) {
    host_rank_ = calls.host_rank, host_size_ = calls.host_size;
    if (const char* text = std::getenv("ATTEND_MESSAGE_DELAY")) delay_ = delay_from(text);
  }
  bool carried() const override { return calls_.threads != 0; }

  using World::all_gather;
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    check(own.size() <= kMostBytes, "world: {} bytes are too many for one message", own.size());
    calls_.gather(own.data(), all.data(), own.size());
    wait("all-gather", all.size() - own.size());
  }

  void broadcast(std::span<std::byte> values, int from) override {
    while (!values.empty()) {
      const std::size_t bytes = std::min(values.size(), kMostBytes);
      calls_.broadcast(values.data(), bytes, from);
      wait("broadcast", bytes);
      values = values.subspan(bytes);
    }
  }

  void barrier() override {
    calls_.barrier();
    wait("barrier", 0);
  }

  void finish() override { calls_.finish(); }
  void abandon(int code) override { calls_.abandon(code); }

 protected:
  void exchange(std::span<const std::byte> parts, std::span<std::byte> received) override {
    calls_.exchange(parts.data(), received.data(), parts.size() / static_cast<std::size_t>(size_));
    wait("all-reduce", parts.size() - parts.size() / static_cast<std::size_t>(size_));
  }

 private:
  // At first as fast as can be; who waits longer leaves the core to others, and who waits really long sleeps. A thread
  // beside the one that computes always does.
  void wait(const char* what, std::size_t bytes) {
    const auto start = steady_clock::now();
    for (std::int64_t turn = 0; !calls_.done(); ++turn) {
      if (turn < 64) continue;
      const double waited = since(start);
      if (timeout() > 0 && waited > timeout()) nobody_comes(what, waited);
      if (waited > kSoon) calls_.answer_roll_call();  // of somebody who is less patient
      if (std::this_thread::get_id() != opened_by_)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      else if (waited < kSoon)
        sched_yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const double slower = delay_.seconds + static_cast<double>(bytes) * delay_.seconds_a_byte - since(start);
    if (slower > 0) std::this_thread::sleep_for(std::chrono::duration<double>(slower));
    seconds_ += since(start);
  }

  [[noreturn]] void nobody_comes(const char* what, double waited) const {
    std::vector<char> here(static_cast<std::size_t>(size_));
    calls_.roll_call(here.data(), kRollCallSeconds);
    std::vector<std::string> missing;
    for (int rank = 0; rank < size_; ++rank)
      if (!here[static_cast<std::size_t>(rank)]) missing.push_back(std::to_string(rank));
    const std::string who = missing.empty()       ? "some rank does"
                            : missing.size() == 1 ? fmt::format("rank {} of {} ranks does", missing[0], size_)
                                                  : fmt::format("ranks {} of {} do", joined(missing, ", "), size_);
    fail(
        "{} not answer any more: rank {} waited {:.0f} s in {} (--timeout). What was saved is whole: --resume "
        "continues "
        "from there",
        who, rank_, waited, what);
  }

  const AttendMpiCalls& calls_;
  Delay delay_;
  std::thread::id opened_by_ = std::this_thread::get_id();
};

bool more_than_one(const char* name) {
  const char* value = std::getenv(name);
  return value && std::atoi(value) > 1;
}

}  // namespace

Launch launched() {
  const char* asked = std::getenv("ATTEND_WORLD");
  const std::string world = asked ? asked : "";
  check(world.empty() || world == "alone" || world == "mpi", "ATTEND_WORLD is '{}', but must be alone or mpi", world);
  if (world == "alone") return {};
  if (world == "mpi") return {true, "ATTEND_WORLD"};
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"})
    if (more_than_one(name)) return {true, name};
  // Inside a batch script Slurm says how many tasks there are; only what srun started has a step of its own with them.
  if (more_than_one("SLURM_STEP_NUM_TASKS") && std::getenv("SLURM_PROCID")) return {true, "SLURM_STEP_NUM_TASKS"};
  return {};
}

std::unique_ptr<World> open_world() {
  const Launch launch = launched();
  if (!launch.together) return nullptr;
  const auto open = [](const char* file) {
    return open_plugin({.file = file, .variable = "ATTEND_MPI_PLUGIN", .function = kOpenMpi, .global = true});
  };
  // MPICH's launcher sets PMI_SIZE and none of OpenMPI's.
  const bool mpich = launch.by == "PMI_SIZE";
  Plugin plugin = open(mpich ? "libattend_mpich.so" : "libattend_mpi.so");
  if (mpich && !plugin.function) plugin = open("libattend_mpi.so");
  if (plugin.function) {
    const AttendMpiCalls* const calls = reinterpret_cast<AttendOpenMpi>(plugin.function)();
    check(calls != nullptr && calls->version == kMpiCallsVersion,
          "'{}' is not this program's: build both again, or name another with ATTEND_MPI_PLUGIN", plugin.path);
    return std::make_unique<MpiWorld>(*calls);
  }
  fail(
      "this is one of several processes ({} says so), but MPI cannot be used: {}. Install OpenMPI and build again "
      "(docs/many-machines.md), or set ATTEND_WORLD=alone",
      launch.by, plugin.why);
}

}  // namespace attend::world
