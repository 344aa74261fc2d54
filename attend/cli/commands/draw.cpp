#include "attend/cli/commands/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/image_generator.h"
#include "attend/view/drawing_grid.h"
#include "attend/view/tiles_figure.h"

namespace attend::cli {

namespace {

struct DrawOptions {
  DeviceFlags device;
  std::string model, of_class, out, png, svg, walk_class, attention;
  std::int64_t count = 16, columns = 0;
  std::uint64_t seed = 1, walk = 0;
  bool walks = false, show = false;
  FigureFlags figure = {};
};

constexpr std::int64_t kMostDrawings = 10000;
constexpr double kGridPixels = 1;  // of a grid for one of its units
constexpr std::size_t kShown = 4;  // drawings whose attention is drawn

constexpr const char* kDrawExamples = R"(
  attend draw --model sagan-cifar10 --class dog --out dogs.png # 16 dogs
  attend draw --model sagan-cifar10 --class dog --count 3 --show # show them in the terminal
  attend draw --model sagan-cifar10 --out all.png --count 100 # all classes in turn
  attend draw --model sagan-cifar10 --class dog --walk 7 --out walk.png # interpolate between two seeds
  attend draw --model sagan-cifar10 --class dog --walk-class cat --out w.png # interpolate from dog to cat
  attend draw --model sagan-cifar10 --class dog --out d.png --show-attention attention.png)";

// What is drawn: of one class, or of all in turn; or on the way from one noise or class to another.
std::vector<tasks::DrawingPlan> plans_of(const DrawOptions& options, const tasks::ImageGenerator& drawer) {
  const std::size_t classes = drawer.model().config().labels.size();
  const bool one = !options.of_class.empty(), to_class = !options.walk_class.empty();
  check(one || !(options.walks || to_class), "draw: a walk needs --class, to begin with");
  const std::size_t from = one ? drawer.class_named(options.of_class) : 0;
  const std::size_t to = to_class ? drawer.class_named(options.walk_class) : from;
  std::vector<tasks::DrawingPlan> plans;
  for (std::int64_t i = 0; i < options.count; ++i) {
    const auto number = static_cast<std::size_t>(i);
    if (!options.walks && !to_class) {
      plans.push_back(one ? drawer.plan(from, options.seed, number)
                          : drawer.plan(number % classes, options.seed, number / classes));
      continue;
    }
    const float share = options.count > 1 ? static_cast<float>(i) / static_cast<float>(options.count - 1) : 0.0f;
    tasks::DrawingPlan plan = drawer.plan(from, options.seed, 0);
    if (options.walks) plan.noise = tasks::between(plan.noise, drawer.plan(from, options.walk, 0).noise, share);
    plan.classes[from] = 1 - share;
    plan.classes[to] += share;
    plans.push_back(std::move(plan));
  }
  return plans;
}

// The ending says what is written, so that no .jpg holds a PNG.
void check_ending(const std::string& flag, const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  check(path.empty() || ending == ".png" || ending == ".svg", "draw: {} writes .png or .svg, not '{}'", flag, path);
}

// SVG or PNG, by the name.
void write_figure(const std::string& path, const view::Figure& image, const FigureFlags& flags, OutputFiles& outputs) {
  const bool svg = std::filesystem::path(path).extension() == ".svg";
  outputs.write(path, svg ? svg_of(image, flags) : png_of(image, flags, kGridPixels));
}

// The middle of the drawing, and of its four quarters.
std::vector<view::LookingPlaces::Place> places_in(std::size_t rows, std::size_t columns) {
  return {{rows / 2, columns / 2},
          {rows / 4, columns / 4},
          {rows / 4, columns - 1 - columns / 4},
          {rows - 1 - rows / 4, columns / 4},
          {rows - 1 - rows / 4, columns - 1 - columns / 4}};
}

view::Figure attention_figure(const tasks::ImageGenerator& drawer, std::span<const tasks::DrawingPlan> plans) {
  const std::vector<models::AttentionPlace> where = drawer.model().attention_places();
  check(!where.empty(), "draw: the model has no attention to show (its attention_stage is 0)");
  const models::AttentionPlace& place = where.back();
  view::Collector collector(place.label);
  const std::vector<image::Image> drawn = drawer.draw(plans, &collector);
  std::vector<view::LookingPlaces> all;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    view::LookingPlaces looking{.drawing = drawn[i],
                                .rows = static_cast<std::size_t>(place.queries.h),
                                .columns = static_cast<std::size_t>(place.queries.w),
                                .key_rows = static_cast<std::size_t>(place.keys.h),
                                .key_columns = static_cast<std::size_t>(place.keys.w)};
    const std::vector<float> matrix = collector.at(place.label).matrix(static_cast<std::int64_t>(i));
    const std::size_t keys = looking.key_rows * looking.key_columns;
    looking.places = places_in(looking.rows, looking.columns);
    for (view::LookingPlaces::Place& each : looking.places) {
      const auto row = matrix.begin() + static_cast<std::ptrdiff_t>((each.row * looking.columns + each.column) * keys);
      each.weights.assign(row, row + static_cast<std::ptrdiff_t>(keys));
    }
    all.push_back(std::move(looking));
  }
  return view::looking_places(all);
}

