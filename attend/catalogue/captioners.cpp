#include "attend/catalogue/captioners.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/paths.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/models/gpt2_captions.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/show_attend_tell.h"
#include "attend/models/show_tell.h"
#include "attend/models/transformer_captions.h"

namespace attend::catalogue {

namespace {

const Json& part_of(const Json& config, const char* key, std::string_view what) {
  const Json* part = config.is_object() ? config.find(key) : config.end();
  check(part != config.end() && part->is_object(), "{}: '{}' must be the config of a model, an object", what, key);
  return *part;
}

models::Captioner::Parts with_encoder(const Json& config, std::string_view what) {
  const Json& encoder = part_of(config, "encoder", what);
  const std::string name = fmt::format("{}, encoder", what);
  models::Captioner::Parts parts{.encoder = make_image_model(encoder, name)};
  parts.encoder_parameters = encoder_parameters(*parts.encoder, entry_of(encoder, name));
  return parts;
}

template <class Config>
Config settings_of(const Json& config, std::string_view what) {
  Json settings = config;
  for (const char* key : {"model_type", "encoder", "decoder"}) settings.erase(key);
  Config result;
  read_fields(result, settings, what);
  return result;
}

std::unique_ptr<models::CaptionDecoder> make_decoder(const std::string& kind, const Json& config, std::int64_t regions,
                                                     std::string_view what) {
  if (kind == "show-tell") {
    const auto settings = settings_of<models::ShowTellConfig>(config, what);
    check_config(settings, what);
    return std::make_unique<models::ShowTell>(settings, regions);
  }
  if (kind == "show-attend-tell") {
    const auto settings = settings_of<models::ShowAttendTellConfig>(config, what);
    check_config(settings, what);
    return std::make_unique<models::ShowAttendTell>(settings, regions);
  }
  check(kind == "transformer", "{}: unknown decoder '{}'; there are show-tell, show-attend-tell and transformer", what,
        kind);
  return std::make_unique<models::TransformerCaptions>(settings_of<models::TransformerCaptionsConfig>(config, what),
                                                       regions, what);
}

}  // namespace

std::vector<nn::Parameters::Entry> encoder_parameters(models::ImageModel& model, const Entry& entry) {
  const std::string prefix = entry.prefix.empty() ? "" : std::string(entry.prefix) + ".";
  const std::string head = std::string(entry.head) + ".";
  std::vector<nn::Parameters::Entry> body;
  for (nn::Parameters::Entry& parameter : model.parameters()) {
    const bool own = prefix.empty() ? !parameter.name.starts_with(head) : parameter.name.starts_with(prefix);
    if (!own) continue;
    parameter.name = "encoder." + parameter.name.substr(prefix.size());
    body.push_back(std::move(parameter));
  }
  return body;
}

std::unique_ptr<models::Captioner> make_own_captioner(const Json& config, std::string_view what) {
  models::Captioner::Parts parts = with_encoder(config, what);
  const Json* kind = config.find("decoder");
  check(kind != config.end() && kind->is_string(), "{}: 'decoder' must be the name of one", what);
  parts.decoder = make_decoder(kind->get<std::string>(), config, parts.encoder->width(), what);
  Json encoder = parts.encoder->config();
  for (const char* key : {"architectures", "id2label", "label2id"}) encoder.erase(key);  // it has no head
  parts.config = {{"model_type", "captioner"}, {"decoder", *kind}};
  parts.config.update(parts.decoder->settings());
  parts.config["encoder"] = std::move(encoder);
  return std::make_unique<models::Captioner>(std::move(parts));
}

std::unique_ptr<models::Captioner> make_vision_encoder_decoder(const Json& config, std::string_view what) {
  models::Captioner::Parts parts = with_encoder(config, what);
  const Json& decoder = part_of(config, "decoder", what);
  const std::string name = fmt::format("{}, decoder", what);
  const models::GPT2Config settings = models::gpt2_decoder_config(decoder, name);
  check(settings.cross_attention, "{}: 'add_cross_attention' must be true", name);
  parts.decoder = std::make_unique<models::Gpt2Captions>(settings, parts.encoder->width());
  parts.config = config;
  parts.reads = models::Captioner::MemoryTokens::everything;
  return std::make_unique<models::Captioner>(std::move(parts));
}

void load_captioner(const std::filesystem::path& folder, const ModelConfig& model, nn::Parameters& parameters) {
  if (model.entry->make_captioner == make_vision_encoder_decoder) {
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {});
    return;
  }
  checkpoint::load_weights(checkpoint::open_weights(folder), parameters);
}

}  // namespace attend::catalogue
