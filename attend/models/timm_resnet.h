// ResNets (He et al. 2016) under the names of timm (pytorch-image-models) and torchvision. The catalogue reads their
// classifiers, and DETR's files on the hub have one as their backbone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attend/models/resnet.h"

namespace attend::models {

// The config for "resnet50" or "resnet50.a1_in1k"; the part after the dot only says where the weights come from. The
// result is empty for other architectures. Those with a deeper stem ("resnet50d") or other norms are different
// networks.
std::optional<ResNetConfig> timm_resnet(std::string_view architecture);
inline constexpr std::string_view kTimmResNets =
    "resnet18, resnet26, resnet34, resnet50, resnet101, resnet152, resnet200";

// timm's name of a ResNet parameter: "encoder.stages.0.layers.1.layer.2.convolution.weight" becomes
// "layer1.1.conv3.weight". Throws Error for self-attention, which timm's ResNets do not have.
std::string timm_resnet_name(std::string_view name);

}  // namespace attend::models
