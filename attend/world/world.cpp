#include "attend/world/world.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "attend/base/dtype.h"
#include "attend/base/error.h"

namespace attend::world {

namespace {

constexpr std::size_t kSmall = 1024;                  // numbers: below, everybody gets everything and adds up alone
constexpr std::size_t kPiece = std::size_t{1} << 20;  // numbers that are on their way at once

template <class Number>
std::span<std::byte> bytes_of(std::span<Number> values) {
  return std::as_writable_bytes(values);
}

// Parts, one behind the other, added up in their order.
template <class Number>
void add_in_order(std::span<const Number> parts, std::span<Number> sums) {
  if (parts.size() == 2 * sums.size()) {  // two floats add up in f64 and f32 to the same
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = Number(static_cast<float>(parts[i]) + static_cast<float>(parts[sums.size() + i]));
    return;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double sum = 0;
    for (std::size_t at = i; at < parts.size(); at += sums.size())
      sum += static_cast<double>(static_cast<float>(parts[at]));
    sums[i] = Number(static_cast<float>(sum));
  }
}

class Alone : public World {
 public:
  Alone() : World(0, 1) {}
  using World::all_gather;
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    std::ranges::copy(own, all.begin());
  }
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
  void abandon(int) override {}

 protected:
  void exchange(std::span<const std::byte> parts, std::span<std::byte> received) override {
    std::ranges::copy(parts, received.begin());
  }
};

}  // namespace

World& alone() {
  static Alone world;
  return world;
}

template <class Number>
void World::all_reduce_numbers(std::span<Number> values) {
  const auto size = static_cast<std::size_t>(size_);
  std::vector<Number> all(values.size() * size);
  all_gather(std::as_bytes(values), bytes_of(std::span<Number>(all)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < size; ++rank) sum += static_cast<double>(all[rank * values.size() + i]);
    values[i] = static_cast<Number>(sum);
  }
}

void World::all_reduce(std::span<double> values) {
  if (size_ > 1) all_reduce_numbers(values);
}

void World::all_reduce(std::span<float> values, Wire wire) {
  if (size_ == 1) return;
  if (values.size() <= kSmall) return all_reduce_numbers(values);
  if (wire == Wire::f32)
    all_reduce_pieces<float>(values);
  else
    all_reduce_pieces<Bf16>(values);
}

// A piece at a time: each rank adds up its part of it, and everybody gets the parts.
template <class Sent>
void World::all_reduce_pieces(std::span<float> values) {
  const auto size = static_cast<std::size_t>(size_);
  std::vector<Sent> piece, received, own;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kPiece), part = (count + size - 1) / size;
    piece.resize(part * size);
    std::ranges::transform(values.first(count), piece.begin(), [](float value) { return Sent(value); });
    std::ranges::fill(piece.begin() + static_cast<std::ptrdiff_t>(count), piece.end(), Sent(0.0f));
    received.resize(piece.size()), own.resize(part);
    exchange(std::as_bytes(std::span(piece)), std::as_writable_bytes(std::span(received)));
    add_in_order<Sent>(received, own);
    all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(piece)));
    std::ranges::transform(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count), values.begin(),
                           [](Sent value) { return static_cast<float>(value); });
    values = values.subspan(count);
  }
}

void World::reduce_scatter(std::span<const float> all, std::span<float> own) {
  const auto size = static_cast<std::size_t>(size_);
  check(all.size() == own.size() * size, "world: {} numbers are not {} parts of {}", all.size(), size, own.size());
  std::vector<float> received(all.size());
  exchange(std::as_bytes(all), bytes_of(std::span<float>(received)));
  add_in_order<float>(received, own);
}

std::vector<std::string> World::all_gather(const std::string& own) {
  const auto size = static_cast<std::size_t>(size_);
  const std::uint64_t length = own.size();
  std::vector<std::uint64_t> lengths(size);
  all_gather(std::as_bytes(std::span(&length, 1)), bytes_of(std::span<std::uint64_t>(lengths)));
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(lengths));
  std::string padded = own, all(longest * size, '\0');
  padded.resize(longest);
  all_gather(std::as_bytes(std::span<const char>(padded)), bytes_of(std::span<char>(all)));
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < size; ++rank)
    texts.push_back(all.substr(rank * longest, static_cast<std::size_t>(lengths[rank])));
  return texts;
}

int sharing_cores(World& world) {
  if (world.size() == 1) return 1;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::string own = host;
  own.append(reinterpret_cast<const char*>(&cores), sizeof cores);
  return static_cast<int>(std::ranges::count(world.all_gather(own), own));
}

void World::barrier_after_work() {
  constexpr double kLonger = 20;
  const double usual = timeout_;
  timeout_ *= kLonger;
  try {
    barrier();
  } catch (...) {
    timeout_ = usual;
    throw;
  }
  timeout_ = usual;
}

}  // namespace attend::world
