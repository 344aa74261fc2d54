#include "attend/cli/commands/detect.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/coco_images.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/image_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/data/images/coco_files.h"
#include "attend/look/inspect/detection.h"
#include "attend/tasks/detector.h"
#include "attend/view/boxes_figure.h"
#include "attend/view/figure_layout.h"
#include "attend/view/terminal_image.h"
#include "attend/view/tiles_figure.h"

namespace attend::cli {

namespace {

struct DetectCommand : DeviceFlags {
  std::string model, json_file, images, png_file, svg_file;
  FigureFlags figure;
  std::vector<std::string> files;
  float threshold = 0.7f;
  std::int64_t batch = 4, max_pixels = limits::kMostPixels;
  bool show = false, show_attention = false;
};

constexpr const char* kDetectExamples = R"(
  attend detect --model detr-resnet-50 street.jpg # prints file, label, score, x, y, width, height
  attend detect --model detr-resnet-50 street.jpg --png found.png # draw the boxes on the image
  attend detect --model runs/detr-scenes scenes/valid --show # show each image in the terminal
  attend detect --model runs/detr-scenes scene.png --show-attention # with the attention weights of each box
  attend detect --model detr street.jpg --json - # print COCO results
  attend detect --model detr photos/ --threshold 0 --images instances_val.json --json found.json
  attend score --metric coco --ground-truth instances_val.json --predictions found.json # COCO AP of these results)";

// --json -: to standard output, in place of the lines.
bool prints_results(const DetectCommand& options) { return options.json_file == "-"; }

constexpr int kTerminalPixels = 40;  // as wide as view::draw makes an image

// COCO's numbers of images and categories: those of a file, else the place on the command line, counted from 1, and
// the model's own labels.
class CocoIds {
 public:
  CocoIds(const DetectCommand& options, const std::vector<std::string>& files, const std::vector<std::string>& labels)
      : images_(files) {
    for (std::size_t i = 0; i < labels.size(); ++i) categories_.push_back(static_cast<std::int64_t>(i));
    if (options.images.empty()) return;
    const data::CocoSet set = data::read_coco_set(options.images);
    std::vector<data::CocoName> names;
    for (const data::CocoImage& image : set.images) names.push_back({image.id, image.file});
    images_ = CocoImages(files, names, {"detect", options.images});
    std::fill(categories_.begin(), categories_.end(), kNone);
    for (const data::Category& category : set.truth.categories)
      if (const auto found = std::ranges::find(labels, category.name); found != labels.end())
        categories_[static_cast<std::size_t>(found - labels.begin())] = category.id;
    check(std::ranges::any_of(categories_, [](std::int64_t id) { return id != kNone; }),
          "detect: {} has none of the model's labels ('{}' is one) among its categories", options.images,
          labels.empty() ? "" : labels.front());
  }

  static constexpr std::int64_t kNone = -1;
  std::int64_t image(const std::string& file) const { return images_.id(file); }
  std::int64_t category(std::int32_t label) const { return categories_[static_cast<std::size_t>(label)]; }

 private:
  CocoImages images_;
  std::vector<std::int64_t> categories_;  // by label
};

// Where what was found goes: lines, a terminal, files.
class DetectOutput {
 public:
  DetectOutput(const DetectCommand& options, const std::vector<std::string>& files, const tasks::Detector& detector,
               const Streams& streams, OutputFiles& outputs)
      : options_(options),
        detector_(detector),
        streams_(streams),
        outputs_(outputs),
        ids_(options, files, detector.labels()) {}

  void add(const std::string& file, const image::Image& image, const std::vector<tasks::Detected>& found) {
    ++images_;
    std::vector<view::NamedBox> boxes;
    for (const tasks::Detected& one : found) {
      const std::string& label = detector_.labels()[static_cast<std::size_t>(one.label)];
      const auto& [x, y, width, height] = one.box;
      if (!prints_results(options_))
        streams_.out << fmt::format("{}\t{}\t{:.4f}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.1f}\n", printable(file),
                                    printable(label), one.score, x, y, width, height);
      boxes.push_back(
          {x, y, width, height, fmt::format("{} {:.2f}", label, one.score), static_cast<std::size_t>(one.label)});
      if (!options_.json_file.empty() && ids_.category(one.label) != CocoIds::kNone)
        results_.push_back({{"image_id", ids_.image(file)},
                            {"category_id", ids_.category(one.label)},
                            {"bbox", Json::array({x, y, width, height})},
                            {"score", one.score}});
    }
    if (options_.show || options_.show_attention)
      streams_.out << view::draw(view::with_outlines(image, boxes, kTerminalPixels), {}, streams_.out_terminal) << '\n';
    std::vector<view::Tile> tiles;
    if (options_.show_attention && !found.empty()) {
      const look::DetectionInspection seen = look::inspect_detection(detector_, detector_.prepare(image));
      tiles = look::detection_tiles(seen, options_.threshold).queries;
      streams_.out << view::draw(tiles, streams_.out_terminal) << '\n';
    }
    if (options_.png_file.empty() && options_.svg_file.empty()) return;
    view::Figure page = view::boxes_figure(image, boxes);
    if (!tiles.empty()) page = view::stacked({page, view::tiles_figure(tiles, {.title = "where each query looks"})});
    if (!options_.png_file.empty()) outputs_.write(numbered(options_.png_file, images_), png_of(page, options_.figure));
    if (!options_.svg_file.empty()) outputs_.write(numbered(options_.svg_file, images_), svg_of(page, options_.figure));
  }

