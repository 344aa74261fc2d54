#include "attend/catalogue/input_summary.h"

#include <fmt/core.h>

#include "attend/catalogue/catalogue.h"
#include "attend/models/detr.h"
#include "attend/models/sagan.h"

namespace attend::catalogue {

std::string image_input(const Json& config, std::string_view what) {
  const auto model = make_image_model(config, what);
  const Extent2 size = model->size();
  return fmt::format("{}, {} channels; {} labels; {} layers with attention",
                     model->any_size() ? "of any size" : fmt::format("{} x {}", size.w, size.h), model->channels(),
                     model->labels().size(), model->attention_places().size());
}

std::string detection_input(const Json& config, std::string_view what) {
  const models::DetrConfig detr = models::detr_config(config, what);
  return fmt::format("of any size; {} labels; at most {} objects an image", detr.labels.size(), detr.queries);
}

std::string generator_input(const Json& config, std::string_view what) {
  const models::SaganConfig sagan = models::sagan_config(config, what);
  const auto places = models::Sagan(sagan).attention_places();
  return fmt::format("{} x {}, of {} classes, from {} numbers of noise; {}", sagan.image_size(), sagan.image_size(),
                     sagan.classes(), sagan.noise_size,
                     places.empty() ? "no attention"
                                    : fmt::format("attention between {} x {} places and {} x {}", places[0].queries.h,
                                                  places[0].queries.w, places[0].keys.h, places[0].keys.w));
}

}  // namespace attend::catalogue
