// "An Image is Worth 16x16 Words" (Dosovitskiy et al. 2020, section 3.1). An image is cut into patches, and one
// projection turns each patch into a token. A Transformer encoder reads a class token and the patches; the last state
// of the class token represents the image. DeiT (Touvron et al. 2020) adds a second such token, which learns from a
// teacher. A convolutional stem (Xiao et al. 2021) may replace the patch projection, and a hybrid (section 3.1, "Hybrid
// Architecture") cuts the last grid of a ResNet into patches instead of the image. Files of these two kinds are our
// own: the paper's hybrid has group norms and standardised weights, this one the batch norms of resnet.h. A compact
// convolutional transformer (Hassani et al. 2021, "CCT") is a convolutional one with the stem "pooled" and the pooling
// "sequence".
//
//   pixels [B, H, W, channels] -> embed -> [B, 1 + P, C] -> L layers -> states [B, 1 + P, C] -> features [B, C]
//
// P counts patches; DeiT has 2 + P tokens. Parameters carry the names of Hugging Face's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_classifier.h"
#include "attend/models/resnet.h"
#include "attend/nn/attention.h"
#include "attend/nn/convolution.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/nn/residual.h"

namespace attend::models {

enum class ViTFamily : std::uint8_t { vit, deit, vit_conv, vit_hybrid };
constexpr const char* name_of(ViTFamily family) {
  constexpr const char* kNames[] = {"vit", "deit", "vit_conv", "vit_hybrid"};
  return kNames[static_cast<int>(family)];
}

struct ViTConfig {
  ViTFamily family = ViTFamily::vit;
  std::int64_t image_size = 224, patch_size = 16, channels = 3;
  std::int64_t width = 768, layers = 12, heads = 12, hidden = 3072;
  std::string activation = "gelu";
  float dropout = 0, attention_dropout = 0, drop_path = 0;
  float norm_eps = 1e-12f, init_deviation = 0.02f;
  // Of a hybrid, "backbone_config" of its file: by default ResNet-50 up to a stride of 16, as in R50+ViT-B/16. Its last
  // grid is cut into patches of patch_size, which is then mostly 1.
  ResNetConfig backbone = {.hidden_sizes = {256, 512, 1024}, .depths = {3, 4, 9}};
  // Our own settings. The stem of vit_conv: "strided" convolutions (Xiao et al. 2021), or "pooled" ones (CCT, section
  // 3.3).
  std::string stem = "strided";
  // What represents an image: the state of the class "token", the "mean" of all patches (Beyer et al. 2022), or their
  // weighted sum, "sequence" pooling (CCT, section 3.2). The last two have no class token.
  std::string pooling = "token";

  std::string architecture = {};  // for example "ViTForImageClassification"
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  bool distilled() const { return family == ViTFamily::deit; }
  bool convolutional() const { return family == ViTFamily::vit_conv; }
  bool with_teacher() const { return architecture == "DeiTForImageClassificationWithTeacher"; }
  bool hybrid() const { return family == ViTFamily::vit_hybrid; }
  std::int64_t grid() const;  // places along one side of the hybrid's ResNet
  // Patches along one side of the image.
  std::int64_t side() const { return (hybrid() ? grid() : image_size) / patch_size; }
  bool pooled_stem() const { return stem == "pooled"; }
  // Tokens before the patches: class, and teacher.
  std::int64_t tokens() const { return pooling != "token" ? 0 : distilled() ? 2 : 1; }

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "height and width of the images");
    v("patch_size", patch_size, "height and width of a patch; divides the image's");
    v("num_channels", channels, "of the images");
    v("hidden_size", width, "of the model");
    v("num_hidden_layers", layers, "how many");
    v("num_attention_heads", heads, "of attention; they divide the width");
    v("intermediate_size", hidden, "width inside the feed-forward layers");
    v("hidden_act", activation, "of the feed-forward layers");
    v("hidden_dropout_prob", dropout, "of embeddings and of what each sublayer adds");
    v("attention_probs_dropout_prob", attention_dropout, "of attention weights");
    v("drop_path_rate", drop_path, "stochastic depth: how often the last layer is left out, the others less");
    v("layer_norm_eps", norm_eps, "added to variances");
    v("initializer_range", init_deviation, "deviation of the weights a new model starts from");
    v("stem", stem, "of vit_conv: strided convolutions, or pooled ones (CCT)");
    v("pooling", pooling, "what represents an image: the class token, the mean of the patches, or sequence (CCT)");
  }
};

void check_config(const ViTConfig& config, std::string_view what);
// From a config.json whose model_type is "vit", "deit", "vit_conv" or "vit_hybrid", and back.
ViTConfig vit_config(const Json& config, std::string_view what);
Json vit_json(const ViTConfig& config);

