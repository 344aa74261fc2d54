#include "attend/catalogue/detr_names.h"

#include <string>
#include <string_view>
#include <utility>

#include "attend/models/detr.h"

namespace attend::catalogue {

namespace {

// How one file spells, beside the model.
struct DetrNames {
  std::string before;    // all names: "detr." in a model for segmentation
  std::string backbone;  // what stands for models::Detr::kBackbone
  bool modules = false;  // o_proj and mlp.fc1 of version 5's modules, where the model has out_proj and fc1

  std::string operator()(std::string name) const {
    const std::string own = std::string(models::Detr::kBackbone) + ".";
    if (name.starts_with(own)) return before + backbone + name.substr(own.size());
    constexpr std::pair<std::string_view, std::string_view> kModules[] = {
        {".out_proj.", ".o_proj."}, {".fc1.", ".mlp.fc1."}, {".fc2.", ".mlp.fc2."}};
    for (const auto& [ours, theirs] : kModules)
      if (const std::size_t at = name.find(ours); modules && at != std::string::npos)
        name.replace(at, ours.size(), theirs);
    return before + name;
  }
};

}  // namespace

Spelling detr_spelling(const checkpoint::TensorFiles& files) {
  const auto has = [&](const std::string& name) {
    return files.holding(name) != nullptr || files.holding("model." + name) != nullptr;
  };
  DetrNames names{.before = files.holding("detr.class_labels_classifier.weight") ? "detr." : "", .backbone = {}};
  // Of a model for segmentation the names behind "detr." begin with "model."; of others they may begin without.
  const std::string inside = names.before.empty() ? "" : names.before + "model.";
  const std::string own = std::string(models::Detr::kBackbone) + ".";
  names.backbone = own;
  for (const char* place :
       {"model.backbone.conv_encoder.model._backbone.", "model.backbone.model._backbone.", "model.backbone.model."})
    for (const char* first : {"conv1.weight", "embedder.embedder.convolution.weight"})
      if (has(inside + std::string(place).substr(6) + first) && names.backbone == own) names.backbone = place;
  names.modules = has(inside + "encoder.layers.0.self_attn.o_proj.weight");
  if (names.before.empty() && names.backbone == own && !names.modules) return {};
  return names;
}

}  // namespace attend::catalogue
