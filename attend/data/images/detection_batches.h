// Batches of images with boxes, made ready by threads of their own while the device works. As with labels
// (image_batches.h) a batch is a function of its number, the seed and the settings alone.
//
//   ImageCache reader = reader_of(set, options);
//   DetectionBatches batches({set, reader, items}, options, {.batch = 32, .seed = 1});
//   HostDetectionBatch batch = batches.next();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attend/base/thread_pool.h"
#include "attend/data/epoch_order.h"
#include "attend/data/images/copy_paste.h"
#include "attend/data/images/detection_augmentation.h"
#include "attend/data/images/image_batches.h"
#include "attend/data/prefetch.h"
#include "attend/data/shard.h"

namespace attend::data {

struct HostDetectionBatch {
  std::int64_t side = 0;
  std::vector<float> values = {};                    // [B, side, side, 3], 0 where there is no image
  std::vector<Extent2> sizes = {};                   // of the images in it
  std::vector<std::vector<LabelledBox>> boxes = {};  // in parts of the image
  std::vector<std::int64_t> items = {};              // their numbers in the set
};

// Both must outlive what reads them.
struct DetectionSource {
  const DetectionSet& set;
  ImageCache& reader;
  std::vector<std::int64_t> items;
};
// The set must outlive it.
ImageCache::Source images_of(const DetectionSet& set);

class DetectionBatches {
 public:
  DetectionBatches(DetectionSource source, const DetectionOptions& options, const ImageBatchOptions& batches);

  // The epochs never end.
  HostDetectionBatch next();
  // The number of the batch that next() returns next: all that has to be saved.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position);
  // Which of them are for this process; positions are those of all.
  void take_shard(const Shard& shard) {
    ahead_.reset();
    shard_ = shard;
  }
  // A batch that was used, for its memory.
  void give_back(HostDetectionBatch&& batch) { buffers_.give_back(std::move(batch.values)); }

 private:
  using Ahead = Prefetch<HostDetectionBatch, std::uint64_t>;
  HostDetectionBatch make(std::uint64_t number);
  void make_row(const EpochOrder::Row& row, std::size_t at, HostDetectionBatch& batch) const;
  std::optional<CutOut> cut_out(image::Draws& draws) const;
  // With things of other images in it.
  PastedImage pasted_into(const image::Image& image, std::int64_t item, image::Draws& draws) const;

  struct Cuttable {
    std::int64_t item;
    std::size_t object;
  };
  DetectionSource source_;
  DetectionOptions options_;
  ImageBatchOptions batches_;
  DetectionMaker maker_;
  std::vector<Cuttable> cuttable_;  // what has a mask, where things are pasted
  ThreadPool pool_;
  ImageBuffers buffers_;
  EpochOrder order_;
  std::uint64_t position_ = 0;
  Shard shard_;
  std::unique_ptr<Ahead> ahead_;  // last: its thread uses all of the above
};

// Every image once, in order, as a model that is used sees it. The last batch may be smaller; broken images are
// left out, and so are batches of nothing else.
class ValidationDetections {
 public:
  ValidationDetections(DetectionSource source, const DetectionOptions& options, std::int64_t batch);

  const DetectionSource& source() const { return source_; }
  std::size_t batches() const { return (source_.items.size() + batch_ - 1) / batch_; }
  void for_each(const std::function<void(const HostDetectionBatch& batch)>& use);
  // Likewise of those that are a process's, with their numbers.
  void for_each_of(const Shard& shard, const std::function<void(std::size_t number, const HostDetectionBatch&)>& use);

  // Up to so many, evenly from all of them, as pixels and as a batch of one; broken ones are left out.
  struct Shown {
    image::Image prepared;
    HostDetectionBatch batch;
  };
  std::vector<Shown> some(std::size_t count);

 private:
  HostDetectionBatch make(std::size_t first);

  DetectionSource source_;
  DetectionMaker maker_;
  std::size_t batch_;
  ThreadPool pool_;
};

}  // namespace attend::data
