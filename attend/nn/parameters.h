// The memory of a model's parameters: values, gradients and f32 masters, each one flat buffer of which every
// parameter is a slice, so that clipping and the optimiser are one launch each.
// Matrices come first, then vectors: weight decay is for the former only (Loshchilov & Hutter's common practice). What
// is not learned (Role::buffer) has a flat buffer of its own.
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

// How a model that is only run keeps its weights and tables on a device that packs them (the CPU).
//   plain    tensors like any other, of the dtype the model computes in
//   stored   int8 where the file has that, else what the model computes in
//   f32, bf16, int8   packed once, when the file is read
enum class WeightForm : std::uint8_t { plain, stored, f32, bf16, int8 };
WeightForm weight_form_named(std::string_view name);  // Error for what is none of these

// What a model that is only run computes in, and how it keeps its weights.
struct ModelFormat {
  ModelFormat(DType compute = DType::f32, WeightForm kept = WeightForm::stored) : dtype(compute), weights(kept) {}
  DType dtype;
  WeightForm weights;
};

struct ParametersOptions {
  DType dtype = DType::f32;  // what the model computes in; bf16 keeps an f32 master where it is trained
  std::uint64_t seed = 1;
  bool trained = true;                     // false: values only, no gradients
  bool initialized = true;                 // false: zeros, because a file fills them
  WeightForm weights = WeightForm::plain;  // any other: neither trained nor initialized; every one must be written
  bool products8 = false;                  // while it learns, products of large weights are of 8-bit floats; bf16 only
  // More numbers than this are an Error, before any memory is taken, that names who has no more: a folder's files.
  std::int64_t most = limits::kMostParameters;
  std::string source = "parameters";
};

class Parameters {
 public:
  struct Entry {
    std::string name;
    Parameter* parameter;
    std::int64_t first_row = 0, rows_in_file = 0;  // where it lies in the tensor of a file; 0: it is all of it
    std::int64_t offset = 0;                       // in the flat buffers; -1: packed, and not there
    bool learned() const { return parameter->role != Role::buffer; }
  };
  // In visiting order.
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
  std::int64_t count() const { return count_; }  // of learned numbers, without padding
  std::size_t bytes() const;                     // that the values take, packed ones and buffers with them

  // The flat buffers, without what is packed. master is value itself when the model computes in f32; else it may be
  // kept of a part only, from masters_from() on.
  const Tensor& value() const { return value_; }
  const Tensor& master() const { return master_; }
  const Tensor& gradient() const { return gradient_; }
  // f32, what is not learned; undefined when the model has none of it.
  const Tensor& buffers() const { return buffers_; }
  // The units of 8-bit products, f32 [n, 4]; undefined without them. They are part of what decides a run.
  const Tensor& units8() const { return units8_; }
  std::int64_t decayed() const { return decayed_; }  // how much of them, from the start, belongs to matrices

  // Before the first backward of a step: the next gradient written overwrites. After the last: zero what none reached.
  void start_gradients();
  void finish_gradients();

  // Where the numbers of an entry that is not packed lie, flat: what the model computes with, and the f32 behind it.
  Tensor value(const Entry& entry) const { return slice(entry.learned() ? value_ : buffers_, entry); }
  Tensor master(const Entry& entry) const {
    check_masters_whole();
    return slice(entry.learned() ? master_ : buffers_, entry);
  }
  // f32 values of one entry, through the master; of a packed one, as it was rounded.
  std::vector<float> read(const Entry& entry) const;
  void write(const Entry& entry, std::span<const float> values);
  // A packed entry straight from the bytes of a file, f32 or bf16. False: not so, use write().
  bool write_stored(const Entry& entry, std::span<const std::byte> bytes, std::optional<DType> dtype);
  // After writing to master() directly: brings the values the model computes with up to date.
  void master_changed();
  // Of masters that are not the values themselves, only this part from now on; others have the rest (ZeRO).
  void keep_masters(std::int64_t begin, std::int64_t count);
  // Room for all of them again, with that part in place; the rest is for the caller to fill. False: nothing was
  // missing.
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
  std::int64_t masters_from_ = 0, masters_kept_ = -1;  // -1: all of them
  DType packed_as_ = DType::f32;
  Tensor value_, master_, gradient_, buffers_, units8_;
};

}  // namespace attend::nn
