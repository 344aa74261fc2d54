#include "attend/cli/convert.h"

#include <fmt/core.h>

#include <list>
#include <ostream>
#include <span>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/new_folder.h"
#include "attend/base/paths.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/cli/command.h"
#include "attend/cli/model_flag.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string model, out, dtype = "bf16", without;
  bool overwrite = false;
};

constexpr const char* kConvertExamples = R"(Examples:
  attend convert path/to/gpt2 --dtype bf16 --out gpt2-bf16     half the size
  attend convert models/en-fr --dtype f32 --out en-fr-f32
  attend convert path/to/gpt2 --dtype int8 --out gpt2-int8     a quarter: see docs/gpt2.md
  attend convert runs/sagan-cifar10 --without discriminator --out sagan   the generator, which is all that drawing needs
Our folders are Hugging Face's already: names and layout stay as they are, shards become one file. int8 is ours alone:
matrices and convolutions become I8 with an F32 tensor NAME.scale, one scale for each output; tables of positions bf16; biases and norms stay f32.)";

// Tensors on their way to the new file, kept until it is written.
class Converted {
 public:
  Converted(StoredType type, const catalogue::Entry* model) : type_(type), model_(model) {}

  void add(const Safetensors& file, const StoredTensor& tensor) {
    const bool scaled = tensor.type == StoredType::i8 && file.find(tensor.name + std::string(kScaleSuffix));
    if (!is_float(tensor.type) && !scaled)
      return put(tensor.name, tensor.type, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()});
    const std::vector<float> values = file.floats(tensor.name);
    const bool matrix = tensor.shape.rank() == 2 || tensor.shape.rank() == 4;
    if (type_ == StoredType::bf16 || (type_ == StoredType::i8 && matrix && looked_up(tensor.name)))
      put(tensor.name, StoredType::bf16, tensor.shape, as_bytes(std::vector<Bf16>(values.begin(), values.end())));
    else if (type_ == StoredType::f32 || !matrix)
      put(tensor.name, StoredType::f32, tensor.shape, as_bytes(values));
    else
      quantise(tensor, values);
  }
  void write(const std::string& path) {
    writer_.set_metadata("format", "pt");
    writer_.write(path);
  }
  std::size_t tensors() const { return kept_.size(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  template <class T>
  static std::vector<std::byte> as_bytes(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
  // Tables of positions and of token types: added to what they stand beside, and their rows have a few large numbers
  // that would be the scale of all others.
  static bool looked_up(const std::string& name) {
    return name.find("position") != std::string::npos || name.find("wpe.") != std::string::npos ||
           name.find("token_type") != std::string::npos;
  }
  void quantise(const StoredTensor& tensor, const std::vector<float>& values) {
    // GPT-2's projections are [in, out], all else is [out, in].
    const bool columns =
        model_ && !model_->input_major.empty() && tensor.name.find(model_->input_major) != std::string::npos;
    const Quantised result =
        attend::quantise(values, tensor.shape, columns ? ScaleAxis::columns : ScaleAxis::rows, tensor.name);
    put(tensor.name, StoredType::i8, tensor.shape, as_bytes(result.values));
    put(tensor.name + std::string(kScaleSuffix), StoredType::f32, result.scale_shape, as_bytes(result.scales));
  }
  void put(const std::string& name, StoredType type, const Shape& shape, std::vector<std::byte> bytes) {
    bytes_ += static_cast<std::int64_t>(bytes.size());
    kept_.push_back(std::move(bytes));
    writer_.add(name, type, shape, kept_.back());
  }

  StoredType type_;
  const catalogue::Entry* model_;  // null: not in the catalogue
  SafetensorsWriter writer_;
  std::list<std::vector<std::byte>> kept_;
  std::int64_t bytes_ = 0;
};

// The other files of the folder: everything that is not a tensor file or the remains of a training run.
void copy_rest(const fs::path& from, const fs::path& to) {
  for (const fs::path& path : files_in(from)) {
    const std::string name = path.filename().string(), kind = path.extension().string();
    const bool tensors = kind == ".safetensors" || name == "model.safetensors.index.json";
    const bool run = kind == ".pairs" || kind == ".tokens" || kind == ".jsonl" || kind == ".tfevents" ||
                     name == "curves.csv" || name == "run.json" || name == "run.lock" || is_temporary_name(name);
    if (!tensors && !run && name != "config.json") write_file(to / name, read_file(path));
  }
}

void run_convert(const ConvertOptions& options, const Streams& streams) {
  const fs::path from = options.model, to(options.out);
  std::error_code ignored;
  check(!path_exists(to) || !fs::equivalent(from, to, ignored), "convert: --out is the model's own folder");
  check(options.overwrite || !path_exists(to / "model.safetensors"),
        "convert: '{}' holds a model already; --overwrite replaces it", options.out);
  const StoredType type = options.dtype == "f32"    ? StoredType::f32
                          : options.dtype == "bf16" ? StoredType::bf16
                                                    : StoredType::i8;
  const TensorFiles files = TensorFiles::open(from);
  std::vector<std::string> names = files.names();
  Json config = read_json(from / "config.json");
  Converted converted(type, catalogue::find(config));
  std::int64_t before = 0;
  const std::size_t left_out = std::erase_if(names, [&](const std::string& name) {
    return !options.without.empty() && name.starts_with(options.without + ".");
  });
  check(options.without.empty() || left_out > 0, "convert: no tensor of '{}' has a name that begins with '{}.'",
        options.model, options.without);
  for (const std::string& name : names) {
    const Safetensors& file = *files.holding(name);
    converted.add(file, file[name]);
    before += static_cast<std::int64_t>(file[name].bytes.size());
  }
  for (const char* key : {"dtype", "torch_dtype"})
    if (config.contains(key)) config[key] = type == StoredType::bf16 ? "bfloat16" : "float32";
  NewFolder folder(to);
  converted.write((folder.path() / "model.safetensors").string());
  copy_rest(from, folder.path());
  write_file(folder.path() / "config.json", config.dump(2) + "\n");
  folder.take_place();
  streams.out << fmt::format("{} tensors, {:.1f} MB -> {:.1f} MB in {}\n", converted.tensors(),
                             static_cast<double>(before) / 1e6, static_cast<double>(converted.bytes()) / 1e6,
                             options.out);
}

}  // namespace

void add_convert_command(Flags& program, const Streams& streams) {
  add_command<ConvertOptions>(
      program, streams,
      {.name = "convert", .help = "Writes a model folder in another number format.", .examples = kConvertExamples},
      [](Flags& flags, ConvertOptions& options) {
        add_model_flag(flags, "model,--model", options.model, "a model's folder").required();
        flags.add("--out", options.out, "the new folder").required();
        flags.add("--dtype", options.dtype, "f32, bf16 or int8").one_of({"f32", "bf16", "int8"});
        flags.add("--without", options.without, "leave out the part of this name: discriminator");
        flags.add("--overwrite", options.overwrite, "replace a model that is in --out");
      },
      run_convert);
}

}  // namespace attend
