#include "attend/cli/convert.h"

#include <fmt/format.h>

#include <cstring>
#include <list>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/cli/command.h"
#include "attend/tasks/model_folder.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string model, out, dtype = "bf16";
  bool overwrite = false;
};

constexpr const char* kExamples = R"(Examples:
  attend convert path/to/gpt2 --dtype bf16 --out gpt2-bf16     half the size
  attend convert models/en-fr --dtype f32 --out en-fr-f32
Our folders are Hugging Face's already: names and layout stay as they are, shards become one file.)";

std::vector<std::byte> numbers_as(const Safetensors& file, const std::string& name, StoredType type) {
  const std::vector<float> values = file.floats(name);
  std::vector<std::byte> bytes(values.size() * bytes_of(type));
  if (type == StoredType::f32)
    std::memcpy(bytes.data(), values.data(), bytes.size());
  else
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Bf16 rounded(values[i]);
      std::memcpy(bytes.data() + i * sizeof rounded, &rounded, sizeof rounded);
    }
  return bytes;
}

// The other files of the folder: everything that is not a tensor file or the remains of a training run.
void copy_rest(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string(), kind = entry.path().extension().string();
    const bool tensors = kind == ".safetensors" || name == "model.safetensors.index.json";
    const bool run = kind == ".pairs" || kind == ".tokens" || name == "log.jsonl";
    if (entry.is_regular_file() && !tensors && !run && name != "config.json")
      write_file(to / name, read_file(entry.path()));
  }
}

void run_convert(const ConvertOptions& options, const Streams& streams) {
  const fs::path from = tasks::find_model(options.model), to(options.out);
  check(!fs::exists(to) || !fs::equivalent(from, to), "convert: --out is the model's own folder");
  check(options.overwrite || !fs::exists(to / "model.safetensors"),
        "convert: '{}' holds a model already; --overwrite replaces it", options.out);
  const StoredType type = options.dtype == "f32" ? StoredType::f32 : StoredType::bf16;
  const TensorFiles files = TensorFiles::open(from);
  SafetensorsWriter writer;
  std::list<std::vector<std::byte>> kept;  // until write() has run
  std::int64_t before = 0, after = 0;
  for (const std::string& name : files.names()) {
    const Safetensors& file = *files.holding(name);
    const StoredTensor& tensor = file[name];
    const bool floats = is_float(tensor.type);
    kept.push_back(floats ? numbers_as(file, name, type)
                          : std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end()));
    writer.add(name, floats ? type : tensor.type, tensor.shape, kept.back());
    before += static_cast<std::int64_t>(tensor.bytes.size());
    after += static_cast<std::int64_t>(kept.back().size());
  }
  Json config = read_json(from / "config.json");
  for (const char* key : {"dtype", "torch_dtype"})
    if (config.contains(key)) config[key] = options.dtype == "f32" ? "float32" : "bfloat16";
  fs::create_directories(to);
  copy_rest(from, to);
  write_file(to / "config.json", config.dump(2) + "\n");
  writer.set_metadata("format", "pt");
  writer.write((to / "model.safetensors").string());
  streams.out << fmt::format("{} tensors, {:.1f} MB -> {:.1f} MB in {}\n", kept.size(),
                             static_cast<double>(before) / 1e6, static_cast<double>(after) / 1e6, options.out);
}

}  // namespace

void add_convert_command(Flags& program, const Streams& streams) {
  add_command<ConvertOptions>(
      program, streams,
      {.name = "convert", .help = "Writes a model folder in another number format.", .examples = kExamples},
      [](Flags& flags, ConvertOptions& options) {
        flags.add("model", options.model, "a model's folder, or the name of a shipped one").required();
        flags.add("--out", options.out, "the new folder").required();
        flags.add("--dtype", options.dtype, "f32 or bf16").one_of({"f32", "bf16"});
        flags.add("--overwrite", options.overwrite, "replace a model that is in --out");
      },
      run_convert);
}

}  // namespace attend
