// preprocessor_config.json of transformers, and timm's config.json: what is taken makes images of the size it says.
#include "attend/image/preprocessor.h"

#include "attend/base/json.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "preprocessor_config.json", .schema = R"({
    "image_processor_type": ["ViTImageProcessor", "DeiTImageProcessor", "ConvNextImageProcessor", "BitImageProcessor", "DetrImageProcessor",
      "ViTImageProcessorFast", "x", 1, null],
    "feature_extractor_type": ["ViTFeatureExtractor", "DetrFeatureExtractor", "x"], "model_type": ["vit", "detr", "swin", "resnet", 1],
    "size": [8, {"height": 8, "width": 6}, {"shortest_edge": 8}, {"shortest_edge": 8, "longest_edge": 12}, {"max_height": 8, "max_width": 9},
      0, -1, 16384, 16385, [8, 8], "8", null, {}], "max_size": [12, 0, null], "crop_size": [4, {"height": 4, "width": 5}, 0, 16384, null],
    "resample": [0, 1, 2, 3, 4, 5, 6, -1, "2", null], "interpolation": ["bicubic", "bilinear", "x"],
    "do_resize": [true, false, 1, null], "do_center_crop": [true, false], "do_rescale": [true, false], "do_normalize": [true, false],
    "do_pad": [true, false], "pad_and_return_pixel_mask": [true, false], "pad_size": [{"height": 12, "width": 12}, null, {"height": 0, "width": 1}],
    "rescale_factor": [0.00392156862745098, 0, -1, 1e308, "x"], "image_mean": [[0.5, 0.5, 0.5], [0, 0, 0], [1], 0.5, "x"],
    "image_std": [[0.5, 0.5, 0.5], [0, 0, 0], [1e-300, 1, 1], [1]], "crop_pct": [0.875, 1, 0, -1, 2, 1e-300],
    "pretrained_cfg": [{"input_size": [3, 8, 8], "crop_pct": 0.9, "interpolation": "bicubic", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}],
    "input_size": [[3, 8, 8], [1, 8, 8], [3, 0, 0], [3, 16384, 16384]], "crop_mode": ["center", "squash", "border"], "architecture": ["vit_tiny"]})"};

namespace {

constexpr int kSmall = 64;

void use(const image::PreprocessorConfig& config) {
  const image::Preprocessor preprocessor(config);
  for (const image::PixelSize given : {image::PixelSize{9, 7}, {1, 30}, {16, 16}}) {
    const image::PixelSize size = config.resize.of(given);
    must(size.width > 0 && size.height > 0, "an image has a size");
    if (size.width > kSmall || size.height > kSmall ||
        (config.crop && std::max(config.crop->width, config.crop->height) > kSmall) ||
        (config.pad_size && std::max(config.pad_size->width, config.pad_size->height) > kSmall))
      continue;
    attempt([&] {
      const image::Image prepared = preprocessor.prepare(image::Image(given.width, given.height));
      if (config.crop)
        must(prepared.width == config.crop->width && prepared.height == config.crop->height, "it is cropped to that");
      const image::Pixels pixels = preprocessor.stack({&prepared, 1});
      must(pixels.values.size() == static_cast<std::size_t>(3 * pixels.width * pixels.height), "all values are there");
    });
  }
}

}  // namespace

void enter(const Input& input) {
  for (const char* name : {"preprocessor_config.json", "config.json"})
    input.has(name) ? static_cast<void>(write(name, input[name])) : remove(name);
  attempt([&] {
    image::PreprocessorConfig config = image::PreprocessorConfig::load(folder());
    use(config);
    config.set_backend(image::ImageBackend::pil);
    use(config);
  });
  for (const char* name : {"preprocessor_config.json", "config.json"})
    if (input.has(name)) attempt([&] { use(image::PreprocessorConfig::load(folder() / name)); });
}

}  // namespace attend::fuzz
