// Models that write about images, on the pixel_values and labels of a folder under verification.
#include "attend/base/error.h"
#include "attend/catalogue/captioners.h"
#include "attend/tensor/backend.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

// The labels with what the decoder reads of them.
models::CaptionBatch batch_of(const VerifyCase& verified, const models::Captioner& model, const Tensor& pixels) {
  const std::int64_t vocabulary = model.decoder().vocabulary();
  const auto start = verified.token("decoder_start_token_id", vocabulary),
             pad = verified.token("pad_token_id", vocabulary);
  check(start && pad, "verify: {} lacks decoder_start_token_id or pad_token_id", verified.config_name());
  const Tensor labels = verified.labels("labels", vocabulary);
  check(labels.rank() == 2 && labels.dim(0) == pixels.dim(0) && labels.dim(1) <= model.decoder().max_length(),
        "{}: labels are {}, but pixel_values {}, and a caption has no more than {} tokens", verified.expected.source(),
        labels.shape(), pixels.shape(), model.decoder().max_length());
  const Tensor counted = make_tensor(verified.backend, labels.shape(), DType::f32);
  verified.backend.fill(counted, 1);
  return {verified.behind_start(labels, *start, *pad), labels, counted};
}

}  // namespace

void run_caption_case(VerifyCase& verified, const catalogue::ModelConfig& described) {
  const auto model = catalogue::make_captioner(described.json, described.path);
  nn::Parameters parameters(verified.backend, model->parameters(), verified.parameters);
  catalogue::load_captioner(verified.folder, described, parameters);
  model->place(verified.backend, verified.dtype);
  const Tensor pixels = verified.images();
  if (verified.wants("decoder_input_ids")) {
    Pass pass(verified.backend);
    const Tensor regions = model->regions(pass.input(pixels));
    verified.put("encoder_last", regions);
    const nn::Sequences read{verified.ids("decoder_input_ids", model->decoder().vocabulary())};
    verified.put("logits", model->decoder().logits(model->decoder().decode(regions, read.in(pass))));
  }
  if (verified.wants("labels")) {
    const models::CaptionBatch batch = batch_of(verified, *model, pixels);
    Pass pass(verified.backend);
    const Tensor states = model->decoder().decode(model->regions(pass.input(pixels)), batch.captions.in(pass));
    verified.put("logits", model->decoder().logits(states));
  }
  if (verified.wants("labels") && verified.wants_losses()) {
    const models::CaptionBatch batch = batch_of(verified, *model, pixels);
    Pass pass(verified.backend, {.recording = true});
    pass.begin({});
    parameters.start_gradients();
    const Tensor loss = model->loss(pass.input(pixels), batch.in(pass), 0).total;
    verified.put("loss", loss);
    if (verified.wants_gradients()) {
      pass.backward(loss);
      parameters.finish_gradients();
      verified.put_gradients(parameters);
    }
  }
  for (const VerifyCase::Search& search : verified.searches(model->decoder().vocabulary()))
    verified.put_written(search, pixels.dim(0), model->decoder().max_length(),
                         [&](Pass& pass, std::int64_t group) { return model->start(pass, pass.input(pixels), group); });
}

}  // namespace attend::verify
