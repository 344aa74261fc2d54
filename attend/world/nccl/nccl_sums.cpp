#include "attend/world/nccl/nccl_sums.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/plugin.h"
#include "attend/world/nccl/calls.h"
#include "attend/world/part.h"

namespace attend::world {

namespace {

void check_nccl(const char* wrong, const char* what) { check(!wrong, "NCCL: {}: {}", what, wrong ? wrong : ""); }

class NcclSums : public DeviceSums {
 public:
  NcclSums(const AttendNcclCalls& calls, World& world, const DeviceQueue& queue) : calls_(calls), size_(world.size()) {
    std::vector<std::byte> id(static_cast<std::size_t>(calls.id_bytes));
    if (world.is_root()) check_nccl(calls.make_id(id.data()), "an id");
    world.broadcast(id, 0);
    check_nccl(calls.open(id.data(), world.rank(), size_, queue.device, queue.stream, &communicator_), "begin");
  }
  ~NcclSums() override { calls_.close(communicator_); }

  void start(const Numbers& numbers) override {
    check_nccl(calls_.start(communicator_, numbers.values, numbers.count, numbers.wire == Wire::bf16), "all-reduce");
  }
  void finish() override { check_nccl(calls_.finish(communicator_), "all-reduce"); }
  void gather(void* values, std::int64_t size, Wire wire) override {
    const std::int64_t in_a_float = wire == Wire::bf16 ? 2 : 1;  // parts and all of them are multiples of 64
    std::vector<long long> begins;
    for (int rank = 0; rank < size_; ++rank) begins.push_back(part_of_rank(size, rank, size_).begin / in_a_float);
    begins.push_back(size / in_a_float);
    check_nccl(calls_.broadcast_parts(communicator_, static_cast<float*>(values), begins.data(), size_), "all-gather");
  }

 private:
  const AttendNcclCalls& calls_;
  int size_;
  void* communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceSums> open_nccl(World& world, const DeviceQueue& queue) {
  const char* const set = std::getenv("ATTEND_NCCL");
  const std::string asked = set ? set : "";
  check(asked.empty() || asked == "0" || asked == "1", "ATTEND_NCCL is '{}', but must be 0 or 1", asked);
  if (!queue.stream || asked == "0" || (asked.empty() && world.size() == 1)) return nullptr;
  const Plugin plugin = open_plugin(
      {.file = "libattend_nccl.so", .variable = "ATTEND_NCCL_PLUGIN", .function = kOpenNccl, .global = true});
  double with[] = {plugin.function ? 1.0 : 0.0};
  world.all_reduce(std::span<double>(with));
  if (with[0] == 0 && asked.empty()) return nullptr;
  check(plugin.function != nullptr, "NCCL cannot be used: {} (docs/many-machines.md; ATTEND_NCCL=0 does without)",
        plugin.why);
  check(with[0] == world.size(), "NCCL is there for {} of {} ranks only: install it for all, or set ATTEND_NCCL=0",
        with[0], world.size());
  const AttendNcclCalls* const calls = reinterpret_cast<AttendOpenNccl>(plugin.function)();
  check(calls != nullptr && calls->version == kNcclCallsVersion, "'{}' is not this program's: build both again",
        plugin.path);
  return std::make_unique<NcclSums>(*calls, world, queue);
}

}  // namespace attend::world
