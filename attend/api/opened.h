// How the classes of this folder hold a model: with its device, which goes after it.
#pragma once

#include <filesystem>
#include <memory>

#include "attend/api/model.h"
#include "attend/backends.h"
#include "attend/nn/parameters.h"

namespace attend {

nn::ModelFormat format_of(const ModelOptions& options);

// A model, whatever it is. It is destroyed by a function, not by a type, so that twelve tasks share the code of one
// std::shared_ptr: libattend.a is 0.7 % smaller.
struct Kept {
  explicit Kept(const Device& device) : backend(device.backend()) {}
  ~Kept();
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  std::shared_ptr<Backend> backend;
  const void* inner = nullptr;
  void (*destroy)(const void* inner) = nullptr;
};
std::shared_ptr<Kept> keep(const Device& device);

// make(backend) is the new model, which belongs to what comes back.
template <class Inner, class Make>
std::shared_ptr<const Inner> opened(const Device& device, const Make& make) {
  const std::shared_ptr<Kept> kept = keep(device);
  const Inner* inner = make(*kept->backend);
  kept->inner = inner;
  kept->destroy = [](const void* model) { delete static_cast<const Inner*>(model); };
  return {kept, inner};
}

// Of a class whose constructor takes the folder, the backend and the format.
template <class Inner>
std::shared_ptr<const Inner> opened(const std::filesystem::path& folder, const Device& device,
                                    const ModelOptions& options) {
  return opened<Inner>(device, [&](Backend& on) { return new Inner(folder, on, format_of(options)); });
}

}  // namespace attend
