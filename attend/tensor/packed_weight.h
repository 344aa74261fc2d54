// A weight that will not change, in the form a device multiplies by fastest (Backend::pack). Only the device that made
// it knows the form; a tensor over it has no plain memory, and is good for products and lookups alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attend/base/dtype.h"

namespace attend {

class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  virtual std::size_t bytes() const = 0;
  virtual DType form() const = 0;  // f32, bf16 or i8: how far its numbers were rounded
  // The numbers as they were given, but for the rounding of the form.
  virtual void read(std::span<float> into) const = 0;
};

// What to pack: [out, in], or [in, out] as GPT-2's files have it, on the host.
struct WeightToPack {
  const void* values = nullptr;
  DType dtype = DType::f32;  // of the values: f32 or bf16
  std::int64_t out = 0, in = 0;
  bool input_major = false;
  DType as = DType::f32;  // f32; bf16; i8: whole numbers with a scale for each output
  bool exact = false;     // f32 as it is, even where products of bf16 pieces are faster: tables that are looked up
};

}  // namespace attend
