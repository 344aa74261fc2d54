// The memory of a model's parameters: values, gradients and f32 masters. Each is one flat buffer, and every parameter
// is a slice of it, so that clipping and the optimiser are one launch each. Matrices come first, then vectors, because
// weight decay applies to matrices only, as is common. Buffers that are not trained (Role::buffer) have a
// flat buffer of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/limits.h"
#include "attend/nn/parameter.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// How inference stores weights and tables on a device that packs them (the CPU).
//   plain             ordinary tensors in the dtype the model computes in
//   stored            int8 if the file has it, else the dtype the model computes in
//   f32, bf16, int8   packed once, when the file is read
enum class WeightForm : std::uint8_t { plain, stored, f32, bf16, int8 };
WeightForm weight_form_named(std::string_view name);  // throws Error for another name

// The dtype that inference computes in, and how it stores weights.
struct ModelFormat {
  ModelFormat(DType compute = DType::f32, WeightForm kept = WeightForm::stored) : dtype(compute), weights(kept) {}
  DType dtype;
  WeightForm weights;
};

struct ParametersOptions {
  DType dtype = DType::f32;  // the dtype of the model; training in bf16 keeps an f32 master
  std::uint64_t seed = 1;
  bool trained = true;                     // false allocates values only, no gradients
  bool initialized = true;                 // false leaves zeros, because a file fills them
  WeightForm weights = WeightForm::plain;  // packed forms are not trained or initialised, and must all be written
  bool products8 = false;                  // trains with 8-bit float products of large weights; bf16 only
  // Throws Error for more numbers than `most`, before allocating; the message names the source, such as a folder.
  std::int64_t most = limits::kMostParameters;
  std::string source = "parameters";
};

class Parameters {
 public:
  struct Entry {
    std::string name;
    Parameter* parameter;
    std::int64_t first_row = 0, rows_in_file = 0;  // its rows in the tensor of a file; 0 if it is the whole tensor
    std::int64_t offset = 0;                       // in the flat buffers; -1 if it is packed instead
    bool learned() const { return parameter->role != Role::buffer; }
  };
  // All parameters of a module in visiting order.
  template <class Module>
  static std::vector<Entry> list(Module& module) {
    Lister lister;
    for_each_parameter(module, lister);
    return std::move(lister.entries);
  }

  template <class Module>
  Parameters(Backend& backend, Module& module, const ParametersOptions& options = {})
      : Parameters(backend, list(module), options) {}
  Parameters(Backend& backend, std::vector<Entry> entries, const ParametersOptions& options);

  const std::vector<Entry>& entries() const { return entries_; }
  std::int64_t count() const { return count_; }  // trained numbers, without padding
  std::size_t bytes() const;                     // memory of the values, including packed ones and buffers

  // The flat buffers, without packed weights. master is value itself if the model computes in f32. Otherwise it may
  // hold only a part, from masters_from() on.
  const Tensor& value() const { return value_; }
  const Tensor& master() const { return master_; }
  const Tensor& gradient() const { return gradient_; }
  // f32 buffers that are not trained; undefined if there are none.
  const Tensor& buffers() const { return buffers_; }
  // The scales of 8-bit products, f32 [n, 4]; undefined without them. They are part of the state of a training run.
  const Tensor& units8() const { return units8_; }
  std::int64_t decayed() const { return decayed_; }  // length of the first part, which holds matrices

  // Call start_gradients() before the first backward of a step, so that the next gradient overwrites. Call
  // finish_gradients() after the last one; it zeroes gradients that no backward wrote.
  void start_gradients();
  void finish_gradients();

  // The slice of an entry that is not packed: the value the model computes with, and its f32 master.
  Tensor value(const Entry& entry) const { return slice(entry.learned() ? value_ : buffers_, entry); }
  Tensor master(const Entry& entry) const {
    check_masters_whole();
    return slice(entry.learned() ? master_ : buffers_, entry);
  }
  // f32 values of one entry, from the master. A packed entry returns its rounded values.
  std::vector<float> read(const Entry& entry) const;
  void write(const Entry& entry, std::span<const float> values);
  // Packs an entry directly from the bytes of a file, f32 or bf16. False if that is not possible; then use write().
  bool write_stored(const Entry& entry, std::span<const std::byte> bytes, std::optional<DType> dtype);
  // Call it after writing to master() directly: it updates the values that the model computes with.
  void master_changed();
  // Keeps only this part of the masters from now on; other processes hold the rest (ZeRO). No effect in f32.
  void keep_masters(std::int64_t begin, std::int64_t count);
  // Allocates all masters again, with the kept part in place; the caller fills in the rest. False if all were there.
  bool make_masters_whole();
  std::int64_t masters_from() const { return masters_from_; }

 private:
  struct Lister {
    std::vector<Entry> entries;
    void operator()(const std::string& name, Parameter& parameter) { entries.push_back({name, &parameter}); }
    void operator()(const std::string& name, const FileRows& rows) {
      entries.push_back({name, &rows.parameter, rows.begin, rows.rows_in_file});
    }
  };
  static Tensor slice(const Tensor& flat, const Entry& entry) {
    return flat.slice_first(entry.offset, entry.parameter->shape.size());
  }
  void check_masters_whole() const;
  void initialize(const Entry& entry, std::uint64_t seed, std::uint32_t stream);
  void pack(const Entry& entry, const void* values, DType dtype) const;
  void prepare_products8();

  std::vector<Entry> entries_;
  std::int64_t count_ = 0, decayed_ = 0;
  std::int64_t masters_from_ = 0, masters_kept_ = -1;  // -1 means all of them
  DType packed_as_ = DType::f32;
  Tensor value_, master_, gradient_, buffers_, units8_;
};

}  // namespace attend::nn