// In the terminal, each under the class that it is most of.
std::string shown_text(const tasks::ImageGenerator& drawer, std::span<const tasks::DrawingPlan> plans,
                       const std::vector<image::Image>& drawn, const Terminal& terminal) {
  std::vector<view::Tile> tiles;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto most = std::ranges::max_element(plans[i].classes) - plans[i].classes.begin();
    tiles.push_back({printable(drawer.model().config().labels[static_cast<std::size_t>(most)]), drawn[i]});
  }
  return view::draw(tiles, terminal);
}

void run_draw(const DrawOptions& options, const Streams& streams) {
  const bool grid_wanted = !options.out.empty() || !options.png.empty() || !options.svg.empty();
  check(grid_wanted || options.show || !options.attention.empty(),
        "draw: where to? --png grid.png, --svg grid.svg, --show or --show-attention where.png");
  check_ending("--out", options.out);
  check_ending("--show-attention", options.attention);
  OutputFiles outputs(command_files(streams, {.outputs = {{"--out", options.out},
                                                          {"--png", options.png},
                                                          {"--svg", options.svg},
                                                          {"--show-attention", options.attention}},
                                              .model = options.model,
                                              .reads_lines = false}));
  const auto backend = options.device.open();
  const tasks::ImageGenerator drawer(options.model, *backend, options.device.type());
  const std::vector<tasks::DrawingPlan> plans = plans_of(options, drawer);
  if (!options.attention.empty())
    write_figure(options.attention, attention_figure(drawer, std::span(plans).first(std::min(kShown, plans.size()))),
                 options.figure, outputs);
  if (grid_wanted || options.show) {
    const std::vector<image::Image> drawn = drawer.draw(plans);
    if (options.show) streams.out << shown_text(drawer, plans, drawn, streams.out_terminal);
    const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(drawn.size()))));
    const view::Figure grid =
        view::drawing_grid(drawn, options.columns > 0 ? static_cast<std::size_t>(options.columns) : square);
    if (!options.out.empty()) write_figure(options.out, grid, options.figure, outputs);
    if (!options.png.empty()) outputs.write(options.png, png_of(grid, options.figure, kGridPixels));
    if (!options.svg.empty()) outputs.write(options.svg, svg_of(grid, options.figure));
  }
  outputs.commit();
  for (const std::string& path : {options.out, options.png, options.svg, options.attention})
    if (!path.empty()) streams.out << path << '\n';
}

}  // namespace

void add_draw_command(Flags& program, const Streams& streams) {
  add_command<DrawOptions>(
      program, streams,
      {.name = "draw",
       .help = "Generate images of a class from noise (SAGAN).",
       .examples = kDrawExamples,
       .notes = {"The same model, seed and class generate the same image."}},
      [](Flags& flags, DrawOptions& options) {
        add_model_flag(flags, options.model, "Model folder of attend train --task draw").required();
        flags.add("--class", options.of_class, "Class to generate. By default all classes in turn.");
        flags.add("--count", options.count, "Number of images.").between(1, kMostDrawings);
        flags.add("--columns", options.columns, "Columns of the grid; 0 makes it square.").between(0, kMostDrawings);
        flags.add("--seed", options.seed, "Random seed for the noise.");
        flags.add("--walk", options.walk, "Interpolate to the first image of this seed.")
            .then([&options] { options.walks = true; })
            .shown_as("");
        flags.add("--walk-class", options.walk_class, "Interpolate to this class.");
        flags.add("--out", options.out, "File for the image grid, .png or .svg.");
        flags.add("--png", options.png, "Write the grid as PNG.");
        flags.add("--svg", options.svg, "Write the grid as SVG.");
        flags.add("--show", options.show, "Show the images in the terminal.");
        flags.add(
            "--show-attention", options.attention,
            "Write a figure (.png or .svg) with the attention weights of five positions in the first four images.");
        add_figure_flags(flags, options.figure);
        add_device_flags(flags, options.device);
      },
      run_draw);
}

}  // namespace attend::cli
