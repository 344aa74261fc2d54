#include "attend/api/model.h"

#include "attend/api/opened.h"
#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"

namespace attend {

std::string task_of(const std::filesystem::path& folder) {
  return std::string(catalogue::name_of(catalogue::read_config(folder).task));
}

Kept::~Kept() {
  if (inner) destroy(inner);
}
std::shared_ptr<Kept> keep(const Device& device) { return std::make_shared<Kept>(device); }

nn::ModelFormat format_of(const ModelOptions& options) {
  check(options.dtype == "f32" || options.dtype == "bf16", "model: dtype is '{}', but must be f32 or bf16",
        options.dtype);
  return {options.dtype == "f32" ? DType::f32 : DType::bf16, nn::weight_form_named(options.weights)};
}

}  // namespace attend
