#include "attend/verify/module_names.h"

#include <string_view>
#include <utility>

namespace attend::verify {

namespace {

// In this order: what is left of the first is not mistaken for the second.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"encoder.layer.", "layers."},
    {"attention.attention.query.", "attention.q_proj."},
    {"attention.attention.key.", "attention.k_proj."},
    {"attention.attention.value.", "attention.v_proj."},
    {"attention.self.query.", "attention.q_proj."},
    {"attention.self.key.", "attention.k_proj."},
    {"attention.self.value.", "attention.v_proj."},
    {"attention.self.relative_position_bias_table", "attention.relative_position_bias.relative_position_bias_table"},
    {"attention.output.dense.", "attention.o_proj."},
    {"intermediate.dense.", "mlp.fc1."},
    {".output.dense.", ".mlp.fc2."},
    {"_attn.out_proj.", "_attn.o_proj."},
    {".fc1.", ".mlp.fc1."},
    {".fc2.", ".mlp.fc2."},
};

}  // namespace

std::string module_name(std::string name) {
  for (const auto& [before, after] : kRenamed) {
    const std::size_t at = name.find(before);
    if (at != std::string::npos && name.find(after) == std::string::npos) name.replace(at, before.size(), after);
  }
  return name;
}

}  // namespace attend::verify
