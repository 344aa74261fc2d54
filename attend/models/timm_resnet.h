// ResNets as timm (pytorch-image-models) and torchvision name them: its classifiers are read by the catalogue, and
// DETR's files on the hub have one as their backbone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attend/models/resnet.h"

namespace attend::models {

// "resnet50", "resnet50.a1_in1k": what is behind a dot tells where the weights are from. None for other architectures;
// those with a deeper stem ("resnet50d") or other norms are not the same network.
std::optional<ResNetConfig> timm_resnet(std::string_view architecture);
inline constexpr std::string_view kTimmResNets =
    "resnet18, resnet26, resnet34, resnet50, resnet101, resnet152, resnet200";

// timm's name of a parameter of a ResNet: "encoder.stages.0.layers.1.layer.2.convolution.weight" ->
// "layer1.1.conv3.weight". Throws Error for a part that timm's have not: self-attention.
std::string timm_resnet_name(std::string_view name);

}  // namespace attend::models
