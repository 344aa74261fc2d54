#include "attend/train/recipes/images/image_start.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/resize.h"

namespace attend::train {

namespace {

// What tables of positions are called by transformers and by timm.
constexpr const char* kPositions[] = {"position_embeddings", "pos_embed"};

bool is_positions(const std::string& name) {
  return std::ranges::any_of(kPositions, [&](const char* end) { return name.ends_with(end); });
}

std::int64_t root_of(std::int64_t places) { return std::llround(std::sqrt(static_cast<double>(places))); }

// [1, tokens + from², C] -> [1, tokens + to², C]: the tokens in front stay as they are.
std::vector<float> stretched(const std::vector<float>& table, const Shape& from, const Shape& to, Backend& backend) {
  const std::int64_t width = from[2];
  std::int64_t tokens = 0;  // the class token, and DeiT's second one
  while (tokens < 3 && root_of(from[1] - tokens) * root_of(from[1] - tokens) != from[1] - tokens) ++tokens;
  const std::int64_t before = root_of(from[1] - tokens), after = root_of(to[1] - tokens);
  check(tokens < 3 && after * after == to[1] - tokens, "positions {} cannot become {}", from, to);
  const Tensor grid = make_tensor(backend, {1, before, before, width}, DType::f32);
  const auto front = static_cast<std::size_t>(tokens * width);
  upload(grid, std::span(table).subspan(front));
  const std::vector<float> resized = download(ops::resize(grid, {after, after}, {.mode = ResizeMode::bicubic}));
  std::vector<float> result(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(front));
  result.insert(result.end(), resized.begin(), resized.end());
  return result;
}

Json image_start_json(const catalogue::ModelConfig& start, const ImageRecipe& recipe,
                      const std::vector<std::string>& labels) {
  Json json = catalogue::make_image_model(start.json, start.path)->config();
  json["image_size"] = recipe.images.image_size;
  json.erase("problem_type");  // each image has one label here
  if (recipe.drop_path > 0) json["drop_path_rate"] = recipe.drop_path;
  json.update(recipe.config);
  models::write_labels(json, labels);
  return json;
}

}  // namespace

Json image_config(const std::filesystem::path& from, const ImageRecipe& recipe, const std::vector<std::string>& labels,
                  std::string_view what) {
  Json json =
      from.empty() ? image_model_json(recipe, labels) : image_start_json(catalogue::read_config(from), recipe, labels);
  const std::vector<std::string> keys = catalogue::make_image_model(json, what)->keys();
  check_keys(recipe.config, keys, "config");
  check(recipe.drop_path == 0 || std::ranges::find(keys, "drop_path_rate") != keys.end(),
        "{}: 'drop_path' is {}, but a {} has no stochastic depth", what, recipe.drop_path,
        json.value("model_type", std::string("model")));
  return json;
}

checkpoint::LoadReport load_image_start(const std::filesystem::path& folder, nn::Parameters& parameters) {
  const catalogue::ModelConfig start = catalogue::read_config(folder);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  checkpoint::HuggingFaceOptions options = catalogue::load_options(start, files);
  options.new_head = true;
  options.may_differ.assign(std::begin(kPositions), std::end(kPositions));
  checkpoint::LoadReport report = checkpoint::load_hugging_face(files, parameters, options);
  std::erase_if(report.missing, [&](const std::string& name) {
    const checkpoint::TensorFile* file = is_positions(name) ? files.holding(name) : nullptr;
    if (!file) return false;
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if ((options.spelling ? options.spelling(entry.name) : entry.name) == name)
        parameters.write(entry, stretched(file->floats(name), (*file)[name].shape, entry.parameter->shape,
                                          parameters.value().backend()));
    return true;
  });
  return report;
}

}  // namespace attend::train
