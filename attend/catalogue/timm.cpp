#include "attend/catalogue/timm.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/catalogue/imagenet_labels.h"
#include "attend/models/timm_resnet.h"

namespace attend::catalogue {

namespace {

constexpr const char* kKnown =
    "vit_{tiny,small,base,large}_patchP_SIZE, deit_{tiny,small,base}_patch16_SIZE, "
    "deit_{tiny,small,base}_distilled_patch16_SIZE, swin_{tiny,small,base,large}_patch4_windowW_SIZE, "
    "mvitv2_{tiny,small,base,large} and resnet{18,26,34,50,101,152,200}";

constexpr std::string_view kWrapped = "timm_model.";

bool is_wrapped(const checkpoint::TensorFiles& files) {
  const std::vector<std::string> names = files.names();
  return !names.empty() && std::ranges::all_of(names, [](const auto& name) { return name.starts_with(kWrapped); });
}

// What there is to read a config from.
struct Folder {
  const Json& config;
  const checkpoint::TensorFiles& files;
  std::string_view what;
  std::string architecture;
  std::vector<std::string> words = {};  // of the architecture: "vit", "tiny", "patch16", "224"
  std::string before = {};              // every name in the files: kWrapped, or nothing

  bool has(const std::string& name) const { return files.holding(before + name) != nullptr; }
  Shape shape(const std::string& name, int rank) const {
    const checkpoint::TensorFile* file = files.holding(before + name);
    check(file, "{}: no tensor '{}', which a {} of timm has", files.source(), before + name, architecture);
    const Shape& shape = (*file)[before + name].shape;
    check(shape.rank() == rank && shape.size() > 0, "{}: '{}' is {}, but in a {} of timm it has {} dimensions",
          files.source(), name, shape, architecture, rank);
    return shape;
  }
  // How many there are of a part with a number: "blocks.{}.norm1.weight".
  std::int64_t count(std::string_view front, std::string_view behind, std::int64_t first = 0) const {
    std::int64_t count = 0;
    while (count < limits::kMostLayers && has(fmt::format("{}{}{}", front, first + count, behind))) ++count;
    return count;
  }
};

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (char c : name)
    if (c == '_')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

// "patch16" -> 16 behind "patch"; 0 for what is no such word.
std::int64_t number_behind(std::string_view word, std::string_view before) {
  std::int64_t number = 0;
  if (!word.starts_with(before)) return 0;
  word.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : 0;
}

// A whole number whose square this is. Throws Error naming what it should have been.
std::int64_t root_of(std::int64_t square, const Folder& folder, std::string_view tensor) {
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(square))));
  check(square > 0 && root * root == square, "{}: '{}' is not that of a square image: {} rows", folder.files.source(),
        tensor, square);
  return root;
}

// Of the images: what the model was made with, or trained on; else the number in its name.
std::int64_t image_size(const Folder& folder) {
  const Json& made = folder.config["model_args"];
  Json size = made.is_object() ? made["img_size"] : Json();
  const Json& trained = folder.config["pretrained_cfg"];
  if (size.is_null() && trained.is_object() && trained["input_size"].is_array() && trained["input_size"].size() == 3)
    size = Json::array({trained["input_size"][1], trained["input_size"][2]});
  if (size.is_array() && size.size() == 2 && size[0] == size[1]) size = Json(size[0]);
  if (size.is_null()) {
    const std::int64_t named = number_behind(folder.words.back(), "");
    return named > 0 ? named : 224;
  }
  check(size.is_number_integer(), "{}: the size of the images is {}; only squares are known", folder.what, size.dump());
  return size.get<std::int64_t>();
}

// Of a projection of patches, [width, channels, side, side].
void put_patches(Json& json, const Folder& folder, const char* width, const char* channels, const char* side) {
  const Shape patches = folder.shape("patch_embed.proj.weight", 4);
  check(patches[2] == patches[3], "{}: 'patch_embed.proj.weight' is {}; only square patches are known",
        folder.files.source(), patches);
  if (width) json[width] = patches[0];
  json[channels] = patches[1], json[side] = patches[2];
}

