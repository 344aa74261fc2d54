#include "attend/checkpoint/hugging_face.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/file_order.h"
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/checkpoint/unread_tensors.h"
#include "attend/checkpoint/weight_files.h"

namespace attend::checkpoint {

namespace {

namespace fs = std::filesystem;
using nn::Parameters;

constexpr const char* kWeights = "model.safetensors";

// What files hold besides parameters: masks and counters that older versions stored, and second names of the table of
// tokens and of the output's bias.
constexpr std::array<std::string_view, 13> kDerived = {".attn.bias",
                                                       ".num_batches_tracked",
                                                       "relative_position_index",
                                                       ".attn.masked_bias",
                                                       "position_ids",
                                                       "lm_head.weight",
                                                       "predictions.decoder.weight",
                                                       "predictions.decoder.bias",
                                                       "lm_head.decoder.weight",
                                                       "lm_head.decoder.bias",
                                                       "vocab_projector.weight",
                                                       "encoder.embed_tokens.weight",
                                                       "decoder.embed_tokens.weight"};

// Tied weights are one tensor with several names, and a file may have kept another one than ours.
struct TiedNames {
  std::string_view name;  // ours, behind the part of the model that it lies in
  std::vector<std::string_view> others;
};
const TiedNames kTied[] = {
    {"transformer.wte.weight", {"lm_head.weight"}},
    {"embeddings.word_embeddings.weight",
     {"cls.predictions.decoder.weight", "lm_head.decoder.weight", "vocab_projector.weight", "lm_head.weight"}},
    {"cls.predictions.bias", {"cls.predictions.decoder.bias"}},
    {"lm_head.bias", {"lm_head.decoder.bias"}},
};

void add_tied(const std::string& name, const std::string& prefix, std::vector<std::string>& names) {
  for (const TiedNames& tied : kTied) {
    if (!name.ends_with(tied.name)) continue;
    std::string outer = name.substr(0, name.size() - tied.name.size());  // "decoder.", of a captioner
    if (outer == prefix + ".") outer.clear();
    for (const std::string_view other : tied.others) names.push_back(outer + std::string(other));
  }
}

// The names under which a file may hold a tensor: with and without the prefix, and as the first BERT spelt its norms.
std::vector<std::string> spellings(const std::string& name, const std::string& prefix) {
  std::vector<std::string> names = {name};
  if (!prefix.empty())
    names.push_back(name.starts_with(prefix + ".") ? name.substr(prefix.size() + 1) : prefix + "." + name);
  for (const auto& [now, once] : {std::pair{"LayerNorm.weight", "gamma"}, {"LayerNorm.bias", "beta"}}) {
    if (!name.ends_with(now)) continue;
    for (std::size_t i = 0, count = names.size(); i < count; ++i)
      names.push_back(names[i].substr(0, names[i].rfind('.') + 1) + once);
  }
  add_tied(name, prefix, names);
  return names;
}

// A tensor of another shape that the caller reads itself.
bool may_differ(const std::string& name, const HuggingFaceOptions& options) {
  return std::ranges::any_of(options.may_differ, [&](const auto& end) { return name.ends_with(end); });
}

// Whether a model that has a head, or is without one, may start with this tensor untrained.
bool may_be_new(const std::string& name, bool headed, const HuggingFaceOptions& options) {
  const bool head =
      options.head.empty() ? headed && !name.starts_with(options.prefix + ".") : name.starts_with(options.head + ".");
  return may_differ(name, options) || (options.new_head && (head || name.find("pooler.") != std::string::npos));
}

Parameters::Entry renamed(Parameters::Entry entry, const HuggingFaceOptions& options) {
  entry.name = options.spelling(entry.name);
  return entry;
}

}  // namespace

bool is_derived(std::string_view name) {
  return std::any_of(kDerived.begin(), kDerived.end(), [&](std::string_view end) { return name.ends_with(end); });
}

TensorFiles TensorFiles::open(const fs::path& folder) { return TensorFiles(open_weights(folder)); }

std::vector<std::string> TensorFiles::names() const {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : file_.tensors())
    if (!is_scale(file_, tensor.name)) names.push_back(tensor.name);
  return names;
}

// Twice as many and a few more: a tensor that is missing, or larger than the file's, gets a message of its own.
void TensorFiles::bound(nn::ParametersOptions& options) const {
  constexpr std::int64_t kMore = 1 << 20;
  options.most = kMore, options.source = source();
  for (const StoredTensor& tensor : file_.tensors()) options.most += 2 * tensor.shape.size();
}

