#include "attend/look/api/caption_api.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/http/json_request.h"

namespace attend::look {

namespace {

constexpr std::int64_t kMostCaptionBeams = 16;

}  // namespace

CaptionApi::Writer::Writer(const Named& model)
    : named(model),
      shelf([&describer = model.describer](const image::Image& one) { return describer.prepare(one); },
            SampleSet(model.folder, SampleKind::dogs)),
      heads(caption_heads(model.describer)) {}

Json CaptionApi::Writer::card() const {
  Json attention = Json::array();
  for (std::size_t i = 0; i < heads.size(); ++i)
    attention.push_back({{"stack", "decoder"}, {"kind", "cross"}, {"layer", i}, {"heads", heads[i]}});
  return {{"name", named.name},
          {"config", named.describer.model->config()},
          {"parameters", named.describer.parameters.count()},
          {"vocabulary", named.describer.model->decoder().vocabulary()},
          {"attention", std::move(attention)}};
}

CaptionApi::CaptionApi(const Named& model, const std::optional<Named>& beside) {
  writers_.emplace_back(model);
  if (!beside) return;
  Named other = *beside;
  other.folder = model.folder;  // one image for both
  writers_.emplace_back(other);
}

Json CaptionApi::model() const {
  Json json = writers_.front().card();
  json.update({{"kind", "caption"},
               {"positions", ""},
               {"layers", false},
               {"samples", samples().names()},
               {"limits", {{"bytes", ImageStore::kMostBytes}}}});
  if (writers_.size() > 1) json["beside"] = writers_.back().card();
  return json;
}

Json CaptionApi::keep(const std::string& file) {
  Json kept;
  for (Writer& writer : writers_) kept = writer.shelf.keep(file);  // of one file all have one name for it
  return kept;
}

Json CaptionApi::inspect(const Json& request) {
  const std::int64_t beams = http::whole(request, "beams", 4);
  check(beams >= 1 && beams <= kMostCaptionBeams, "beams are 1 to {}, not {}", kMostCaptionBeams, beams);
  const auto said = [&](Writer& writer) {
    return caption_json(inspect_caption(writer.named.describer, writer.shelf.find(request), {.beams = beams}));
  };
  Json json = said(writers_.front());
  json["image"] = http::word(request, "image", "");
  if (writers_.size() > 1) json["beside"] = said(writers_.back());
  return json;
}

}  // namespace attend::look
