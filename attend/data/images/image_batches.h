// Batches of images for training and for validation, made ready by threads of their own while the device works.
//
// Training: the epochs follow one another without a gap, each in an order of its own that visits every image once,
// and a batch is the next so many of them. What a batch holds is a function of its number, the seed and the settings
// alone: the number of threads does not show, and a run resumes at a batch by its number.
//
//   ImageReader reader(images, options.reading());
//   ImageBatches batches(reader, split.train, options, {.batch = 128, .seed = 1});
//   HostImageBatch batch = batches.next();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "attend/base/thread_pool.h"
#include "attend/data/epoch_order.h"
#include "attend/data/ignored_label.h"
#include "attend/data/images/image_augmentation.h"
#include "attend/data/images/image_reader.h"
#include "attend/data/prefetch.h"
#include "attend/data/shard.h"

namespace attend::data {

struct HostImageBatch {
  std::vector<float> values = {};               // [B, H, W, 3]
  std::vector<std::int32_t> labels = {};        // [B]; kIgnoredLabel where there is no image
  std::vector<std::int32_t> other_labels = {};  // [B]: of what was mixed in
  float share = 1;                              // of labels; what is missing from 1 is that of other_labels
  std::int64_t images = 0;                      // rows that are some

  bool operator==(const HostImageBatch&) const = default;
};

struct ImageBatchOptions {
  std::int64_t batch = 128;
  std::uint64_t seed = 1;
};

// Memory of batches that were used, for those to come: asking the system for a batch of 256 x 224 x 224 anew takes as
// long as making a dozen images.
class ImageBuffers {
 public:
  std::vector<float> take(std::size_t values);
  void give_back(std::vector<float>&& values);

 private:
  std::mutex mutex_;
  std::vector<std::vector<float>> spare_;
};

class ImageBatches {
 public:
  // Of the reader's images those that items name, in any order. The reader must outlive this.
  ImageBatches(ImageReader& reader, std::vector<std::int64_t> items, const ImageOptions& options,
               const ImageBatchOptions& batches);

  // The epochs never end.
  HostImageBatch next();
  // The number of the batch that next() returns next: all that has to be saved.
  std::uint64_t position() const { return position_; }
  // Of all batches, which one that is.
  std::uint64_t number() const { return position_ + shard_.rank; }
  void seek(std::uint64_t position);
  // Which of them are for this process; positions are those of all.
  void take_shard(const Shard& shard) {
    ahead_.reset();
    shard_ = shard;
  }
  // Whether batches from the next one on are mixed, where the settings say how. At first they are.
  void mix(bool on);
  // Epochs done at the position.
  double epochs() const;
  // A batch that was used, for its memory.
  void give_back(HostImageBatch&& batch) { buffers_.give_back(std::move(batch.values)); }

 private:
  using Ahead = Prefetch<HostImageBatch, std::uint64_t>;

  HostImageBatch make(std::uint64_t number);
  Flip flip_of(const EpochOrder::Row& row) const;
  // Into values; returns the label.
  std::int32_t make_row(const EpochOrder::Row& row, std::span<float> values) const;

  ImageReader& reader_;
  std::vector<std::int64_t> items_;
  ImageOptions options_;
  ImageBatchOptions batches_;
  ImageMaker maker_;
  ThreadPool pool_;
  ImageBuffers buffers_;
  EpochOrder order_;
  std::uint64_t position_ = 0;
  Shard shard_;
  bool mixes_ = true;
  std::unique_ptr<Ahead> ahead_;  // last: its thread uses all of the above
};

struct ValidationOptions {
  std::int64_t batch = 128;
  std::int64_t workers = 0;
};

// Every image once, in order, as a model that is used sees it.
class ValidationImages {
 public:
  // The reader must outlive this. The preprocessor makes all images one size.
  ValidationImages(ImageReader& reader, std::vector<std::int64_t> items, const image::PreprocessorConfig& preprocessor,
                   const ValidationOptions& options);

  std::int64_t batches() const;
  // All batches, one after the other; those to come are made meanwhile. Rows behind the last image, and those of
  // broken ones, are zeros with kIgnoredLabel, so that every batch has the same shape.
  void for_each(const std::function<void(const HostImageBatch& batch)>& use);
  // Likewise of those that are a process's, with their numbers.
  void for_each_of(const Shard& shard, const std::function<void(std::size_t number, const HostImageBatch&)>& use);

  // Up to so many, evenly from all of them, as pixels the model sees; broken ones are left out.
  struct Shown {
    image::Image prepared;
    std::int32_t label = 0;
  };
  std::vector<Shown> some(std::size_t count);
  const image::Normalization& normalization() const { return normalization_; }

 private:
  HostImageBatch make(std::int64_t number);

  ImageReader& reader_;
  std::vector<std::int64_t> items_;
  image::Preprocessor preprocessor_;
  image::Normalization normalization_;
  ValidationOptions options_;
  image::PixelSize size_;
  ThreadPool pool_;
};

}  // namespace attend::data