nn::ParametersOptions run_options(const fs::path& folder, const nn::ModelFormat& format) {
  nn::ParametersOptions options{
      .dtype = format.dtype, .trained = false, .initialized = false, .weights = format.weights};
  const TensorFiles files = TensorFiles::open(folder);
  files.bound(options);
  if (format.weights != nn::WeightForm::stored) return options;
  for (const std::string& name : files.names())
    if ((*files.holding(name))[name].type == StoredType::i8) options.weights = nn::WeightForm::int8;
  return options;
}

std::vector<FilePart> file_parts(const Parameters::Entry& entry) {
  const std::string& name = entry.name;
  check(entry.rows_in_file == 0, "{}: part of a larger tensor, which these files have not", name);
  const std::size_t bar = name.find('|');
  if (nn::is_convolution(entry.parameter->role))
    return {{.name = name, .shape = channels_first(entry.parameter->shape), .channels_first = true}};
  if (bar == std::string::npos) return {{name, entry.parameter->shape, 0}};
  const std::size_t begin = name.rfind('.', bar) + 1, end = std::min(name.find('.', bar), name.size());
  std::vector<std::string> words(1);
  for (char c : name.substr(begin, end - begin))
    if (c == '|')
      words.emplace_back();
    else
      words.back() += c;
  Shape shape = entry.parameter->shape;
  const auto count = static_cast<std::int64_t>(words.size());
  check(shape[0] % count == 0, "{}: {} does not fall into {} parts", name, shape, count);
  shape.set(0, shape[0] / count);
  std::vector<FilePart> parts;
  for (const std::string& word : words)
    parts.push_back({name.substr(0, begin) + word + name.substr(end), shape,
                     static_cast<std::int64_t>(parts.size()) * shape.size()});
  return parts;
}

LoadReport load_hugging_face(const TensorFiles& files, Parameters& parameters, const HuggingFaceOptions& options) {
  LoadReport report;
  std::set<std::string> used;
  const auto& entries = parameters.entries();
  const bool headed = std::any_of(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.name.starts_with(options.prefix + "."); });
  for (const Parameters::Entry& entry : entries) {
    const std::vector<FilePart> parts = file_parts(options.spelling ? renamed(entry, options) : entry);
    const bool may_miss = may_be_new(entry.name, headed, options);
    std::vector<float> values(parts.size() > 1 ? static_cast<std::size_t>(entry.parameter->shape.size()) : 0);
    std::size_t filled = 0;
    for (const FilePart& part : parts) {
      const std::vector<std::string> names = spellings(part.name, options.prefix);
      const auto name = std::find_if(names.begin(), names.end(), [&](const auto& each) { return files.holding(each); });
      if (name == names.end() || (may_miss && (*files.holding(*name))[*name].shape != part.shape)) {
        check(may_miss, "{}: no tensor '{}', which the model needs", files.source(), part.name);
        report.missing.push_back(part.name);
        continue;
      }
      const TensorFile& file = *files.holding(*name);
      check(file[*name].shape == part.shape, "{}: '{}' is {}, but the model wants {}", file.source(), *name,
            file[*name].shape, part.shape);
      used.insert(*name);
      if (parts.size() == 1 && !part.channels_first &&
          parameters.write_stored(entry, file.contents(*name).view(), float_dtype_of(file[*name].type))) {
        file.forget(*name);
        continue;
      }
      std::vector<float> read = file.floats(*name);
      if (part.channels_first) read = channels_last(read, part.shape);
      file.forget(*name);
      filled += read.size();
      if (parts.size() == 1)
        values = std::move(read);
      else
        std::copy(read.begin(), read.end(), values.begin() + part.begin);
    }
    if (filled > 0) parameters.write(entry, std::span<const float>(values).first(filled));
  }
  for (const std::string& name : files.names())
    if (!used.contains(name) && !is_derived(name) && !may_differ(name, options)) report.unused.push_back(name);
  report_unread(files.source(), report.unused);
  return report;
}

void save_hugging_face(const fs::path& folder, const Parameters& parameters, Json config) {
  const DType dtype = parameters.value().dtype();
  config["dtype"] = dtype == DType::bf16 ? "bfloat16" : "float32";
  SafetensorsWriter writer;
  for (const Parameters::Entry& entry : parameters.entries())
    for (const FilePart& part : file_parts(entry)) {
      const Tensor value = parameters.value(entry).slice_first(part.begin, part.shape.size());
      writer.add(part.name, part.channels_first ? channels_first(value.reshape(entry.parameter->shape))
                                                : value.reshape(part.shape));
    }
  writer.set_metadata("format", "pt");  // transformers asks for it
  writer.write((folder / kWeights).string());
  write_file(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace attend::checkpoint