// Whether its labels are ImageNet-1k's, as timm takes them to be: by their number, and by the tag of the weights
// ("a1_in1k", "augreg_in21k_ft_in1k") where there is one.
bool of_imagenet(const Json& config, std::int64_t labels) {
  const Json& trained = config["pretrained_cfg"];
  if (labels != static_cast<std::int64_t>(kImageNetLabels) || !trained.is_object()) return false;
  const Json& tag = trained["tag"];
  return !tag.is_string() || tag.text().empty() || tag.text().find("in1k") != std::string::npos;
}

// The labels, if the files have a head of this name.
void put_head(Json& json, const Folder& folder, const std::string& head, const char* architecture) {
  if (!folder.has(head + ".weight")) return;
  const std::int64_t labels = folder.shape(head + ".weight", 2)[0];
  const Json& names = folder.config["label_names"];
  const bool named = names.is_array() && names.size() == static_cast<std::size_t>(labels) &&
                     std::ranges::all_of(names, &Json::is_string);
  const bool imagenet = !named && of_imagenet(folder.config, labels);
  Json ids = Json::object();
  for (std::int64_t i = 0; i < labels; ++i)
    ids[std::to_string(i)] = named      ? names[i]
                             : imagenet ? Json(imagenet_labels()[static_cast<std::size_t>(i)])
                                        : Json(fmt::format("LABEL_{}", i));
  json["architectures"] = Json::array({architecture}), json["id2label"] = std::move(ids);
}

// Tensors of ViTs that are computed otherwise, though their names may say nothing of it.
void refuse_other_vits(const Folder& folder) {
  constexpr std::pair<const char*, const char*> kParts[] = {
      {"blocks.0.ls1.gamma", "LayerScale"},
      {"blocks.0.attn.q_norm.weight", "a norm of queries"},
      {"reg_token", "register tokens"},
      {"norm_pre.weight", "a norm in front of the layers"},
      {"fc_norm.weight", "a norm behind the mean of the patches"}};
  for (const auto& [name, part] : kParts)
    check(!folder.has(name), "{}: has '{}' ({}), a part that no ViT here has", folder.files.source(), name, part);
}

constexpr std::pair<std::string_view, std::int64_t> kHeads[] = {{"tiny", 3}, {"small", 6}, {"base", 12}, {"large", 16}};

Json vit(const Folder& folder) {
  const auto& words = folder.words;
  const bool distilled = words.size() == 5 && words[0] == "deit" && words[2] == "distilled";
  const auto heads = std::ranges::find(kHeads, std::string_view(words.size() > 1 ? words[1] : ""),
                                       [](auto& each) { return each.first; });
  if (heads == std::end(kHeads) || words.size() != (distilled ? 5u : 4u) ||
      number_behind(words[words.size() - 2], "patch") == 0 || number_behind(words.back(), "") == 0)
    return {};
  refuse_other_vits(folder);
  Json json = {{"model_type", distilled ? "deit" : "vit"}, {"num_attention_heads", heads->second}};
  json["layer_norm_eps"] = 1e-6, json["hidden_act"] = "gelu";
  put_patches(json, folder, "hidden_size", "num_channels", "patch_size");
  const std::int64_t places = folder.shape("pos_embed", 3)[1] - (distilled ? 2 : 1);
  json["image_size"] = root_of(places, folder, "pos_embed") * json["patch_size"].get<std::int64_t>();
  json["num_hidden_layers"] = folder.count("blocks.", ".norm1.weight");
  json["intermediate_size"] = folder.shape("blocks.0.mlp.fc1.weight", 2)[0];
  put_head(json, folder, "head", distilled ? "DeiTForImageClassificationWithTeacher" : "ViTForImageClassification");
  return json;
}

