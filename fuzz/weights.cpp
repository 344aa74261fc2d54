// Files of weights for one small model: model.safetensors, or an index and shards, with names as Hugging Face has them
// and as ours; f32, packed, and with a head that may be new.
#include "attend/backends.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/nn/layers.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "model.safetensors", .schema = R"({"dtype": ["F32", "F16", "BF16", "I8", "I64"],
                  "shape": [[8, 8], [24, 8], [8], [16], [16, 8], [2, 8], [8, 1], [1, 8], [24]],
                  "weight_map": [{"a": "one.safetensors", "b": "two.safetensors"}, {"a": "../x"}, {}, {"a": 1}],
                  "@tensors": ["base.dense.weight", "base.dense.bias", "dense.weight", "dense.bias", "base.dense.weight.scale",
                               "base.self.query.weight", "base.self.key.weight", "base.self.value.weight",
                               "base.LayerNorm.weight", "base.LayerNorm.bias", "base.LayerNorm.gamma", "LayerNorm.beta",
                               "head.weight", "head.bias", "base.pooler.weight", "h.attn.bias", "base.in_proj_weight"]})"};

namespace {

constexpr const char* kFiles[] = {
    "model.safetensors", "model.safetensors.index.json", "one.safetensors", "two.safetensors",
    "pytorch_model.bin", "pytorch_model.bin.index.json", "model.gguf"};

// Every way in which a parameter may lie in a file: whole, in parts, and as rows of a larger tensor.
struct Model {
  nn::Parameter dense{{8, 8}, {}, nn::Role::weight}, query{{24, 8}, {}, nn::Role::weight};
  nn::Parameter pooler{{8, 8}, {}, nn::Role::table}, head{{2, 8}, {}, nn::Role::input_major_weight};
  nn::Parameter bias{{8}, {}}, norm{{8}, {}}, norm_bias{{8}, {}};
  nn::Parameter first{{8, 8}, {}}, second{{16, 8}, {}};
  bool rows = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("base.dense.weight", dense), v("base.dense.bias", bias), v("base.self.query|key|value.weight", query);
    v("base.LayerNorm.weight", norm), v("base.LayerNorm.bias", norm_bias), v("base.pooler.weight", pooler);
    v("head.weight", head);
    if (rows) {
      v("base.in_proj_weight", nn::FileRows{first, 0, 24});
      v("base.in_proj_weight", nn::FileRows{second, 8, 24});
    }
  }
};

}  // namespace

void enter(const Input& input) {
  static const std::unique_ptr<Backend> backend = open_backend("cpu", {.threads = 1});
  for (const char* name : kFiles)
    if (input.has(name))
      write(name, input[name]);
    else
      remove(name);
  attempt([&] {
    for (nn::WeightForm form : {nn::WeightForm::stored, nn::WeightForm::plain})
      checkpoint::run_options(folder(), {DType::f32, form});
  });
  for (const bool new_head : {false, true})
    attempt([&] {
      Model model;
      nn::Parameters parameters(*backend, model, {.initialized = new_head});
      checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder()), parameters,
                                    {.prefix = "base", .new_head = new_head});
    });
  for (const nn::WeightForm form : {nn::WeightForm::f32, nn::WeightForm::bf16, nn::WeightForm::int8})
    attempt([&] {
      Model model;
      nn::Parameters parameters(*backend, model, {.trained = false, .initialized = false, .weights = form});
      checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder()), parameters, {.prefix = "base"});
    });
  Model model{.rows = true};
  nn::Parameters parameters(*backend, model, {});
  const std::string path = (folder() / "model.safetensors").string();
  checkpoint::load_weights(checkpoint::Safetensors::open(path), parameters);
  // What was read can be written, and read again.
  const std::string written = (folder() / "written.safetensors").string();
  checkpoint::save_weights(written, parameters);
  checkpoint::load_weights(checkpoint::Safetensors::open(written), parameters);
}

}  // namespace attend::fuzz
