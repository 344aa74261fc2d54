// DETR on the pixel_values and pixel_mask of a folder under verification; what is to be found is in case.json.
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/models/detr_loss.h"
#include "attend/ops/embedding.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

// The images' own sizes: pixel_mask [B, H, W] is 1 from the upper left corner on, and 0 where they are padded.
std::vector<Extent2> sizes_of(const VerifyCase& verified, const Tensor& pixels) {
  const std::int64_t B = pixels.dim(0), H = pixels.dim(1), W = pixels.dim(2);
  if (!verified.wants("pixel_mask")) return std::vector<Extent2>(static_cast<std::size_t>(B), Extent2{H, W});
  const checkpoint::StoredTensor& stored = verified.stored("pixel_mask");
  check(stored.shape == Shape({B, H, W}) && !is_float(stored.type),
        "{}: pixel_mask is {}, but pixel_values are of {} images of {} x {}", verified.expected.source(), stored.shape,
        B, H, W);
  const std::vector<std::int64_t> mask = verified.stored_ints("pixel_mask");
  const auto shown = [&](std::int64_t b, std::int64_t h, std::int64_t w) {
    return mask[static_cast<std::size_t>((b * H + h) * W + w)] != 0;
  };
  std::vector<Extent2> sizes;
  for (std::int64_t b = 0; b < B; ++b) {
    Extent2 size{0, 0};
    while (size.h < H && shown(b, size.h, 0)) ++size.h;
    while (size.w < W && shown(b, 0, size.w)) ++size.w;
    for (std::int64_t at = 0; at < H * W; ++at)
      check(shown(b, at / W, at % W) == (at / W < size.h && at % W < size.w),
            "{}: pixel_mask {} is not a rectangle from the upper left corner on", verified.expected.source(), b);
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<models::DetrObjects> objects_of(const VerifyCase& verified, std::int64_t images) {
  const std::string what = (verified.folder / "case.json").string();
  const auto labels = verified.notes.find("labels");
  check(labels != verified.notes.end() && labels->is_array() && static_cast<std::int64_t>(labels->size()) == images,
        "{}: 'labels' must list the objects of {} images", what, images);
  std::vector<models::DetrObjects> all;
  for (const Json& image : *labels) {
    models::DetrObjects objects;
    const auto classes = image.find("class_labels"), boxes = image.find("boxes");
    check(image.is_object() && classes != image.end() && boxes != image.end() && classes->is_array() &&
              boxes->is_array() && classes->size() == boxes->size(),
          "{}: each of 'labels' has class_labels and as many boxes", what);
    for (const Json& label : *classes) {
      check(label.is_number_integer(), "{}: class_labels are numbers, not {}", what, label.dump());
      objects.labels.push_back(label.get<std::int32_t>());
    }
    for (const Json& box : *boxes) {
      check(box.is_array() && box.size() == 4, "{}: a box is four numbers, not {}", what, box.dump());
      for (const Json& number : box) {
        check(number.is_number(), "{}: a box is four numbers, not {}", what, box.dump());
        objects.boxes.push_back(number.get<float>());
      }
    }
    all.push_back(std::move(objects));
  }
  return all;
}

// States [B, S, width] in the order of the grid: those of a padded batch have the image's own places first here.
Tensor by_grid(const Tensor& states, const models::PositionLayout& places) {
  if (!places.order.defined()) return states;
  const std::vector<std::int32_t> order = download_ints(places.order);
  std::vector<std::int32_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  const Tensor rows = make_tensor(states.backend(), places.order.shape(), DType::i32);
  upload(rows, back);
  return ops::gather(states.reshape({-1, states.width()}), rows).reshape(states.shape());
}

// What one layer of the decoder alone would lose, under names that end in `ending`.
void put_layer(VerifyCase& verified, const models::DetrConfig& config, const models::DetrOutput& output,
               std::span<const models::DetrObjects> objects, const std::string& ending) {
  models::DetrCriterion criterion(verified.backend, config, 1, output.logits.dim(0));
  criterion.keep(output);
  criterion.match(objects);
  const models::DetrLosses losses = criterion.loss(output);
  verified.put("loss_dict.loss_ce" + ending, losses.classes);
  verified.put("loss_dict.loss_bbox" + ending, losses.l1);
  verified.put("loss_dict.loss_giou" + ending, losses.giou);
  const std::string cardinality = "loss_dict.cardinality_error" + ending;
  if (verified.wants(cardinality))
    verified.keep(cardinality, {{1}, {static_cast<float>(criterion.cardinality_error())}});
}

}  // namespace

void run_detr_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  models::Detr model(models::detr_config(described.json, described.path));
  const models::DetrConfig& config = model.config();
  nn::Parameters parameters(verified.backend, model.parameters(), verified.parameters);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(verified.folder);
  checkpoint::load_hugging_face(files, parameters, catalogue::load_options(described, files));
  if (!verified.wants_gradients()) model.fold();
  const Tensor pixels = verified.images();
  const Extent2 padded{pixels.dim(1), pixels.dim(2)};
  const models::PositionLayout places =
      model.places(verified.backend, verified.dtype, padded, sizes_of(verified, pixels));
  {
    view::Collector collector;
    Pass pass(verified.backend, {.probe = &collector});
    const models::DetrMemory memory = model.encode(pass.input(pixels), places);
    const Tensor states = model.decode(memory).back();
    const models::DetrOutput output = model.judge(states);
    verified.put("logits", output.logits);
    verified.put("pred_boxes", output.boxes);
    verified.put("last_hidden_state", states);
    verified.put("encoder_last", by_grid(memory.states, places));
    for (std::int64_t i = 0; i < config.decoder_layers; ++i) {
      const std::string name = "cross_attention." + std::to_string(i);
      verified.put_attention(collector, models::Detr::cross_attention_label(i), name);
      if (const auto found = verified.produced.find(name); found != verified.produced.end())
        found->second.floats = models::Detr::by_grid(found->second.floats, places);
    }
  }
  if (!verified.wants_losses()) return;
  const std::vector<models::DetrObjects> objects = objects_of(verified, pixels.dim(0));
  Pass pass(verified.backend, {.recording = true});
  pass.begin({});
  parameters.start_gradients();
  const models::DetrOutput output = model.detect_by_layers(pass.input(pixels), places);
  models::DetrCriterion criterion(verified.backend, config, config.decoder_layers, pixels.dim(0));
  criterion.keep(output);
  criterion.match(objects);
  const Tensor loss = criterion.loss(output).total;
  verified.put("loss", loss);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) {
    const auto layer = [&](const Tensor& all) {
      const Tensor one = all.slice_first(i, 1);
      return one.reshape({one.dim(1), one.dim(2), one.dim(3)});
    };
    put_layer(verified, config, {layer(output.logits), layer(output.boxes)}, objects,
              i + 1 < config.decoder_layers ? "_" + std::to_string(i) : "");
  }
  if (!verified.wants_gradients()) return;
  pass.backward(loss);
  parameters.finish_gradients();
  verified.put_gradients(parameters);
}

}  // namespace attend::verify
