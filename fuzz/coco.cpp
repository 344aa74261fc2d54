// COCO's files: instances, captions and the results that go with them, for scores and as sets to learn from.
#include "attend/data/images/coco_files.h"

#include "attend/data/images/captioned_images.h"
#include "attend/data/images/detection_sets.h"
#include "attend/data/images/object_masks.h"
#include "attend/metrics/captions.h"
#include "attend/metrics/detection.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "instances.json", .schema = R"({
    "images": [[{"id": 1, "file_name": "a.png", "width": 8, "height": 6}], [], {}, [{}], [{"id": 1}, {"id": 1}]],
    "categories": [[{"id": 4, "name": "disc"}, {"id": 5}], [], [{"id": 4}, {"id": 4}], [{"name": "x"}]],
    "annotations": [[{"id": 1, "image_id": 1, "category_id": 4, "bbox": [0, 0, 4, 4], "area": 16, "iscrowd": 0}], [], {}],
    "id": [0, 1, 4, -1, 9223372036854775807, 1.5, "1"], "image_id": [1, 2, -1, "1", 9223372036854775807], "category_id": [4, 5, 9, -1],
    "bbox": [[0, 0, 4, 4], [-1, -1, 100, 100], [0, 0, 0, 0], [1e308, 0, 1e308, 1], [0, 0, 1], [0, 0, -1, 1], [null, 0, 1, 1]],
    "area": [16, 0, -1, 1e308], "iscrowd": [0, 1, 2, true], "score": [0.5, 0, 1, -1, 1e308, "x"],
    "width": [8, 0, -1, 65536, 1e9, 8.5], "height": [6, 0, -1, 2147483648], "name": ["disc", "", 1], "file_name": ["a.png", "../a", "", "/etc", 1],
    "segmentation": [[[0, 0, 4, 0, 4, 4]], [[0, 0]], [[1e308, 1e308, -1e308, 0, 0, 0]], [], {"counts": [1, 2], "size": [8, 6]}, [[0, 0, 1, 0, 1]], "x"],
    "caption": ["a red disc", "", 1, "\u00e9"]})"};

void enter(const Input& input) {
  const auto instances = write("instances.json", input["instances.json"]);
  const auto results = write("results.json", input["results.json"]);
  const auto captions = write("captions.json", input["captions.json"]);
  write("a.png", "no image, but a file");
  attempt([&] {
    const data::Instances truth = data::read_instances(instances);
    const data::DetectionFile found = data::read_detections(results, truth);
    if (found.detections.size() < 100) metrics::coco_scores(truth, found.detections);
  });
  attempt([&] { data::read_coco_set(instances, {.outlines = true}); });
  attempt([&] { data::read_coco_names(instances); });
  attempt([&] { metrics::caption_scores(metrics::captioned(data::read_captions(captions, results).images)); });
  attempt([&] {
    const data::CaptionedImages set = data::read_captioned_images(captions, {.images = folder()});
    must(set.files.size() == set.captions.size(), "every image has captions");
    for (const auto& texts : set.captions) must(!texts.empty(), "and each at least one");
  });
  if (input.has("captions.txt")) {
    const auto flickr = write("captions.txt", input["captions.txt"]);
    const auto names = input.has("names.txt") ? write("names.txt", input["names.txt"]) : std::filesystem::path();
    attempt([&] { data::read_captioned_images(flickr, {.images = folder(), .names = names}); });
    attempt([&] { data::read_captioned_images(flickr); });
  }
  attempt([&] {
    const data::DetectionSet set(instances, {.images = folder(), .masks = true});
    for (std::int64_t i = 0; i < set.size(); ++i) {
      must(set.boxes(i).size() == set.masks(i).size(), "every box has a mask, or none");
      for (const data::LabelledBox& box : set.boxes(i))
        must(box.left >= 0 && box.left <= box.right && box.right <= 1 && box.top >= 0 && box.top <= box.bottom &&
                 box.bottom <= 1,
             "boxes are inside of the image");
    }
  });
}

}  // namespace attend::fuzz
