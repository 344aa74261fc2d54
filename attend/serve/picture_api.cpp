#include "attend/serve/picture_api.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "attend/inspect/picture_json.h"
#include "attend/serve/request.h"
#include "attend/serve/sample_pictures.h"

namespace attend::serve {

namespace {

constexpr std::size_t kMostKept = 16;
constexpr std::int64_t kMostUploadedPixels = 64 << 20;  // a small file can claim any size
constexpr int kSampleSize = 224;

// A file always has the same name, so that a link to it lasts as long as the server.
std::string name_of(std::string_view file) { return fmt::format("{:016x}", hash_text(file)); }

const tasks::AttentionPlace& encoder_place() {
  static const tasks::AttentionPlace kPlace{"encoder", "self", 0};
  return kPlace;
}

}  // namespace

bool is_picture_type(std::string_view type) {
  return type.starts_with("image/png") || type.starts_with("image/jpeg") || type.starts_with("image/webp");
}

std::string PictureApi::sample_png(std::string_view name) {
  const SamplePicture* sample = find_sample(name);
  return sample ? image::encode_png(sample->paint(kSampleSize)) : "";
}

Json PictureApi::model() const {
  const tasks::PictureCard& card = inspector_.card();
  Json attention = Json::array(), samples = Json::array();
  for (std::size_t i = 0; i < inspector_.places().size(); ++i)
    attention.push_back(tasks::place_json(inspector_.places()[i], static_cast<std::int64_t>(i)));
  for (const SamplePicture& sample : sample_pictures()) samples.push_back(sample.name);
  return {{"kind", "picture"},
          {"config", card.config},
          {"parameters", card.parameters},
          {"labels", card.labels},
          {"size", {card.size.h, card.size.w}},
          {"patches", {card.patches.h, card.patches.w}},
          {"positions", card.positions ? "learned" : ""},
          {"layers", inspector_.anatomy().has_layers()},
          {"unwalked", card.unwalked},
          {"attention", std::move(attention)},
          {"samples", std::move(samples)},
          {"limits", {{"bytes", kMostBytes}}}};
}

void PictureApi::remember(std::string name, const image::Image& picture) {
  Kept kept{std::move(name), inspector_.prepare(picture)};
  std::erase_if(kept_, [&](const Kept& one) { return one.name == kept.name; });
  kept_.push_front(std::move(kept));
  if (kept_.size() > kMostKept) kept_.pop_back();
}

Json PictureApi::keep(const std::string& file) {
  check(file.size() <= kMostBytes, "the picture has {} bytes, at most {} are taken", file.size(), kMostBytes);
  const image::Image picture = image::decode(std::as_bytes(std::span(file)), "the picture",
                                             {.most_pixels = kMostUploadedPixels, .most_bytes = kMostBytes});
  std::string name = name_of(file);
  remember(name, picture);
  return {{"picture", name}, {"size", {picture.height, picture.width}}};
}

const image::Image& PictureApi::picture(const Json& request) {
  const std::string name = word(request, "picture", "");
  check(!name.empty(), "there is no picture");
  const auto found = std::ranges::find(kept_, name, &Kept::name);
  if (found != kept_.end()) return found->prepared;
  const SamplePicture* sample = find_sample(name);
  check(sample != nullptr, "the picture '{}' is not here any more; choose it again", name);
  remember(name, sample->paint(kSampleSize));
  return kept_.front().prepared;
}

const tasks::PictureInspection& PictureApi::inspection(const Json& request) {
  tasks::PictureOptions options;
  const Json* ablation = field(request, "ablation");
  if (ablation) options.ablation = read_ablation(*ablation, encoder_place());
  const std::string key = word(request, "picture", "") + ' ' + (ablation ? ablation->dump() : "");
  if (seen_ && key == newest_) return *seen_;
  seen_.reset();
  seen_ = inspector_.inspect(picture(request), options);
  newest_ = key;
  return *seen_;
}

Json PictureApi::inspect(const Json& request) {
  Json json = tasks::picture_json(inspection(request));
  json["picture"] = word(request, "picture", "");
  return json;
}

Json PictureApi::attention(const Json& request) {
  const std::int64_t layer = whole(request, "layer", 0);
  check(layer >= 0 && layer < static_cast<std::int64_t>(inspector_.places().size()), "there is no layer {}", layer);
  return tasks::attention_json(inspection(request).attention[static_cast<std::size_t>(layer)], layer);
}

Json PictureApi::trace(const Json& request) {
  return view::to_json(inspector_.trace(
      picture(request),
      {.layer = whole(request, "layer", 0), .head = whole(request, "head", 0), .token = whole(request, "token", 0)}));
}

Json PictureApi::positions() const {
  std::vector<float> likeness = inspector_.position_likeness();
  for (float& one : likeness) one = (one + 1) / 2;  // cosines as shares
  const Extent2 grid = inspector_.places().front().keys;
  return {{"grid", {grid.h, grid.w}}, {"likeness", tasks::packed_shares(likeness)}};
}

}  // namespace attend::serve