// A pre-norm layer (equations 2 and 3): x + attention(norm(x)), then x + feed_forward(norm(x)). x stays [B, 1 + P, C].
class ViTLayer {
 public:
  ViTLayer(const ViTConfig& config, std::int64_t index);
  void operator()(nn::Residual& stream) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("layernorm_before", norm1_), v("attention", attention_), v("layernorm_after", norm2_), v("", feed_forward_);
  }

 private:
  nn::LayerNorm norm1_, norm2_;
  nn::SelfAttention attention_;
  nn::FeedForward feed_forward_;
  float drop_path_;
};

// A stem of 3 x 3 convolutions. pixels [B, H, W, channels] -> [B, side, side, C]
//   strided   each has batch norm and relu. The first keeps the image's size. Each of the others halves the grid and
//             doubles the channels, until the grid is that of the patches. A projection ends it.
//   pooled    each has relu and a max pool that halves the grid; all but the last have 64 channels.
class ConvolutionStem {
 public:
  explicit ConvolutionStem(const ViTConfig& config);
  Tensor operator()(const Tensor& pixels) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("convolutions", convolutions_), v("norms", norms_);
    if (projection_) v("projection", *projection_);
  }

 private:
  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::BatchNorm> norms_;
  std::optional<nn::Linear> projection_;  // of a strided one
};

// The body: everything but the classifier.
class ViT {
 public:
  using Config = ViTConfig;
  explicit ViT(const ViTConfig& config);
  const ViTConfig& config() const { return config_; }
  Json json() const { return vit_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  std::int64_t width() const { return config_.width; }

  // Equation 1: pixels [B, H, W, channels] -> tokens and patches plus their positions, [B, tokens + P, C].
  Tensor embed(const Tensor& pixels) const;
  // States after the last norm, [B, tokens + P, C]. hidden receives the embeddings and the output of every layer.
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // Equation 4: the state of the class token, or what stands for it (ViTConfig::pooling), [B, C].
  Tensor features(const Tensor& states) const;
  std::vector<AttentionPlace> attention_places() const;
  static std::string attention_label(std::int64_t layer);
  void fold();  // batch norms of a hybrid, as ImageModel::fold()

  template <class Visitor>
  void visit(Visitor&& v) {
    if (config_.tokens() > 0) v("embeddings.cls_token", class_token_);
    if (config_.distilled()) v("embeddings.distillation_token", distillation_token_);
    v("embeddings.position_embeddings", positions_);
    if (backbone_) v("embeddings.patch_embeddings.backbone", *backbone_);
    if (config_.convolutional())
      v("embeddings.stem", stem_);
    else
      v("embeddings.patch_embeddings.projection", patches_);
    v("encoder.layer", layers_), v("layernorm", norm_);
    if (attention_pool_) v("attention_pool", *attention_pool_);
  }

 private:
  ViTConfig config_;
  nn::Parameter class_token_, distillation_token_, positions_;
  nn::Conv2d patches_;  // only one of patches_ and stem_ is used
  ConvolutionStem stem_;
  std::optional<ResNet> backbone_;  // of a hybrid
  std::vector<ViTLayer> layers_;
  nn::LayerNorm norm_;
  std::optional<nn::Linear> attention_pool_;  // of sequence pooling: [.., C] -> [.., 1]
};

// The body with a classifier, or with two whose scores are averaged (DeiT, section 4).
class ViTClassifier : public ImageModel {
 public:
  explicit ViTClassifier(const ViTConfig& config);
  const ViT& body() const { return body_; }

  Json config() const override { return body_.json(); }
  std::vector<std::string> keys() const override { return keys_of(body_); }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Extent2 size() const override { return body_.size(); }
  std::int64_t channels() const override { return body_.config().channels; }
  const std::vector<std::string>& labels() const override { return body_.config().labels; }
  ProblemType problem() const override { return body_.config().problem; }
  std::int64_t width() const override { return body_.width(); }
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden) const override {
    return body_.states(pixels, hidden);
  }
  // The class token's state, [B, C]. With a teacher's head also that of its token, side by side: [B, 2·C].
  Tensor features(const Tensor& states) const override;
  Tensor scores(const Tensor& features) const override;
  std::vector<AttentionPlace> attention_places() const override { return body_.attention_places(); }
  void fold() override { body_.fold(); }

  template <class Visitor>
  void visit(Visitor&& v) {
    const bool teacher = body_.config().with_teacher();
    v(name_of(body_.config().family), body_);
    v(teacher ? "cls_classifier" : "classifier", head_);
    if (teacher) v("distillation_classifier", teacher_head_);
  }

 private:
  ViT body_;
  nn::Linear head_, teacher_head_;
};

}  // namespace attend::models
