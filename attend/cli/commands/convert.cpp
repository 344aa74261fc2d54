#include "attend/cli/commands/convert.h"

#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/new_folder.h"
#include "attend/base/paths.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/checkpoint/weight_files.h"
#include "attend/cli/commands/convert_average.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/model_folder.h"

namespace attend::cli {

namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string model, out, dtype, without;
  std::vector<std::string> average;
  bool overwrite = false;
};

constexpr const char* kConvertExamples = R"(
  attend convert path/to/opus-mt --out opus-mt # pytorch_model.bin or shards to model.safetensors
  attend convert path/to/gpt2 --dtype bf16 --out gpt2-bf16 # half the size
  attend convert path/to/gpt2 --dtype int8 --out gpt2-int8 # a quarter of the size, see docs/gpt2.md
  attend convert --average runs/a runs/b runs/c --out soup # the mean of models of one shape: a model soup
  attend convert weights.pt --out weights.safetensors # a single file
  attend convert runs/sagan-cifar10 --without discriminator --out sagan # keep the generator only)";

// Tensors on their way to the new file: made when it is written, one at a time, but for those that become int8.
class Converted {
 public:
  // Without a type, numbers stay as they are.
  Converted(const checkpoint::TensorFile& file, std::optional<checkpoint::StoredType> type,
            const catalogue::Entry* model)
      : file_(file), type_(type), model_(model) {}

