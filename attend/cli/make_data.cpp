#include "attend/cli/make_data.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/cli/command.h"

namespace attend {

namespace {

constexpr const char* kMakeDataExamples = R"(Examples:
  attend make-data scenes --out scenes                                  20,000 pictures and 1,000 unseen ones
  attend make-data scenes --out scenes --count 20000 --size 128 --objects 6 --seed 1 --unseen 1000
  attend make-data scenes --out large --size 256 --objects 10 --format jpeg
Scenes are discs, squares, triangles and digits in ten colours, with boxes, outlines and five captions a picture, in
COCO's files: train/, instances_train.json, captions_train.json; valid/, instances_valid.json, captions_valid.json.
The same seed gives the same pictures, on however many threads.)";

void list_make_data_flags(Flags& flags, MakeDataOptions& options) {
  data::SceneFolderOptions& scenes = options.scenes;
  flags.add("what", options.what, "scenes").one_of({"scenes"}).required();
  flags.add("--out", options.out, "the folder to make; one that is there must be empty").required();
  flags.add("--count", scenes.count, "pictures to learn from").between(0, data::kMostScenes);
  flags.add("--unseen", scenes.unseen, "pictures to validate with; the same for any count")
      .between(0, data::kMostScenes);
  flags.add("--size", scenes.scene.size, "pixels of a picture, both ways")
      .between(data::kLeastSceneSize, data::kMostSceneSize);
  flags.add("--objects", scenes.scene.objects, "of a picture, at most; there is at least one")
      .between(1, data::kMostSceneObjects);
  flags
      .add("--max-iou", scenes.scene.max_iou,
           "how far the boxes of two objects may overlap; up to 0.33, where half of one is hidden")
      .between(0, 1);
  flags.add("--seed", scenes.scene.seed, "another one gives other pictures");
  flags.add("--format", scenes.format, {{"png", data::SceneFormat::png}, {"jpeg", data::SceneFormat::jpeg}},
            "of the pictures: png, jpeg");
  flags.add("--threads", scenes.threads, "0: all cores; the result is the same").between(0, 1024);
}

}  // namespace

void run_make_data(const MakeDataOptions& options, const Streams& streams) {
  data::SceneFolderOptions scenes = options.scenes;
  const InterruptGuard interrupt;
  Progress progress(streams.err,
                    {.label = "painting", .total = scenes.count + scenes.unseen, .terminal = streams.err_terminal});
  scenes.on_progress = [&](std::int64_t done) {
    if (interrupt.requested()) throw Interrupted{interrupt.signal()};
    progress.update(done);
  };
  const data::SceneFolderSummary made = data::write_scenes(options.out, scenes);
  progress.finish();
  streams.out << fmt::format("{}: {} pictures ({:.1f} MB), {} objects, {} captions\n", options.out,
                             with_commas(made.pictures), static_cast<double>(made.bytes) / 1e6,
                             with_commas(made.objects), with_commas(made.captions));
}

void add_make_data_command(Flags& program, const Streams& streams) {
  add_command<MakeDataOptions>(program, streams,
                               {.name = "make-data",
                                .help = "Makes pictures with boxes and captions to learn from.",
                                .examples = kMakeDataExamples},
                               list_make_data_flags, run_make_data);
}

}  // namespace attend