  void finish() {
    const std::string text = results_.dump() + "\n";
    if (prints_results(options_))
      streams_.out << text << std::flush;
    else if (!options_.json_file.empty())
      outputs_.write(options_.json_file, text);
    outputs_.commit();
  }

 private:
  const DetectCommand& options_;
  const tasks::Detector& detector_;
  const Streams& streams_;
  OutputFiles& outputs_;
  CocoIds ids_;
  Json results_ = Json::array();
  std::int64_t images_ = 0;
};

OutputFiles::Options files_of(const DetectCommand& options, const std::vector<std::string>& files,
                              const Streams& streams) {
  CommandFiles command{.files = files, .model = options.model};
  if (!prints_results(options)) command.outputs.push_back({"--json", options.json_file});
  for (const auto& figures :
       {figures_of("--png", options.png_file, files.size()), figures_of("--svg", options.svg_file, files.size())})
    command.outputs.insert(command.outputs.end(), figures.begin(), figures.end());
  command.files.push_back(options.images);
  return command_files(streams, std::move(command));
}

void run_detect(const DetectCommand& options, const Streams& streams) {
  check(options.images.empty() || !options.json_file.empty(), "detect: --images is for the numbers in --json FILE");
  check(!prints_results(options) || !(options.show || options.show_attention),
        "detect: --json - writes to where --show draws; name a file");
  check_results(options.json_file, "detect");
  const std::vector<std::string> files = image_files(options.files, "detect");
  OutputFiles outputs(files_of(options, files, streams));
  const auto backend = options.open();
  const tasks::Detector detector(options.model, *backend, options.format());
  DetectOutput output(options, files, detector, streams, outputs);
  const ImageInput input{.arguments = files,
                         .batch = options.batch,
                         .max_pixels = options.max_pixels,
                         .command = "detect",
                         .prepare = [](image::ImageRows& image) { return image.whole(); }};
  const auto detect = [&](const ImageBatch& batch) {
    std::vector<image::Image> prepared;
    std::vector<image::PixelSize> sizes;
    for (const image::Image& image : batch.images) {
      prepared.push_back(detector.prepare(image));
      sizes.push_back({image.width, image.height});
    }
    const auto found = detector.detect(prepared, sizes, options.threshold);
    for (std::size_t i = 0; i < found.size(); ++i) output.add(batch.files[i], batch.images[i], found[i]);
  };
  try {
    for_each_image_batch(input, streams, detect);
  } catch (const UnreadImages&) {
    output.finish();
    throw;
  }
  output.finish();
}

}  // namespace

void add_detect_command(Flags& program, const Streams& streams) {
  add_command<DetectCommand>(
      program, streams,
      {.name = "detect",
       .help = "Detect objects in images (DETR).",
       .examples = kDetectExamples,
       .notes = {"Boxes are in pixels of the image, from its upper left corner. With several images, --png writes "
                 "NAME.png, NAME-2.png, ..."}},
      [](Flags& flags, DetectCommand& options) {
        flags.add("files", options.files, "Images or folders of images.");
        add_model_flag(flags, options.model, "DETR folder from the Hugging Face hub or attend train").required();
        flags.add("--threshold", options.threshold, "Minimum score; 0 keeps the box of every query.")
            .group("Output")
            .between(0, 1);
        flags.add("--json", options.json_file,
                  "Write a COCO results file with image_id, category_id, bbox and score; - prints it.");
        flags.add("--images", options.images, "COCO instances_*.json with the image and category ids for --json.");
        flags.add("--png", options.png_file, "Write the image with its boxes as PNG.");
        flags.add("--svg", options.svg_file, "Write the image with its boxes as SVG.");
        add_figure_flags(flags, options.figure);
        flags.add("--show", options.show, "Show the image with its boxes in the terminal.");
        flags.add("--show-attention", options.show_attention, "Also show the attention weights of each box.");
        flags.add("--batch", options.batch, "Images per batch, padded to one size.");
        add_max_pixels_flag(flags, options.max_pixels);
        add_device_flags(flags, options);
        add_weights_flag(flags, options);
      },
      run_detect);
}

}  // namespace attend::cli