Json swin(const Folder& folder) {
  const auto& words = folder.words;
  if (words.size() != 5 || number_behind(words[3], "window") == 0) return {};
  Json json = {{"model_type", "swin"}, {"image_size", image_size(folder)}, {"layer_norm_eps", 1e-5}};
  put_patches(json, folder, "embed_dim", "num_channels", "patch_size");
  const std::string table = ".blocks.0.attn.relative_position_bias_table";
  Json depths = Json::array(), heads = Json::array();
  for (std::int64_t i = 0; i < folder.count("layers.", table); ++i) {
    const std::string stage = fmt::format("layers.{}", i);
    depths.push_back(folder.count(stage + ".blocks.", ".norm1.weight"));
    heads.push_back(folder.shape(stage + table, 2)[1]);
  }
  json["depths"] = std::move(depths), json["num_heads"] = std::move(heads);
  json["window_size"] = (root_of(folder.shape("layers.0" + table, 2)[0], folder, "layers.0" + table) + 1) / 2;
  const Shape expand = folder.shape("layers.0.blocks.0.mlp.fc1.weight", 2);
  json["mlp_ratio"] = static_cast<double>(expand[0]) / static_cast<double>(expand[1]);
  put_head(json, folder, folder.has("head.fc.weight") ? "head.fc" : "head", "SwinForImageClassification");
  return json;
}

// Strides are those of all MViTv2; nothing in the tensors tells them.
Json mvit(const Folder& folder) {
  const auto& words = folder.words;
  const bool known = words.size() == 2 && std::ranges::find(kHeads, std::string_view(words[1]),
                                                            [](auto& each) { return each.first; }) != std::end(kHeads);
  if (!known) return {};
  Json json = {{"model_type", "mvit"}, {"image_size", image_size(folder)}, {"expand_attn", words[1] != "large"}};
  put_patches(json, folder, nullptr, "in_chans", "patch_kernel");
  Json depths = Json::array(), widths = Json::array(), heads = Json::array(), strides = Json::array();
  for (std::int64_t i = 0; i < folder.count("stages.", ".blocks.0.norm1.weight"); ++i) {
    const std::string stage = fmt::format("stages.{}.blocks.", i);
    const std::int64_t width = folder.shape(stage + "0.attn.proj.weight", 2)[0];
    depths.push_back(folder.count(stage, ".norm1.weight")), widths.push_back(width);
    heads.push_back(width / folder.shape(stage + "0.attn.rel_pos_h", 2)[1]);
    strides.push_back(i == 0 ? 1 : 2);
  }
  json["depths"] = std::move(depths), json["embed_dim"] = std::move(widths), json["num_heads"] = std::move(heads);
  json["stride_q"] = std::move(strides), json["stride_kv_adaptive"] = 4;
  put_head(json, folder, "head.fc", "MViTForImageClassification");
  return json;
}

// Depths and widths are the tensors' own. "resnet50d", "resnet50_gn" and other variants of these names are other
// networks.
Json resnet(const Folder& folder) {
  if (folder.words.size() != 1 || !models::timm_resnet(folder.architecture)) return {};
  const Shape stem = folder.shape("conv1.weight", 4);
  const bool basic = !folder.has("layer1.0.conv3.weight");
  Json json = {{"model_type", "resnet"}, {"image_size", image_size(folder)}, {"hidden_act", "relu"}};
  json["num_channels"] = stem[1], json["embedding_size"] = stem[0];
  json["layer_type"] = basic ? "basic" : "bottleneck";
  Json depths = Json::array(), widths = Json::array();
  for (std::int64_t i = 1; i <= folder.count("layer", ".0.conv1.weight", 1); ++i) {
    const std::string stage = fmt::format("layer{}.", i);
    depths.push_back(folder.count(stage, ".conv1.weight"));
    widths.push_back(folder.shape(stage + (basic ? "0.conv2.weight" : "0.conv3.weight"), 4)[0]);
  }
  json["depths"] = std::move(depths), json["hidden_sizes"] = std::move(widths);
  put_head(json, folder, "fc", "ResNetForImageClassification");
  return json;
}

