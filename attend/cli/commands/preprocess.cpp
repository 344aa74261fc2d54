#include "attend/cli/commands/preprocess.h"

#include <fmt/core.h>

#include <ostream>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/image_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/image/decode.h"
#include "attend/image/preprocessor.h"

namespace attend::cli {

namespace {

constexpr const char* kPreprocessExamples = R"(Examples:
  attend preprocess --model vit-base cat.jpg dog.png --out pixels.safetensors      pixel_values [2, 3, 224, 224]
  attend preprocess --model detr-resnet-50 photos --out pixels.safetensors         all of a folder; pixel_mask as well
  attend preprocess --model vit-base/preprocessor_config.json cat.jpg --out pixels.safetensors --json
JPEG, PNG and WebP are told apart by what is in them. Numbers are those of transformers 5; with --backend pil, of
older versions, whose resizes are Pillow's.)";

struct Seen {
  std::string file;
  int width, height;  // as it was
};

Json summary_of(const PreprocessOptions& options, const image::Pixels& pixels, const std::vector<Seen>& seen,
                const std::vector<image::Image>& prepared) {
  Json list = Json::array();
  for (std::size_t i = 0; i < seen.size(); ++i)
    list.push_back({{"file", seen[i].file},
                    {"width", seen[i].width},
                    {"height", seen[i].height},
                    {"prepared_width", prepared[i].width},
                    {"prepared_height", prepared[i].height}});
  Json summary = {{"out", options.out}, {"images", std::move(list)}};
  summary["pixel_values"] = Json::array({pixels.batch, 3, pixels.height, pixels.width});
  if (!pixels.mask.empty()) summary["pixel_mask"] = Json::array({pixels.batch, pixels.height, pixels.width});
  return summary;
}

}  // namespace

void run_preprocess(const PreprocessOptions& options, const Streams& streams) {
  auto config = image::PreprocessorConfig::load(options.model);
  if (!options.backend.empty())
    config.set_backend(options.backend == "pil" ? image::ImageBackend::pil : image::ImageBackend::torchvision);
  const image::Preprocessor preprocessor(std::move(config));
  const std::vector<std::string> files = image_files(options.images, "preprocess");
  OutputFiles outputs(
      command_files(streams, {.outputs = {{"--out", options.out}}, .files = files, .model = options.model}));
  std::vector<Seen> seen;
  std::vector<image::Image> prepared;
  for (const std::string& file : files) {
    const auto rows = image::open_rows(file, {.upright = !options.as_stored, .most_pixels = options.max_pixels});
    seen.push_back({file, rows->width(), rows->height()});
    try {
      prepared.push_back(preprocessor.prepare(*rows));
    } catch (const Error& error) {
      const std::string_view what = error.what();
      fail("{}{}", what.starts_with(file) ? "" : file + ": ", what);
    }
  }
  const image::Pixels pixels = preprocessor.stack(prepared);
  checkpoint::SafetensorsWriter writer;
  writer.add("pixel_values", Shape{pixels.batch, 3, pixels.height, pixels.width}, pixels.values);
  if (!pixels.mask.empty()) writer.add("pixel_mask", Shape{pixels.batch, pixels.height, pixels.width}, pixels.mask);
  outputs.write(options.out, [&](const FileWriter& write) { writer.produce(write); });
  outputs.commit();
  if (options.json) {
    streams.out << summary_of(options, pixels, seen, prepared).dump() << '\n';
    return;
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    streams.out << fmt::format("{}  {} x {} -> {} x {}\n", seen[i].file, seen[i].width, seen[i].height,
                               prepared[i].width, prepared[i].height);
  streams.out << fmt::format("{}: pixel_values [{}, 3, {}, {}]{}\n", options.out, pixels.batch, pixels.height,
                             pixels.width, pixels.mask.empty() ? "" : ", pixel_mask");
}

void add_preprocess_command(Flags& program, const Streams& streams) {
  add_command<PreprocessOptions>(
      program, streams,
      {.name = "preprocess", .help = "Writes what a model sees of images.", .examples = kPreprocessExamples},
      [](Flags& flags, PreprocessOptions& options) {
        add_model_file_flag(flags, "--model", options.model,
                            "a folder with preprocessor_config.json (or timm's config.json), or the file itself")
            .required();
        flags.add("images", options.images, "files, and folders of them").required();
        flags.add("--out", options.out, "the .safetensors to write").required();
        flags
            .add("--backend", options.backend,
                 "resize as this backend of transformers does: torchvision (its default) or pil, up to 1 apart")
            .one_of({"torchvision", "pil"});
        flags.add("--json", options.json, "print the sizes as one JSON object");
        add_max_pixels_flag(flags, options.max_pixels);
        flags.add("--as-stored", options.as_stored, "do not turn images upright as their EXIF orientation says");
      },
      run_preprocess);
}

}  // namespace attend::cli
