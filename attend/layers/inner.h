// Between the public tensors of this folder and those of the engine. No public header includes this one, and nothing of
// it is exported, though cmake/exports.map exports attend::layers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "attend/backends.h"
#include "attend/layers/tensor.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::layers {

// Inside of attend::layers, Tensor is the public class.
using Inner = attend::Tensor;

struct [[gnu::visibility("hidden")]] TapeState {
  std::shared_ptr<Backend> backend;
  std::unique_ptr<Pass> pass;
  std::uint64_t seed = 1;
  std::uint64_t step = 0;  // number of the step that is being recorded
  bool ended = true;       // backward has run, or nothing has begun
};

// The least and the largest of the integers of a tensor. They are known since it was made, so that an id outside of a
// table is an error on every device, without a copy from the device.
struct [[gnu::visibility("hidden")]] Range {
  std::int32_t least = 0, most = 0;
};

struct [[gnu::visibility("hidden")]] TensorRecord {
  std::shared_ptr<Backend> backend;  // first, since the memory of value is freed on it
  Inner value;
  std::weak_ptr<TapeState> tape = {};  // not shared: backward functions of users may hold tensors of their own tape
  std::uint64_t step = 0;              // 0: of no tape
  std::optional<Range> range = {};
  bool of_parameters = false;  // computed from parameters that no tape recorded
};

// While one lives, a device computes for this thread. Another thread that computes on it gets an Error instead of a
// race. Turns of one thread nest.
class [[gnu::visibility("hidden")]] Turn {
 public:
  Turn(const char* op, const Backend& device);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const Backend* device_;
};

// What the library's own code sees of a tensor.
struct [[gnu::visibility("hidden")]] Access {
  static const TensorRecord& record(const char* op, const Tensor& x);
  static Tensor make(TensorRecord record);
  static std::shared_ptr<TapeState> tape_of(const Tensor& x);  // null: of none that is being recorded
  static Tape tape(std::shared_ptr<TapeState> state);
};

// The tensors that an op reads, as the engine's, after the checks that all ops share: they are defined, and of no two
// tapes, and of no step that has ended unless nothing is recorded any more. Optional inputs may be undefined.
class [[gnu::visibility("hidden")]] Inputs {
 public:
  Inputs(const char* op, std::initializer_list<const Tensor*> needed,
         std::initializer_list<const Tensor*> optional = {});

  Inner operator[](std::size_t i) const { return all_[i]; }
  // The same without gaps between its rows.
  Inner dense(std::size_t i) const;
  // The result as a public tensor.
  Tensor result(Inner value, std::optional<Range> range = {}) const;

 private:
  void add(const char* op, const Tensor& x);

  static constexpr std::size_t kMost = 6;
  Inner all_[kMost];
  std::size_t count_ = 0;
  std::shared_ptr<Backend> backend_;
  std::optional<Turn> turn_;
  std::shared_ptr<TapeState> tape_;
  const Tensor* unrecorded_ = nullptr;  // one that was computed from parameters outside of the tape
  bool of_parameters_ = false;
};

// Throws Error if a shape holds more numbers than any memory does, so that products of extents cannot overflow.
[[gnu::visibility("hidden")]] void check_size(const char* what, std::span<const std::int64_t> dims);

// Throws Error if an integer of ids is not in [0, count) and not `besides`.
[[gnu::visibility("hidden")]] void check_range(const char* op, const Tensor& ids, std::int64_t count,
                                               std::optional<std::int32_t> besides = {});

}  // namespace attend::layers