// By the letters that the architecture's name begins with. An empty answer: the rest of the name is not known. pool:
// how such a model makes one vector of its places; a folder that says otherwise is another model.
struct TimmFamily {
  std::string_view first;
  Json (*read)(const Folder&);
  std::string_view pool;
};
constexpr TimmFamily kFamilies[] = {{"vit", vit, "token"},
                                    {"deit", vit, "token"},
                                    {"swin", swin, "avg"},
                                    {"mvitv2", mvit, "avg"},
                                    {"resnet", resnet, "avg"}};

// What a folder may say of how the model was made (model_args, global_pool), beyond what its tensors tell.
void check_making(const Folder& folder, const TimmFamily& family) {
  const auto check_pool = [&](const Json& pool) {
    check(pool.is_null() || pool == Json("") || pool == Json(family.pool),
          "{}: 'global_pool' is {}; of a {} only {} is known", folder.what, pool.dump(), folder.architecture,
          family.pool);
  };
  check_pool(folder.config["global_pool"]);
  const Json& made = folder.config["model_args"];
  if (made.is_null()) return;
  check(made.is_object(), "{}: 'model_args' must be an object, not {}", folder.what, made.dump());
  constexpr std::string_view kHarmless[] = {"img_size",       "num_classes",    "in_chans",       "drop_rate",
                                            "embed_dim",      "depth",          "num_heads",      "patch_size",
                                            "depths",         "window_size",    "dims",           "head_init_scale",
                                            "proj_drop_rate", "attn_drop_rate", "drop_path_rate", "drop_block_rate",
                                            "pos_drop_rate",  "weight_init",    "zero_init_last"};
  for (const auto& item : made.items()) {
    if (item.key() == "global_pool")
      check_pool(item.value());
    else
      check(std::ranges::find(kHarmless, std::string_view(item.key())) != std::end(kHarmless),
            "{}: 'model_args' has {}: {}, which no model here can be", folder.what, item.key(), item.value().dump());
  }
}

using Pieces = std::span<const std::pair<std::string_view, std::string_view>>;

