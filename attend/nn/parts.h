// A probe (tensor/pass.h) that sees the parts of sublayers besides attention weights. A normal forward pass does not
// keep these tensors, and does not even compute some of them.
#pragma once

#include <initializer_list>
#include <string_view>

#include "attend/tensor/pass.h"

namespace attend::nn {

struct Part {
  std::string_view name;
  const Tensor& value;
};

class PartsProbe : public Probe {
 public:
  // Receives a part of the sublayer with this label. The residual stream is shown under "stream": at its start, and
  // after each sublayer.
  virtual void part(std::string_view label, const Part& part) = 0;
};

// The probe of x's pass, if it wants parts; else null.
inline PartsProbe* parts_probe(const Tensor& x) {
  Probe* probe = x.pass() ? x.pass()->probe() : nullptr;
  return probe ? dynamic_cast<PartsProbe*>(probe) : nullptr;
}

// Shows tensors to the probe, if there is one.
inline void show(std::string_view label, std::initializer_list<Part> parts) {
  PartsProbe* probe = parts_probe(parts.begin()->value);
  if (!probe) return;
  for (const Part& part : parts) probe->part(label, part);
}

}  // namespace attend::nn
