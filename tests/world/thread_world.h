// A world of threads of one process, for tests.
#pragma once

#include <algorithm>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "attend/world/world.h"

namespace attend::test {

// What all threads see.
struct Table {
  explicit Table(int size) : sent(static_cast<std::size_t>(size)), meet(size) {}
  std::vector<std::span<const std::byte>> sent;
  std::barrier<> meet;
};

class ThreadWorld : public world::World {
 public:
  ThreadWorld(int rank, int size, Table& table) : world::World(rank, size), table_(table) {}
  using world::World::all_gather;
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    round(own, [&] {
      for (std::size_t from = 0; from < table_.sent.size(); ++from)
        std::ranges::copy(table_.sent[from], all.begin() + static_cast<std::ptrdiff_t>(from * own.size()));
    });
  }
  void broadcast(std::span<std::byte> values, int from) override {
    const std::vector<std::byte> own(values.begin(), values.end());
    round(own, [&] { std::ranges::copy(table_.sent[static_cast<std::size_t>(from)], values.begin()); });
  }
  void barrier() override { table_.meet.arrive_and_wait(); }
  void abandon(int) override {}

 protected:
  void exchange(std::span<const std::byte> parts, std::span<std::byte> received) override {
    const std::size_t bytes = parts.size() / table_.sent.size();
    round(parts, [&] {
      for (std::size_t from = 0; from < table_.sent.size(); ++from)
        std::ranges::copy(table_.sent[from].subspan(bytes * static_cast<std::size_t>(rank()), bytes),
                          received.begin() + static_cast<std::ptrdiff_t>(from * bytes));
    });
  }

 private:
  void round(std::span<const std::byte> own, const std::function<void()>& read) {
    table_.sent[static_cast<std::size_t>(rank())] = own;
    barrier();
    read();
    barrier();
  }
  Table& table_;
};

inline void in_world(int size, const std::function<void(world::World&)>& body) {
  Table table(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadWorld world(rank, size, table);
      body(world);
    });
}

}  // namespace attend::test
