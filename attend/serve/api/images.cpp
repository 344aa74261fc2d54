// image-classification, object-detection and image-to-text: an image as the body, or in base64 under "inputs".
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/image/decode.h"
#include "attend/serve/api/hugging_face.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace hf_images {
namespace {

// RFC 4648, blanks and a "data:image/png;base64," in front allowed.
std::string from_base64(std::string_view text) {
  if (text.starts_with("data:"))
    text.remove_prefix(std::min(text.find(',') == std::string_view::npos ? 0 : text.find(',') + 1, text.size()));
  std::array<int, 256> digits;
  digits.fill(-1);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kDigits.size(); ++i) digits[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  digits[static_cast<unsigned char>('-')] = 62, digits[static_cast<unsigned char>('_')] = 63;
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r' || c == ' ') continue;
    const int digit = digits[static_cast<unsigned char>(c)];
    check(digit >= 0, "the image is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return bytes;
}

struct RequestImage {
  image::Image image;
  Json parameters = Json::object();
};

// A small file can claim any size: that is bounded, and paid for, before anything is decoded.
RequestImage image_of(const http::Request& request, const Work& work) {
  RequestImage result;
  std::string decoded;
  const std::string* file = &request.body;
  if (request.content_type.starts_with("application/json")) {
    const Json body = json_body(request);
    const Json* inputs = http::field(body, "inputs");
    check(inputs != nullptr, "missing field `inputs`");
    decoded = from_base64(text_of(*inputs, "inputs"));
    file = &decoded;
    if (const Json* parameters = http::field(body, "parameters")) result.parameters = *parameters;
  }
  check(!file->empty(), "there is no image");
  const auto rows =
      image::open_rows(std::as_bytes(std::span(*file)), "the image", {.most_pixels = work.context.max_pixels});
  charge(*work.exchange, static_cast<std::size_t>(rows->header().memory));
  result.image = rows->whole();
  return result;
}

std::string classified(const ServedModel& model, const RequestImage& image, const Work& work) {
  const std::int64_t top = std::max<std::int64_t>(http::whole(image.parameters, "top_k", 5), 1);
  const image::Image prepared =
      work.piece(image.image.pixels.size(), [&] { return model.image_encoder->prepare(image.image); });
  Json list = Json::array();
  const std::vector<tasks::Classified> found = model.images->run(std::span(&prepared, 1), work.stop);
  if (found[0].labels.empty())
    list.push_back({{"label", model.image_encoder->model().labels()[0]}, {"score", found[0].number}});
  for (const tasks::ClassLabel& label : found[0].labels)
    if (static_cast<std::int64_t>(list.size()) < top)
      list.push_back({{"label", label.label}, {"score", static_cast<double>(label.probability)}});
  return list.dump();
}

std::string detected(const ServedModel& model, const RequestImage& image, const Work& work) {
  const double threshold = http::real(image.parameters, "threshold", 0.5);
  const ToDetect item{work.piece(image.image.pixels.size(), [&] { return model.detector->prepare(image.image); }),
                      {image.image.width, image.image.height}};
  Json list = Json::array();
  const std::vector<std::vector<tasks::Detected>> found = model.boxes->run(std::span(&item, 1), work.stop);
  for (const tasks::Detected& one : found[0]) {
    if (static_cast<double>(one.score) < threshold) continue;
    const auto pixel = [](double at) { return static_cast<std::int64_t>(std::lround(at)); };
    Json box = {{"xmin", pixel(one.box.x)},
                {"ymin", pixel(one.box.y)},
                {"xmax", pixel(one.box.x + one.box.width)},
                {"ymax", pixel(one.box.y + one.box.height)}};
    list.push_back({{"label", model.detector->labels().at(static_cast<std::size_t>(one.label))},
                    {"score", static_cast<double>(one.score)},
                    {"box", std::move(box)}});
  }
  return list.dump();
}

std::string described(const ServedModel& model, const RequestImage& image, const Work& work) {
  const image::Image prepared =
      work.piece(image.image.pixels.size(), [&] { return model.describer->prepare(image.image); });
  Json object = Json::object();
  object["generated_text"] = model.descriptions->run(std::span(&prepared, 1), work.stop)[0].text;
  return object.dump();
}

}  // namespace
}  // namespace hf_images

std::optional<http::Response> look_at_image(const ServedModel& model, const http::Request& request, const Work& work) {
  if (!model.images && !model.boxes && !model.descriptions) return std::nullopt;
  const hf_images::RequestImage image =
      work.piece(request.body.size(), [&] { return hf_images::image_of(request, work); });
  charge(*work.exchange, image.image.pixels.size());  // as the model reads it
  if (model.images) return http::Response{.body = hf_images::classified(model, image, work)};
  if (model.boxes) return http::Response{.body = hf_images::detected(model, image, work)};
  return http::Response{.body = hf_images::described(model, image, work)};
}

}  // namespace attend::serve
