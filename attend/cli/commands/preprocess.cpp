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

constexpr const char* kPreprocessExamples = R"(
  attend preprocess --model vit-base cat.jpg dog.png --out pixels.safetensors # pixel_values [2, 3, 224, 224]
  attend preprocess --model detr-resnet-50 photos --out pixels.safetensors # a whole folder, with pixel_mask
  attend preprocess --model vit-base/preprocessor_config.json cat.jpg --out pixels.safetensors --json)";

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
      {.name = "preprocess",
       .help = "Write the preprocessed pixel values of images.",
       .examples = kPreprocessExamples,
       .notes = {"The format (JPEG, PNG, WebP) is detected from the file contents. Values match transformers 5; with "
                 "--backend pil, earlier versions, which resize with Pillow."}},
      [](Flags& flags, PreprocessOptions& options) {
        add_model_file_flag(flags, "--model", options.model,
                            "Model folder with preprocessor_config.json (or timm's config.json), or that file")
            .required();
        flags.add("images", options.images, "Images or folders of images.").required();
        flags.add("--out", options.out, "The .safetensors file to write.").required();
        flags
            .add("--backend", options.backend,
                 "Resize like this transformers backend: torchvision (the default) or pil. Pixel values differ by up "
                 "to 1.")
            .one_of({"torchvision", "pil"});
        flags.add("--json", options.json, "Print the sizes as one JSON object.");
        add_max_pixels_flag(flags, options.max_pixels);
        flags.add("--as-stored", options.as_stored, "Ignore the EXIF orientation.");
      },
      run_preprocess);
}

}  // namespace attend::cli
