// The caption model: an image encoder and a caption decoder, and how regions map to places of the image.
#include "attend/models/captioner.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

// How many tokens of its own (the class token of a ViT) the encoder puts before the places.
std::int64_t tokens_of(const ImageModel& model) {
  const std::vector<AttentionPlace> places = model.attention_places();
  return places.empty() ? 0 : places.back().tokens;
}

}  // namespace

std::vector<nn::Parameters::Entry> Captioner::parameters() {
  std::vector<nn::Parameters::Entry> all = parts_.encoder_parameters;
  const std::vector<nn::Parameters::Entry> decoder = parts_.decoder->parameters();
  all.insert(all.end(), decoder.begin(), decoder.end());
  return all;
}

Tensor Captioner::regions(const Tensor& pixels) const {
  const Tensor states = parts_.encoder->states(pixels);  // [B, tokens + places, C]
  const std::int64_t tokens = parts_.reads == MemoryTokens::places ? tokens_of(*parts_.encoder) : 0;
  // The encoder's own tokens are cut off: [B, S, C].
  return tokens == 0 ? states : ops::slice(states, 1, tokens, states.dim(1) - tokens);
}

// Only the encoder knows how many regions there are, so one black image runs through it.
void Captioner::place(Backend& backend, DType dtype) {
  const Extent2 size = parts_.encoder->size();
  const Tensor pixels = make_tensor(backend, {1, size.h, size.w, parts_.encoder->channels()}, dtype);
  backend.fill(pixels, 0);
  std::int64_t count = 0;
  {
    Pass pass(backend);
    count = regions(pass.input(pixels)).dim(1);
  }
  parts_.decoder->place(backend, dtype, grid(count));
}

std::int64_t Captioner::tokens_in_front() const {
  return parts_.reads == MemoryTokens::everything ? tokens_of(*parts_.encoder) : 0;
}

// Finds rows and columns with rows · columns = places and the aspect ratio closest to the image's.
Extent2 Captioner::grid(std::int64_t regions) const {
  const Extent2 image = parts_.encoder->size();
  const std::int64_t places = regions - tokens_in_front();
  check(places >= 1, "captioner: {} regions are none of the image", regions);
  const double wanted = std::log(static_cast<double>(image.h) / static_cast<double>(image.w));
  Extent2 best{1, places};
  double least = 0;
  for (std::int64_t h = 1; h <= places; ++h) {
    if (places % h != 0) continue;
    const double off = std::abs(std::log(static_cast<double>(h) / static_cast<double>(places / h)) - wanted);
    if (h == 1 || off < least) best = {h, places / h}, least = off;
  }
  return best;
}

}  // namespace attend::models
