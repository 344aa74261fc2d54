// What DETR's tensors are called in files of different ages. The model here has the names of transformers 4, under
// which version 5 saves, too; files may also have those of version 5's modules, those of a backbone inside of its
// wrapper (TimmBackbone), and a detector that is part of a model for segmentation, of which the boxes are read.
#pragma once

#include "attend/catalogue/spelling.h"
#include "attend/checkpoint/hugging_face.h"

namespace attend::catalogue {

// The file's name of a parameter; empty where both have the same.
Spelling detr_spelling(const checkpoint::TensorFiles& files);

}  // namespace attend::catalogue
