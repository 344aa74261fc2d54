// Models that look at images, on the pixel_values of a folder under verification.
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/layout.h"
#include "attend/ops/softmax.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

// Grids are [B, H, W, C] here, and [B, C, H, W] in transformers and timm.
Tensor as_others_have(const Tensor& x) { return x.rank() == 4 ? ops::permute(x, {0, 3, 1, 2}) : x; }

}  // namespace

void run_image_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  const auto model = catalogue::make_image_model(described.json, described.path);
  nn::Parameters parameters(verified.backend, model->parameters(), verified.parameters);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(verified.folder);
  checkpoint::HuggingFaceOptions options = catalogue::load_options(described, files);
  options.new_head = described.task == catalogue::Task::embed_images;
  checkpoint::load_hugging_face(files, parameters, options);
  // What is only run is run as it is elsewhere.
  if (!verified.wants_gradients()) model->fold();
  const Tensor pixels = verified.images();
  {
    view::Collector collector;
    Pass pass(verified.backend, {.probe = &collector});
    std::vector<Tensor> hidden;
    const Tensor states = model->states(pass.input(pixels), &hidden), features = model->features(states);
    for (Tensor& each : hidden) each = as_others_have(each);
    verified.put_hidden(hidden);
    verified.put("last_hidden_state", states);
    if (!hidden.empty()) verified.put("features", hidden.back().rank() == 4 ? hidden.back() : states);
    verified.put("logits", model->scores(features));
    const std::vector<models::AttentionPlace> places = model->attention_places();
    for (std::size_t i = 0; i < places.size(); ++i)
      verified.put_attention(collector, places[i].label, "attention." + std::to_string(i));
  }
  if (!verified.wants_losses()) return;
  Pass pass(verified.backend, {.recording = true});
  pass.begin({});
  parameters.start_gradients();
  check(model->problem() == models::ProblemType::single_label, "{}: the loss of {} is not known", described.path,
        name_of(model->problem()));
  const Tensor labels = verified.labels("labels", static_cast<std::int64_t>(model->labels().size()));
  const Tensor loss = ops::cross_entropy(model->logits(pass.input(pixels)), pass.input(labels)).mean;
  verified.put("loss", loss);
  if (!verified.wants_gradients()) return;
  pass.backward(loss);
  parameters.finish_gradients();
  verified.put_gradients(parameters);
}

}  // namespace attend::verify