  void add(const checkpoint::StoredTensor& tensor) {
    const std::string scale = tensor.name + std::string(checkpoint::kScaleSuffix);
    const bool scaled = tensor.type == checkpoint::StoredType::i8 && file_.find(scale);
    if (!type_ && scaled) keep(file_[scale]);
    if (!type_ || (!is_float(tensor.type) && !scaled)) return keep(tensor);
    const bool matrix = tensor.shape.rank() == 2 || tensor.shape.rank() == 4;
    if (type_ == checkpoint::StoredType::bf16 ||
        (type_ == checkpoint::StoredType::i8 && matrix && looked_up(tensor.name)))
      convert<Bf16>(tensor, checkpoint::StoredType::bf16);
    else if (type_ == checkpoint::StoredType::f32 || !matrix)
      convert<float>(tensor, checkpoint::StoredType::f32);
    else
      quantise(tensor, file_.floats(tensor.name));
  }
  void write(const std::string& path) {
    writer_.set_metadata("format", "pt");
    writer_.write(path);
    file_.check_whole();
  }
  std::size_t tensors() const { return tensors_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  template <class T>
  static std::string_view text_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  // Tables of positions and of token types: added to what they stand beside, and their rows have a few large numbers
  // that would be the scale of all others.
  static bool looked_up(const std::string& name) {
    return name.find("position") != std::string::npos || name.find("wpe.") != std::string::npos ||
           name.find("token_type") != std::string::npos;
  }
  void keep(const checkpoint::StoredTensor& tensor) {
    put(tensor.name, tensor.type, tensor.shape, [this, &tensor](const FileWriter& write) {
      const checkpoint::TensorBytes contents = file_.contents(tensor.name);
      write({reinterpret_cast<const char*>(contents.view().data()), contents.view().size()});
      file_.forget(tensor.name);
    });
  }
  template <class T>
  void convert(const checkpoint::StoredTensor& tensor, checkpoint::StoredType type) {
    put(tensor.name, type, tensor.shape, [this, &tensor](const FileWriter& write) {
      const std::vector<float> values = file_.floats(tensor.name);
      write(text_of(std::vector<T>(values.begin(), values.end())));
      file_.forget(tensor.name);
    });
  }
  void quantise(const checkpoint::StoredTensor& tensor, const std::vector<float>& values) {
    // GPT-2's projections are [in, out], all else is [out, in].
    const bool columns =
        model_ && !model_->input_major.empty() && tensor.name.find(model_->input_major) != std::string::npos;
    checkpoint::Quantised& result = quantised_.emplace_back(attend::checkpoint::quantise(
        values, tensor.shape, columns ? checkpoint::ScaleAxis::columns : checkpoint::ScaleAxis::rows, tensor.name));
    file_.forget(tensor.name);
    put(tensor.name, checkpoint::StoredType::i8, tensor.shape,
        [&](const FileWriter& write) { write(text_of(result.values)); });
    put(tensor.name + std::string(checkpoint::kScaleSuffix), checkpoint::StoredType::f32, result.scale_shape,
        [&](const FileWriter& write) { write(text_of(result.scales)); });
  }
  void put(const std::string& name, checkpoint::StoredType type, const Shape& shape,
           checkpoint::SafetensorsWriter::Source source) {
    bytes_ += shape.size() * static_cast<std::int64_t>(bytes_of(type));
    ++tensors_;
    writer_.add(name, type, shape, std::move(source));
  }

  const checkpoint::TensorFile& file_;
  std::optional<checkpoint::StoredType> type_;
  const catalogue::Entry* model_;  // null: not in the catalogue
  checkpoint::SafetensorsWriter writer_;
  std::list<checkpoint::Quantised> quantised_;  // kept until they are written
  std::size_t tensors_ = 0;
  std::int64_t bytes_ = 0;
};

std::optional<checkpoint::StoredType> type_named(const std::string& dtype) {
  if (dtype.empty()) return std::nullopt;
  return dtype == "f32"    ? checkpoint::StoredType::f32
         : dtype == "bf16" ? checkpoint::StoredType::bf16
                           : checkpoint::StoredType::i8;
}

// Whether another tensor is the same numbers at the same place, and this one only its second name.
bool is_second_name(const checkpoint::TensorFile& file, const checkpoint::StoredTensor& tensor) {
  return checkpoint::is_derived(tensor.name) &&
         std::ranges::any_of(file.tensors(), [&](const checkpoint::StoredTensor& other) {
           return !checkpoint::is_derived(other.name) && other.bytes.data() == tensor.bytes.data() &&
                  !tensor.bytes.empty() && other.type == tensor.type && other.shape == tensor.shape &&
                  other.strides == tensor.strides;
         });
}

std::vector<std::string> names_to_convert(const checkpoint::TensorFiles& files, const ConvertOptions& options) {
  std::vector<std::string> names = files.names();
  const std::size_t left_out = std::erase_if(names, [&](const std::string& name) {
    return !options.without.empty() && name.starts_with(options.without + ".");
  });
  check(options.without.empty() || left_out > 0, "convert: no tensor of '{}' has a name that begins with '{}.'",
        options.model, options.without);
  return names;
}

void say_done(const Streams& streams, const Converted& converted, std::int64_t before, const std::string& out) {
  streams.out << fmt::format("{} tensors, {:.1f} MB -> {:.1f} MB in {}\n", converted.tensors(),
                             static_cast<double>(before) / 1e6, static_cast<double>(converted.bytes()) / 1e6, out);
}

// The other files of the folder: everything that is not weights, of whatever library, or the remains of a training run.
void copy_rest(const fs::path& from, const fs::path& to) {
  constexpr std::string_view kWeights[] = {".safetensors", ".bin",  ".pt",      ".pth", ".h5",
                                           ".onnx",        ".gguf", ".msgpack", ".ot"};
  for (const fs::path& path : files_in(from)) {
    const std::string name = path.filename().string(), kind = path.extension().string();
    const bool tensors = std::ranges::find(kWeights, kind) != std::end(kWeights) || name.ends_with(".index.json");
    const bool run = kind == ".pairs" || kind == ".tokens" || kind == ".jsonl" || kind == ".tfevents" ||
                     name == "curves.csv" || name == "run.json" || name == "run.lock" || is_temporary_name(name);
    if (!tensors && !run && name != "config.json") write_file(to / name, read_file(path));
  }
}

void convert_folder(const ConvertOptions& options, const Streams& streams) {
  const fs::path from = options.model, to(options.out);
  std::error_code ignored;
  check(!path_exists(to) || !fs::equivalent(from, to, ignored), "convert: --out is the model's own folder");
  check(options.overwrite || !path_exists(to / "model.safetensors"),
        "convert: '{}' holds a model already; --overwrite replaces it", options.out);
  const std::optional<checkpoint::StoredType> type = type_named(options.dtype);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(from);
  Json config = read_json(from / "config.json");
  Converted converted(files.all(), type, catalogue::find(config));
  std::int64_t before = 0;
  for (const std::string& name : names_to_convert(files, options)) {
    const checkpoint::StoredTensor& tensor = files.all()[name];
    if (is_second_name(files.all(), tensor)) continue;
    converted.add(tensor);
    before += static_cast<std::int64_t>(tensor.size_in_bytes());
  }
  for (const char* key : {"dtype", "torch_dtype"})
    if (type && config.contains(key)) config[key] = type == checkpoint::StoredType::bf16 ? "bfloat16" : "float32";
  NewFolder folder(to);
  converted.write((folder.path() / "model.safetensors").string());
  copy_rest(from, folder.path());
  write_file(folder.path() / "config.json", config.dump(2) + "\n");
  folder.take_place();
  say_done(streams, converted, before, options.out);
}

// Several models become one. Floats are averaged in f32; other numbers are the first model's.
void convert_average(const ConvertOptions& options, const Streams& streams) {
  check(options.model.empty() && options.without.empty() && options.dtype != "int8",
        "convert: --average takes folders, --dtype f32 or bf16, --out and --overwrite; convert its result to int8");
  const fs::path to(options.out);
  const AveragedModels models(options.average);
  std::error_code ignored;
  for (const std::string& folder : options.average)
    check(!path_exists(to) || !fs::equivalent(folder, to, ignored), "convert: --out is '{}' itself", folder);
  check(options.overwrite || !path_exists(to / "model.safetensors"),
        "convert: '{}' holds a model already; --overwrite replaces it", options.out);
  const bool bf16 = options.dtype == "bf16";
  checkpoint::SafetensorsWriter writer;
  for (const std::string& name : models.names()) {
    const checkpoint::StoredTensor& tensor = models.tensor(name);
    check(is_float(tensor.type) || tensor.type == checkpoint::StoredType::i8,
          "convert: '{}' holds {}, which have no average", name, name_of(tensor.type));
    writer.add(name, bf16 ? checkpoint::StoredType::bf16 : checkpoint::StoredType::f32, tensor.shape,
               [&models, name, bf16](const FileWriter& write) {
                 const std::vector<float> means = models.mean(name);
                 const std::vector<Bf16> halves(means.begin(), bf16 ? means.end() : means.begin());
                 if (bf16)
                   write({reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(Bf16)});
                 else
                   write({reinterpret_cast<const char*>(means.data()), means.size() * sizeof(float)});
               });
  }
  writer.set_metadata("format", "pt");
  NewFolder folder(to);
  writer.write((folder.path() / "model.safetensors").string());
  copy_rest(models.first(), folder.path());
  write_file(folder.path() / "config.json", read_file(models.first() / "config.json"));
  folder.take_place();
  streams.out << fmt::format("{} tensors, the mean of {} models, in {}\n", models.names().size(),
                             options.average.size(), options.out);
}

// A file of weights alone, whose model nobody knows.
void convert_file(const ConvertOptions& options, const Streams& streams) {
  const fs::path from = options.model, to(options.out);
  const std::optional<checkpoint::StoredType> type = type_named(options.dtype);
  check(type != checkpoint::StoredType::i8, "convert: int8 needs the model's folder, with its config.json, not a file");
  check(!is_folder(to), "convert: --out is a folder, and '{}' a file: it becomes a .safetensors file", options.model);
  check(!path_exists(to) || options.overwrite, "convert: '{}' is there already; --overwrite replaces it", options.out);
  std::error_code ignored;
  check(!path_exists(to) || !fs::equivalent(from, to, ignored), "convert: --out is the file itself");
  std::vector<std::string> left_out;
  const checkpoint::TensorFiles files(checkpoint::open_tensor_file(from, left_out));
  Converted converted(files.all(), type, nullptr);
  std::int64_t before = 0;
  for (const std::string& name : names_to_convert(files, options)) {
    converted.add(files.all()[name]);
    before += static_cast<std::int64_t>(files.all()[name].size_in_bytes());
  }
  converted.write(to.string());
  if (!left_out.empty()) streams.err << fmt::format("left out, beside the state dict: {}\n", joined(left_out, ", "));
  say_done(streams, converted, before, options.out);
}

void run_convert(const ConvertOptions& options, const Streams& streams) {
  if (!options.average.empty()) return convert_average(options, streams);
  check(!options.model.empty(), "convert: which model? Name a folder or a file, or several with --average");
  if (is_folder(options.model))
    convert_folder(options, streams);
  else
    convert_file(options, streams);
}

}  // namespace

