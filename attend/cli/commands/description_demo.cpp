#include "attend/cli/commands/description_demo.h"

#include <fmt/core.h>

#include "attend/backends.h"
#include "attend/cli/commands/describe.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/shell_word.h"
#include "attend/data/synthetic/painted_dog.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/model_folder.h"

namespace attend::cli {

namespace {

constexpr const char* kCaptioner = "flickr8k";
constexpr int kPainted = 256;

}  // namespace

void run_description_demo(const DescriptionDemoOptions& options, const Streams& streams) {
  const auto model = tasks::find_model(kCaptioner);
  OutputFiles outputs(
      command_files(streams, {.outputs = {{"--png", options.png}}, .model = model.string(), .reads_lines = false}));
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const auto describer = tasks::load_describer(model, *backend);
  const image::Image prepared = describer->prepare(data::paint(data::painted_dog(options.seed), kPainted));
  const tasks::Description said = describer->describe({&prepared, 1}, {.attention = true})[0];
  streams.out << fmt::format(
      "A painted image, what a captioner of {:.1f} million weights that has only seen photos writes about it, and "
      "where "
      "it looked for each word:\n\n  {}\n\n",
      static_cast<double>(describer->parameters.count()) / 1e6, said.text);
  const view::CaptionAttention words = words_seen(prepared, said);
  if (!options.png.empty()) outputs.write(options.png, view::to_png(view::caption_figure(words)));
  outputs.commit();
  streams.out << view::draw(words, streams.out_terminal)
              << called_as(streams.program, fmt::format("\nIn a browser:\n  attend look --model {}\nYour own photos:\n"
                                                        "  attend describe --help\n",
                                                        kCaptioner));
}

}  // namespace attend::cli
