#include "attend/cli/commands/detection_demo.h"

#include <fmt/core.h>

#include <vector>

#include "attend/backends.h"
#include "attend/cli/support/shell_word.h"
#include "attend/data/synthetic/scenes.h"
#include "attend/look/inspect/detection.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/model_folder.h"
#include "attend/view/boxes_figure.h"
#include "attend/view/terminal_image.h"

namespace attend::cli {

namespace {

constexpr const char* kModel = "detr-scenes";
constexpr float kThreshold = 0.7f;
constexpr int kPixels = 48;                         // across, in the terminal
constexpr std::uint64_t kScenes = 2, kBefore = 10;  // a set that no model was trained on, and where it gets interesting

}  // namespace

void run_detection_demo(const DetectionDemoOptions& options, const Streams& streams) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const tasks::Detector detector(tasks::find_model(kModel), *backend);
  const data::SceneOptions scenes{.objects = 4, .seed = kScenes};
  const data::Scene scene = data::make_scene(scenes, data::SceneSet::valid, kBefore + options.seed);
  const image::Image image = data::paint_scene(scene, scenes.size), prepared = detector.prepare(image);
  const image::PixelSize size{image.width, image.height};
  const std::vector<tasks::Detected> found = detector.detect({&prepared, 1}, {&size, 1}, kThreshold)[0];
  streams.out << fmt::format(
      "A scene of {} objects that no training has seen, and what a DETR of {:.1f} million weights finds:\n\n",
      scene.objects.size(), static_cast<double>(detector.parameters()) / 1e6);
  std::vector<view::NamedBox> boxes;
  for (const tasks::Detected& one : found) {
    const std::string& label = detector.labels()[static_cast<std::size_t>(one.label)];
    const auto& [x, y, width, height] = one.box;
    boxes.push_back({x, y, width, height, label, static_cast<std::size_t>(one.label)});
    streams.out << fmt::format("  {:<10} {:5.1f} %   {:3.0f} x {:.0f} pixels at {:.0f}, {:.0f}\n", label,
                               static_cast<double>(100 * one.score), width, height, x, y);
  }
  streams.out << '\n' << view::draw(view::with_outlines(image, boxes, kPixels), {}, streams.out_terminal) << '\n';
  const look::DetectionInspection seen = look::inspect_detection(detector, prepared);
  streams.out << "Where the query of each box looked, the heads of the last layer together:\n"
              << view::draw(look::detection_tiles(seen, kThreshold).queries, streams.out_terminal)
              << called_as(streams.program, fmt::format("\nIn a browser:\n  attend look --model {}\nYour own images:\n"
                                                        "  attend detect --help\n",
                                                        kModel));
}

}  // namespace attend::cli
