// Folders of timm (pytorch-image-models): config.json says {"architecture": "vit_tiny_patch16_224", ..} and has no
// "model_type"; model.safetensors has names of its own. transformers' wrapper around such a model (model_type
// "timm_wrapper") has the same, with "timm_model." in front of every name. They are read as they are: the config
// becomes the one that a model here is made from, by the architecture's name and the shapes of the tensors, and a
// spelling says what the file calls a parameter. Known are
//   vit_{tiny,small,base,large}_patch{8,16,32}_{224,384}      our vit
//   deit_{tiny,small,base}_patch16_{224,384}                  our vit: a DeiT without the second token is one
//   deit_{tiny,small,base}_distilled_patch16_{224,384}        our deit, with both heads
//   swin_{tiny,small,base,large}_patch4_window{7,12}_{224,384}  our swin
//   mvitv2_{tiny,small,base,large}                            our mvit
//   resnet{18,26,34,50,101,152,200}                           our resnet
#pragma once

#include <string>
#include <string_view>

#include "attend/base/json.h"
#include "attend/catalogue/spelling.h"
#include "attend/checkpoint/hugging_face.h"

namespace attend::catalogue {

bool is_timm(const Json& config);

// What a config.json of ours would say of it. Throws Error naming the architectures there are, or the tensor that is
// missing or has not the shape it should.
Json timm_config(const Json& config, const checkpoint::TensorFiles& files, std::string_view what);

// timm's name of a parameter of ours, for a model of this type ("vit", "swin", ..).
Spelling timm_spelling(std::string_view type, const checkpoint::TensorFiles& files);

}  // namespace attend::catalogue
