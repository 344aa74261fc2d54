// "Self-Attention Generative Adversarial Networks" (Zhang et al. 2019). A generator makes images of a class from noise;
// a discriminator tells them from real images. Both have residual blocks, spectral norm and self-attention at one
// resolution (section 3). The generator has conditional batch norm, the discriminator a projection of the class (Miyato
// & Koyama 2018).
//
//   noise [B, noise_size], classes [B] -> generator -> images [B, size, size, 3] -> discriminator -> scores [B]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/image_model.h"
#include "attend/nn/conditional_norm.h"
#include "attend/nn/convolution.h"
#include "attend/nn/parameters.h"
#include "attend/nn/self_attention_2d.h"
#include "attend/nn/spectral_norm.h"
#include "attend/tensor/images.h"

namespace attend::models {

struct SaganConfig {
  std::int64_t noise_size = 128;
  // Widths of the 4 x 4 grid the generator starts with, and of each stage, which doubles height and width.
  std::vector<std::int64_t> generator_widths = {256, 256, 256, 256};
  // Widths of the discriminator's stages. The first ones halve height and width.
  std::vector<std::int64_t> discriminator_widths = {128, 128, 128, 128};
  std::int64_t discriminator_halvings = 2;
  // Attention follows this stage of the generator, 1 being the first. The discriminator has it at the same resolution.
  // 0 means that neither has any.
  std::int64_t attention_stage = 2;
  std::vector<std::string> labels = {};

  std::int64_t stages() const { return static_cast<std::int64_t>(generator_widths.size()) - 1; }
  std::int64_t image_size() const { return std::int64_t{4} << stages(); }
  std::int64_t classes() const { return static_cast<std::int64_t>(labels.size()); }
  // The stage of the discriminator that attention follows; 0 means none.
  std::int64_t discriminator_attention_stage() const { return attention_stage == 0 ? 0 : stages() - attention_stage; }

  // Field names follow config.json. generator_widths and discriminator_widths are lists and are read apart.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("noise_size", noise_size, "numbers that a drawing is made of");
    v("discriminator_halvings", discriminator_halvings, "how many of the discriminator's stages halve the image");
    v("attention_stage", attention_stage, "the generator's stage behind which attention is; 0: none");
  }
};

void check_config(const SaganConfig& config, std::string_view what);
// From a config.json whose model_type is "sagan", and back.
SaganConfig sagan_config(const Json& config, std::string_view what);
Json sagan_json(const SaganConfig& config);

// A block of the generator: c2(relu(n2(c1(double(relu(n1(x)))))) + skip(double(x)).
// x [B, H, W, in] -> [B, 2·H, 2·W, out]
class UpBlock {
 public:
  UpBlock(std::int64_t classes, std::int64_t in, std::int64_t out);
  Tensor operator()(const Tensor& x, const Tensor& classes) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("n1", norm1_), v("n2", norm2_), v("c1", convolution1_), v("c2", convolution2_), v("skip", skip_);
  }

 private:
  nn::ConditionalBatchNorm norm1_, norm2_;
  nn::SpectralConv2d convolution1_, convolution2_, skip_;
};

class Generator {
 public:
  explicit Generator(const SaganConfig& config);
  // noise [B, noise_size], classes i32 [B] (or shares of all of them, [B, classes], for what lies between) -> images
  // [B, H, W, 3] between -1 and 1
  Tensor operator()(const Tensor& noise, const Tensor& classes) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("start", start_);
    for (std::size_t i = 0; i < stages_.size(); ++i) v("up" + std::to_string(i + 1), stages_[i]);
    if (attention_) v("attention", *attention_);
    v("norm", norm_), v("rgb", rgb_);
  }

 private:
  std::int64_t width_, attention_stage_;
  nn::SpectralLinear start_;
  std::vector<UpBlock> stages_;
  std::optional<nn::SelfAttention2d> attention_;
  nn::BatchNorm norm_;
  nn::SpectralConv2d rgb_;
};

struct DownBlockConfig {
  bool first = false;   // reads pixels, which must not pass a relu
  bool halves = false;  // halves height and width
};

// A block of the discriminator: c2(relu(c1(relu(x)))) + skip(x), then perhaps the mean of 2 x 2 places. x [B, H, W, in]
// -> [B, H, W, out] or [B, H/2, W/2, out]
class DownBlock {
 public:
  DownBlock(std::int64_t in, std::int64_t out, const DownBlockConfig& config);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("c1", convolution1_), v("c2", convolution2_);
    if (skip_) v("skip", *skip_);
  }

 private:
  DownBlockConfig config_;
  nn::SpectralConv2d convolution1_, convolution2_;
  std::optional<nn::SpectralConv2d> skip_;  // absent where x already has the right shape
};

class Discriminator {
 public:
  explicit Discriminator(const SaganConfig& config);
  // images [B, H, W, 3], classes i32 [B] -> scores [B]: the higher, the more it takes them for real ones of the class
  Tensor operator()(const Tensor& images, const Tensor& classes) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    for (std::size_t i = 0; i < stages_.size(); ++i) v("down" + std::to_string(i + 1), stages_[i]);
    if (attention_) v("attention", *attention_);
    v("out", output_), v("embed", classes_);
  }

 private:
  std::int64_t attention_stage_;
  std::vector<DownBlock> stages_;
  std::optional<nn::SelfAttention2d> attention_;
  nn::SpectralLinear output_;
  nn::SpectralEmbedding classes_;
};

class Sagan {
 public:
  static constexpr const char *kGenerator = "generator", *kDiscriminator = "discriminator";
  static constexpr const char *kAttention = "generator attention", *kEvaluatorAttention = "discriminator attention";
  explicit Sagan(const SaganConfig& config);
  const SaganConfig& config() const { return config_; }
  const Generator& generator() const { return generator_; }
  const Discriminator& discriminator() const { return discriminator_; }
  // Parameters by their names in files; the prefix says which network they belong to.
  std::vector<nn::Parameters::Entry> generator_parameters();
  std::vector<nn::Parameters::Entry> discriminator_parameters();

  // How the generator's attention, if any, lies over a generated image.
  std::vector<AttentionPlace> attention_places() const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v(kGenerator, generator_), v(kDiscriminator, discriminator_);
  }

 private:
  SaganConfig config_;
  Generator generator_;
  Discriminator discriminator_;
};

// A differentiable change of images [n, size, size, 3] in front of the discriminator.
using Augment = std::function<Tensor(const Tensor& images)>;

// Hinge losses of a batch, [1], in the pass of noise. The discriminator sees real and generated images of the same
// classes in one batch.
Tensor discriminator_loss(const Sagan& model, const Tensor& real, const Tensor& noise, const Tensor& classes,
                          const Augment& augment = {});
Tensor generator_loss(const Sagan& model, const Tensor& noise, const Tensor& classes, const Augment& augment = {});

}  // namespace attend::models
