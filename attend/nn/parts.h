// A probe (tensor/pass.h) that looks at more than attention: at the parts of sublayers, which a forward otherwise never
// keeps, and some of which it never makes.
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
  // Of the sublayer with this label; the residual stream shows itself under "stream", first as it begins and then after
  // each sublayer.
  virtual void part(std::string_view label, const Part& part) = 0;
};

inline PartsProbe* parts_probe(const Tensor& x) {
  Probe* probe = x.pass() ? x.pass()->probe() : nullptr;
  return probe ? dynamic_cast<PartsProbe*>(probe) : nullptr;
}

inline void show(std::string_view label, std::initializer_list<Part> parts) {
  PartsProbe* probe = parts_probe(parts.begin()->value);
  if (!probe) return;
  for (const Part& part : parts) probe->part(label, part);
}

}  // namespace attend::nn
