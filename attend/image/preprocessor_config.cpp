#include "attend/image/preprocessor_config.h"

#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::image {

namespace {

namespace fs = std::filesystem;
using Triple = std::array<double, 3>;

constexpr Triple kImageNetMean = {0.485, 0.456, 0.406}, kImageNetStd = {0.229, 0.224, 0.225};
constexpr Triple kClipMean = {0.48145466, 0.4578275, 0.40821073}, kClipStd = {0.26862954, 0.26130258, 0.27577711};
constexpr Triple kHalf = {0.5, 0.5, 0.5};
constexpr int kLargestEdge = 1 << 16;

// Members of one object, with messages that name the file. A member that is null counts as left out.
class Members {
 public:
  Members(const Json& json, std::string_view source) : json_(json), source_(source) {
    check(json.is_object(), "{}: expected a JSON object", source);
  }

  std::string_view source() const { return source_; }
  const Json* find(std::string_view name) const {
    const Json* found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : found;
  }
  bool flag(std::string_view name, bool otherwise) const {
    const Json* found = find(name);
    check(!found || found->is_boolean(), "{}: '{}' must be true or false", source_, name);
    return found ? found->get<bool>() : otherwise;
  }
  double number(std::string_view name, double otherwise) const {
    const Json* found = find(name);
    if (!found) return otherwise;
    check(found->is_number() && std::isfinite(found->get<double>()), "{}: '{}' must be a number", source_, name);
    return found->get<double>();
  }
  std::string text(std::string_view name) const {
    const Json* found = find(name);
    check(!found || found->is_string(), "{}: '{}' must be a string", source_, name);
    return found ? found->text() : "";
  }
  // A number for all three channels, or a list of three.
  Triple triple(std::string_view name, const Triple& otherwise) const {
    const Json* found = find(name);
    if (!found) return otherwise;
    if (found->is_number()) {
      const double value = number(name, 0);
      return {value, value, value};
    }
    check(found->is_array() && found->size() == 3, "{}: '{}' must be a number or a list of three", source_, name);
    Triple values{};
    for (std::size_t i = 0; i < 3; ++i) {
      check((*found)[i].is_number(), "{}: '{}' must be a number or a list of three", source_, name);
      values[i] = (*found)[i].get<double>();
    }
    return values;
  }
  int edge(const Json& value, std::string_view name) const {
    const bool good = value.is_number() && value.get<double>() >= 1 && value.get<double>() <= kLargestEdge &&
                      value.get<double>() == std::floor(value.get<double>());
    check(good, "{}: '{}' must be a whole number of pixels, 1 to {}, not {}", source_, name, kLargestEdge,
          value.is_object() || value.is_array() ? "a list or an object" : value.dump());
    return static_cast<int>(value.get<double>());
  }