// Pieces of our names and what timm has in their place, in this order: what is left of the first is not mistaken for
// the next. The three projections of attention, one parameter here, are one tensor there.
constexpr std::pair<std::string_view, std::string_view> kViTPieces[] = {
    {"deit.", ""},
    {"vit.", ""},
    {"embeddings.cls_token", "cls_token"},
    {"embeddings.distillation_token", "dist_token"},
    {"embeddings.position_embeddings", "pos_embed"},
    {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    {"encoder.layer.", "blocks."},
    {"layernorm_before.", "norm1."},
    {"layernorm_after.", "norm2."},
    {"attention.attention.query|key|value.", "attn.qkv."},
    {"attention.output.dense.", "attn.proj."},
    {"intermediate.dense.", "mlp.fc1."},
    {"output.dense.", "mlp.fc2."},
    {"layernorm.", "norm."},
    {"distillation_classifier.", "head_dist."},
    {"cls_classifier.", "head."},
    {"classifier.", "head."},
};
constexpr std::pair<std::string_view, std::string_view> kSwinPieces[] = {
    {"swin.", ""},
    {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    {"embeddings.norm.", "patch_embed.norm."},
    {"encoder.layers.", "layers."},
    {"layernorm_before.", "norm1."},
    {"layernorm_after.", "norm2."},
    {"attention.self.query|key|value.", "attn.qkv."},
    {"attention.self.relative", "attn.relative"},
    {"attention.output.dense.", "attn.proj."},
    {"intermediate.dense.", "mlp.fc1."},
    {"output.dense.", "mlp.fc2."},
    {"layernorm.", "norm."},
    {"classifier.", "head.fc."},
};
// By our type; a model that is not here has timm's names itself.
constexpr std::pair<std::string_view, Pieces> kNames[] = {
    {"vit", kViTPieces}, {"deit", kViTPieces}, {"swin", kSwinPieces}};

std::string renamed(std::string name, Pieces pieces) {
  for (const auto& [ours, theirs] : pieces)
    if (const std::size_t at = name.find(ours); at != std::string::npos) name.replace(at, ours.size(), theirs);
  return name;
}

std::string resnet_name(const std::string& name) {
  constexpr std::string_view kBody = "resnet.", kHead = "classifier.1.";
  if (name.starts_with(kHead)) return "fc." + name.substr(kHead.size());
  return name.starts_with(kBody) ? models::timm_resnet_name(std::string_view(name).substr(kBody.size())) : name;
}

// Merging is the end of a stage here, and in files of timm from before 2023; since then it is the start of the next.
std::string later_merging(std::string name) {
  constexpr std::string_view kBefore = "layers.", kBehind = ".downsample.";
  const std::size_t end = name.find(kBehind);
  if (!name.starts_with(kBefore) || end == std::string::npos) return name;
  const std::int64_t stage = number_behind(std::string_view(name).substr(0, end), kBefore);
  return fmt::format("{}{}{}", kBefore, stage + 1, name.substr(end));
}

}  // namespace

bool is_timm(const Json& config) {
  if (!config.is_object() || !config.contains("architecture")) return false;
  return !config.contains("model_type") || config["model_type"] == Json("timm_wrapper");
}

Json timm_config(const Json& config, const checkpoint::TensorFiles& files, std::string_view what) {
  const Json& architecture = config["architecture"];
  check(architecture.is_string(), "{}: 'architecture' must be a name, not {}", what, architecture.dump());
  // What is behind a dot tells where the weights are from.
  const std::string name = architecture.text().substr(0, architecture.text().find('.'));
  const Folder folder{config, files, what, name, words_of(name), std::string(is_wrapped(files) ? kWrapped : "")};
  const std::string& word = folder.words[0];
  const std::string letters = word.starts_with("resnet") ? "resnet" : word;
  for (const TimmFamily& family : kFamilies) {
    if (letters != family.first) continue;
    Json json = family.read(folder);
    if (json.is_null()) break;
    check_making(folder, family);
    if (!config["problem_type"].is_null()) json["problem_type"] = config["problem_type"];
    return json;
  }
  fail("{}: timm's architecture '{}' is not known; known are {}", what, name, kKnown);
}

namespace {

Spelling bare_spelling(std::string_view type, const checkpoint::TensorFiles& files, const std::string& before) {
  if (type == "resnet") return resnet_name;
  const auto found = std::ranges::find(kNames, type, [](const auto& each) { return each.first; });
  if (found == std::end(kNames)) return {};
  const Pieces pieces = found->second;
  if (type != "swin") return [pieces](const std::string& name) { return renamed(name, pieces); };
  const bool early = files.holding(before + "layers.0.downsample.reduction.weight") != nullptr;
  const bool plain_head = files.holding(before + "head.weight") != nullptr;
  return [pieces, early, plain_head](const std::string& name) {
    const std::string theirs = renamed(name, pieces);
    if (plain_head && theirs.starts_with("head.fc.")) return "head." + theirs.substr(8);
    return early ? theirs : later_merging(theirs);
  };
}

}  // namespace

Spelling timm_spelling(std::string_view type, const checkpoint::TensorFiles& files) {
  if (!is_wrapped(files)) return bare_spelling(type, files, "");
  const Spelling bare = bare_spelling(type, files, std::string(kWrapped));
  return [bare](const std::string& name) { return std::string(kWrapped) + (bare ? bare(name) : name); };
}

}  // namespace attend::catalogue
