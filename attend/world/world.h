// The processes that work on one thing together, and the few things they do in common: each is a rank of a size. A
// program that was started alone is a world of one, where all of this costs nothing.
//
//   World& world = ..;                                  // alone, or open_world()'s
//   world.all_reduce(std::span<float>(gradient));       // everybody has the sum
//   if (world.is_root()) write();                         // rank 0 writes and speaks
//
// Sums are added in the order of the ranks, whatever way the messages take: a run with as many ranks has the same bits
// every time, and every rank has the same ones. Everybody calls the same functions in the same order; who waits longer
// than the timeout for somebody throws an Error that names who is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attend::world {

// How numbers travel: as they are, or rounded to the upper half of a float, in half the bytes. Sums are added in f64.
enum class Wire : std::uint8_t { f32, bf16 };

class World {
 public:
  virtual ~World() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  // Among the ranks of this host.
  int host_rank() const { return host_rank_; }
  int host_size() const { return host_size_; }

  // The sum over all ranks, in place.
  void all_reduce(std::span<float> values, Wire wire = Wire::f32);
  void all_reduce(std::span<double> values);
  // Part number rank() of that sum: all has size() parts as long as own.
  void reduce_scatter(std::span<const float> all, std::span<float> own);
  // Everybody's, in the order of the ranks: all has size() parts as long as own.
  virtual void all_gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  // Texts of any length, in the order of the ranks.
  std::vector<std::string> all_gather(const std::string& own);
  virtual void broadcast(std::span<std::byte> values, int from) = 0;
  virtual void barrier() = 0;
  // Behind work that may take long, and that others wait for: reading texts, validation.
  void barrier_after_work();

  // Seconds anybody waits for the others; 0: for ever.
  void set_timeout(double seconds) { timeout_ = seconds; }
  // Whether another thread may use it, one at a time (comm_thread.h).
  virtual bool carried() const { return true; }
  // Seconds spent in here so far, waiting for the others included.
  double seconds() const { return seconds_; }

  // All is done; waits for the others.
  virtual void finish() {}
  // Ends every rank, this one too: it cannot go on.
  virtual void abandon(int code) = 0;

 protected:
  World(int rank, int size) : rank_(rank), size_(size), host_rank_(rank), host_size_(size) {}
  // Sends part number i of `parts` to rank i; what comes from rank i is part i of `received`.
  virtual void exchange(std::span<const std::byte> parts, std::span<std::byte> received) = 0;
  double timeout() const { return timeout_; }

  int rank_, size_, host_rank_, host_size_;
  double seconds_ = 0;

 private:
  template <class Number>
  void all_reduce_numbers(std::span<Number> values);
  template <class Sent>
  void all_reduce_pieces(std::span<float> values);

  double timeout_ = 300;
};

// How many of them, this one counted, were given the same cores of the same host: a launcher may have bound each to its
// own, or none.
int sharing_cores(World& world);

// A world of one.
World& alone();

}  // namespace attend::world
