// What a model's files say about its images, in one form for all of them.
//
// preprocessor_config.json of transformers, of both ages ("image_processor_type" with sizes as objects, and
// "feature_extractor_type" with a number). What a file leaves out is the default of its processor's class:
//   ViT       224 x 224, bilinear; mean and std 0.5. Swin's too
//   DeiT      256 x 256, bicubic, of which the middle 224 x 224; mean and std 0.5
//   ConvNext  shortest edge 384, bicubic, crop_pct 224/256; mean and std 0.5. ResNet's too. From 384 on the image is
//             squashed to a square; below, the shortest edge becomes size / crop_pct and the middle is taken
//   Bit       shortest edge 224, bicubic, of which the middle 224 x 224; mean and std of CLIP. DINOv2's too
//   Detr      shortest edge 800, longest at most 1333, bilinear; mean and std of ImageNet; a batch is filled up with
//             zeros at the right and the bottom, and pixel_mask tells what is image
// config.json of timm ("pretrained_cfg"): shortest edge floor(input_size / crop_pct), and of that the middle.
//
// transformers has two backends for one file, and their pixels differ by up to 1: "torchvision", its default since
// version 5 and ours, and "pil", that of older versions and of timm.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "attend/base/json_fwd.h"
#include "attend/image/crop.h"
#include "attend/image/resize.h"

namespace attend::image {

struct PixelSize {
  int width = 0, height = 0;
  bool operator==(const PixelSize&) const = default;
};

// How large an image becomes.
struct SizeRule {
  enum class Kind : std::uint8_t {
    as_is,
    exact,            // size, whatever the shape was
    shortest,         // the shortest edge becomes size.width
    shortest_within,  // the same, unless the longest would then be more than size.height
    within,           // as large as fits into size
  };
  Kind kind = Kind::as_is;
  PixelSize size = {};

  PixelSize of(PixelSize image) const;
};

enum class ImageBackend : std::uint8_t { torchvision, pil };

struct PreprocessorConfig {
  std::string family;  // "ViT", "Detr", .., "timm"
  SizeRule resize = {};
  Filter filter = Filter::bilinear;
  std::optional<PixelSize> crop = {};
  Centre centre = Centre::toward_zero;
  Precision precision = Precision::torchvision;
  double rescale = 1.0 / 255;  // 1 when the file turns it off
  std::array<double, 3> mean = {0, 0, 0}, std = {1, 1, 1};
  bool pad = false;
  std::optional<PixelSize> pad_size = {};  // else as large as the largest image of the batch

  // What transformers does with its other backend; timm has one.
  void set_backend(ImageBackend backend);

  // A folder with a model's files, or one such file.
  static PreprocessorConfig load(const std::filesystem::path& path);
  // source opens every message. model_type, from config.json, is asked when the file does not name a processor.
  static PreprocessorConfig of_transformers(const Json& json, std::string_view source,
                                            std::string_view model_type = "");
  static PreprocessorConfig of_timm(const Json& json, std::string_view source);
};

}  // namespace attend::image