 private:
  const Json& json_;
  std::string_view source_;
};

// {"height": .., "width": ..}, [height, width] or one number for both.
PixelSize exact_size(const Members& members, const Json& value, std::string_view name) {
  if (value.is_number()) return {members.edge(value, name), members.edge(value, name)};
  if (value.is_array() && value.size() == 2) return {members.edge(value[1], name), members.edge(value[0], name)};
  check(value.is_object() && value.contains("height") && value.contains("width"),
        "{}: '{}' must be a number or an object with height and width", members.source(), name);
  return {members.edge(value["width"], name), members.edge(value["height"], name)};
}

// square: what a lone number means.
SizeRule size_rule(const Members& members, const Json& value, bool square) {
  using Kind = SizeRule::Kind;
  const auto given = [&](std::string_view name) {
    return value.is_object() && value.contains(name) && !value[name].is_null();
  };
  const auto edge = [&](std::string_view name) { return members.edge(value[name], name); };
  if (value.is_number() && !square) return {Kind::shortest, {members.edge(value, "size"), 0}};
  if (given("shortest_edge") && given("longest_edge"))
    return {Kind::shortest_within, {edge("shortest_edge"), edge("longest_edge")}};
  if (given("shortest_edge")) return {Kind::shortest, {edge("shortest_edge"), 0}};
  if (given("max_height") && given("max_width")) return {Kind::within, {edge("max_width"), edge("max_height")}};
  if (value.is_number() || value.is_array() || (given("height") && given("width")))
    return {Kind::exact, exact_size(members, value, "size")};
  fail(
      "{}: 'size' must be a number, or an object with height and width, shortest_edge (and longest_edge), or "
      "max_height and max_width",
      members.source());
}

// The name of a class without what says that it is one: "ViTImageProcessorFast" -> "ViT".
std::string family_named(std::string name) {
  for (const std::string_view ending : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor"})
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  return name;
}

std::string family_of(const Members& members, std::string_view model_type) {
  static const std::pair<std::string_view, std::string_view> kModels[] = {
      {"vit", "ViT"},   {"swin", "ViT"},          {"swinv2", "ViT"},      {"deit", "DeiT"},
      {"detr", "Detr"}, {"convnext", "ConvNext"}, {"resnet", "ConvNext"}, {"convnextv2", "ConvNext"},
      {"bit", "Bit"},   {"dinov2", "Bit"}};
  std::string name = members.text("image_processor_type");
  if (name.empty()) name = members.text("feature_extractor_type");
  if (!name.empty()) return family_named(name);
  for (const auto& [model, family] : kModels)
    if (model == model_type) return std::string(family);
  fail("{}: names no image_processor_type{}", members.source(),
       model_type.empty() ? ", and there is no config.json with a model_type beside it"
                          : fmt::format(", and none is known for a {}", shown(model_type)));
}

PreprocessorConfig defaults_of(const std::string& family, std::string_view source) {
  using Kind = SizeRule::Kind;
  PreprocessorConfig config{.family = family, .mean = kHalf, .std = kHalf};
  if (family == "ViT") {
    config.resize = {Kind::exact, {224, 224}};
  } else if (family == "DeiT") {
    config.resize = {Kind::exact, {256, 256}}, config.filter = Filter::bicubic, config.crop = PixelSize{224, 224};
  } else if (family == "ConvNext") {
    config.resize = {Kind::shortest, {384, 0}}, config.filter = Filter::bicubic;
  } else if (family == "Bit") {
    config.resize = {Kind::shortest, {224, 0}}, config.filter = Filter::bicubic, config.crop = PixelSize{224, 224};
    config.mean = kClipMean, config.std = kClipStd;
  } else if (family == "Detr") {
    config.resize = {Kind::shortest_within, {800, 1333}}, config.pad = true;
    config.mean = kImageNetMean, config.std = kImageNetStd;
  } else {
    fail("{}: a processor called {} is not known; ViT, DeiT, ConvNext, Bit and Detr are", source, shown(family));
  }
  return config;
}

// Below 384 the image is made a little larger, and its middle taken.
void apply_crop_share(PreprocessorConfig& config, const Members& members) {
  check(config.resize.kind == SizeRule::Kind::shortest, "{}: the size of a ConvNext is a shortest_edge",
        members.source());
  const int edge = config.resize.size.width;
  const double share = members.number("crop_pct", 224.0 / 256);
  check(share > 0 && share <= 1, "{}: crop_pct must be above 0 and at most 1, not {}", members.source(), share);
  if (edge >= 384) {
    config.resize = {SizeRule::Kind::exact, {edge, edge}};
  } else {
    config.resize.size.width = static_cast<int>(std::min(edge / share, 1.0 * kLargestEdge));
    config.crop = PixelSize{edge, edge};
  }
}

void read_colours(PreprocessorConfig& config, const Members& members) {
  config.rescale = members.flag("do_rescale", true) ? members.number("rescale_factor", 1.0 / 255) : 1;
  config.mean = members.triple("image_mean", config.mean);
  config.std = members.triple("image_std", config.std);
  if (!members.flag("do_normalize", true)) config.mean = {0, 0, 0}, config.std = {1, 1, 1};
}

void check_colours(const PreprocessorConfig& config, std::string_view source) {
  for (std::size_t c = 0; c < 3; ++c)
    check(std::isfinite(config.mean[c]) && std::isfinite(config.std[c]) && config.std[c] > 0,
          "{}: a channel has mean {} and std {}", source, config.mean[c], config.std[c]);
}

}  // namespace

void PreprocessorConfig::set_backend(ImageBackend backend) {
  if (family == "timm") return;
  const bool pil = backend == ImageBackend::pil;
  centre = pil ? Centre::down : Centre::toward_zero;
  precision = pil ? Precision::pillow : Precision::torchvision;
}

PreprocessorConfig PreprocessorConfig::of_transformers(const Json& json, std::string_view source,
                                                       std::string_view model_type) {
  const Members members(json, source);
  PreprocessorConfig config = defaults_of(family_of(members, model_type), source);
  const bool square = config.family == "ViT" || config.family == "DeiT";
  if (const Json* size = members.find("size")) config.resize = size_rule(members, *size, square);
  if (config.family == "Detr" && config.resize.kind == SizeRule::Kind::shortest) {
    const Json* most = members.find("max_size");  // the old way
    config.resize = {SizeRule::Kind::shortest_within,
                     {config.resize.size.width, most ? members.edge(*most, "max_size") : 1333}};
  }
  if (config.family == "ConvNext") apply_crop_share(config, members);
  if (!members.flag("do_resize", true)) {
    config.resize = {};
    if (config.family == "ConvNext") config.crop.reset();
  }
  if (const Json* filter = members.find("resample")) {
    check(filter->is_number_integer(), "{}: 'resample' must be one of Pillow's numbers, 0 to 5", source);
    config.filter = filter_of(filter->get<std::int64_t>(), source);
  }
  if (config.family != "ConvNext" && members.flag("do_center_crop", config.crop.has_value())) {
    const Json* crop = members.find("crop_size");
    config.crop = crop ? exact_size(members, *crop, "crop_size") : config.crop.value_or(PixelSize{224, 224});
  } else if (config.family != "ConvNext") {
    config.crop.reset();
  }
  config.pad = members.flag("do_pad", members.flag("pad_and_return_pixel_mask", config.pad));
  if (const Json* size = members.find("pad_size"); size && config.pad)
    config.pad_size = exact_size(members, *size, "pad_size");
  read_colours(config, members);
  check_colours(config, source);
  if (members.text("image_processor_type").ends_with("Pil")) config.set_backend(ImageBackend::pil);
  return config;
}

PreprocessorConfig PreprocessorConfig::of_timm(const Json& json, std::string_view source) {
  const Members members(json, source);
  PreprocessorConfig config{.family = "timm",
                            .filter = Filter::bicubic,
                            .centre = Centre::to_even,
                            .precision = Precision::pillow,
                            .mean = members.triple("mean", kImageNetMean),
                            .std = members.triple("std", kImageNetStd)};
  PixelSize size = {224, 224};
  if (const Json* input = members.find("input_size")) {
    check(input->is_array() && input->size() == 3 && (*input)[0] == Json(3),
          "{}: 'input_size' must be [3, height, width]", source);
    size = {members.edge((*input)[2], "input_size"), members.edge((*input)[1], "input_size")};
  }
  const double share = members.number("crop_pct", 0.875);
  check(share > 0 && share <= 1, "{}: crop_pct must be above 0 and at most 1, not {}", source, share);
  const auto enlarged = [&](int edge) {
    return static_cast<int>(std::min(std::floor(edge / share), 1.0 * kLargestEdge));
  };
  const std::string mode = members.text("crop_mode");
  if (mode == "squash") {
    config.resize = {SizeRule::Kind::exact, {enlarged(size.width), enlarged(size.height)}};
  } else {
    check(mode.empty() || mode == "center", "{}: crop_mode {} is not known; center and squash are", source,
          shown(mode));
    check(size.width == size.height, "{}: input_size must be square, not {} x {}", source, size.width, size.height);
    config.resize = {SizeRule::Kind::shortest, {enlarged(size.width), 0}};
  }
  config.crop = size;
  if (const std::string name = members.text("interpolation"); !name.empty()) config.filter = filter_named(name, source);
  check_colours(config, source);
  return config;
}

PreprocessorConfig PreprocessorConfig::load(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path processor = folder ? path / "preprocessor_config.json" : path;
  const fs::path model = (folder ? path : path.parent_path()) / "config.json";
  const Json config = fs::exists(model) ? read_json(model) : Json::object();
  check(config.is_object(), "{}: expected a JSON object", model.string());
  if (fs::exists(processor) && !(processor == model)) {
    const Json* type = config.find("model_type");
    const Json json = read_json(processor);
    const Json* cfg = json.is_object() ? json.find("pretrained_cfg") : nullptr;
    if (cfg && cfg != json.end() && cfg->is_object() &&
        family_named(Members(json, processor.string()).text("image_processor_type")) == "TimmWrapper")
      return of_timm(*cfg, processor.string());
    return of_transformers(json, processor.string(), type != config.end() && type->is_string() ? type->text() : "");
  }
  if (config.contains("pretrained_cfg")) return of_timm(config["pretrained_cfg"], model.string());
  if (config.contains("architecture") && config.contains("input_size")) return of_timm(config, model.string());
  fail("{}: has no preprocessor_config.json, nor a config.json with timm's pretrained_cfg", path.string());
}

}  // namespace attend::image