void add_convert_command(Flags& program, const Streams& streams) {
  add_command<ConvertOptions>(
      program, streams,
      {.name = "convert",
       .help = "Convert a model to safetensors, bf16 or int8, or average several.",
       .examples = kConvertExamples,
       .notes = {"Reads safetensors and PyTorch files (.bin, .pt, .pth) without running any code in them. Shards "
                 "become one file. Names and layout do not change. Converting a file copies tensors that share memory; "
                 "converting a folder drops the copies of the token embedding.",
                 "The int8 format is specific to attend. Matrices and convolutions become I8 with an F32 tensor "
                 "NAME.scale, one scale per output. Position tables become bf16; biases and norms stay f32."}},
      [](Flags& flags, ConvertOptions& options) {
        add_model_file_flag(flags, "model,--model", options.model, "Model folder or weights file");
        flags
            .add("--average", options.average,
                 "Average the weights of these model folders. The other files are those of the first.")
            .group("Model")
            .then([&options] {
              for (std::string& folder : options.average) folder = tasks::find_model(folder).string();
            });
        flags.add("--out", options.out, "Folder or file to write.").takes("PATH").required();
        flags.add("--dtype", options.dtype, "Type of the weights: f32, bf16 or int8. Unchanged by default.")
            .one_of({"f32", "bf16", "int8"});
        flags.add("--without", options.without, "Part of the model to drop, such as discriminator.");
        flags.add("--overwrite", options.overwrite, "Replace existing files in --out.");
      },
      run_convert);
}

}  // namespace attend::cli
