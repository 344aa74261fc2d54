#include "attend/data/images/image_batches.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <span>
#include <string>

#include "attend/base/error.h"
#include "attend/data/images/image_work.h"

namespace attend::data {

std::vector<float> ImageBuffers::take(std::size_t values) {
  std::vector<float> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      buffer = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  buffer.resize(values);
  return buffer;
}

void ImageBuffers::give_back(std::vector<float>&& values) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < static_cast<std::size_t>(kMostBatchesAhead)) spare_.push_back(std::move(values));
}

ImageBatches::ImageBatches(ImageReader& reader, std::vector<std::int64_t> items, const ImageOptions& options,
                           const ImageBatchOptions& batches)
    : reader_(reader),
      items_(std::move(items)),
      options_(options),
      batches_(batches),
      maker_(options),
      pool_(static_cast<int>(options.workers)),
      order_(static_cast<std::uint64_t>(items_.size()), static_cast<std::uint64_t>(batches.batch), batches.seed) {
  check_image_items(items_, reader.images().size());
  check_image_batch(batches.batch, static_cast<std::int64_t>(maker_.values()));
}

double ImageBatches::epochs() const {
  return static_cast<double>(position_) * static_cast<double>(batches_.batch) / static_cast<double>(items_.size());
}

void ImageBatches::seek(std::uint64_t position) {
  order_.check_batch(position);
  ahead_.reset();
  position_ = position;
}

void ImageBatches::mix(bool on) {
  if (on == mixes_) return;
  ahead_.reset();  // those that lie ready are made again
  mixes_ = on;
}

HostImageBatch ImageBatches::next() {
  if (!ahead_) {
    const auto make_next = [this, number = position_]() mutable -> Ahead::Entry {
      HostImageBatch batch = make(number + shard_.rank);
      number += shard_.size;
      return {std::move(batch), number};
    };
    ahead_ =
        std::make_unique<Ahead>(make_next, batches_ahead(static_cast<std::size_t>(batches_.batch) * maker_.values()));
  }
  Ahead::Entry entry = ahead_->next();
  position_ = entry.after;
  return std::move(entry.item);
}

// An image that is flipped in the first epoch is not in the second, and so on.
Flip ImageBatches::flip_of(const EpochOrder::Row& row) const {
  if (!options_.alternate_flip) return Flip::by_chance;
  image::Draws draws(image_seed(batches_.seed, ImageStream::flip, 0), static_cast<std::uint32_t>(items_[row.item]));
  return draws.chance(0.5) == (row.epoch % 2 == 0) ? Flip::yes : Flip::no;
}

std::int32_t ImageBatches::make_row(const EpochOrder::Row& row, std::span<float> values) const {
  const auto number = static_cast<std::uint32_t>(items_[row.item]);
  image::Draws draws(image_seed(batches_.seed, ImageStream::augment, row.epoch), number);
  for (std::size_t i = 0; i < items_.size(); ++i) {  // the next one takes the place of one that cannot be read
    const std::int64_t item = items_[(row.item + i) % items_.size()];
    const std::shared_ptr<const image::Image> image = reader_.read(item);
    if (!image) continue;
    maker_(*image, draws, values, flip_of(row));
    return reader_.images().label(item);
  }
  const std::vector<std::string> broken = reader_.broken();
  fail("none of the {} images can be read; the first of them: {}", items_.size(), broken.empty() ? "" : broken[0]);
}

HostImageBatch ImageBatches::make(std::uint64_t number) {
  const std::vector<EpochOrder::Row> rows = order_.batch(number);
  const std::size_t count = rows.size(), one = maker_.values();
  const int size = static_cast<int>(options_.image_size);
  HostImageBatch batch{.values = buffers_.take(count * one), .labels = std::vector<std::int32_t>(count)};
  batch.images = batches_.batch;
  image::Draws draws(image_seed(batches_.seed, ImageStream::mix, number), 0);
  const image::Mixing mixing = {.mixup = options_.mixup, .cutmix = options_.cutmix};
  const image::Mix mix = mixes_ ? image::random_mix(size, size, mixing, draws) : image::Mix();

  std::vector<std::exception_ptr> errors(count);
  const auto make_one = guarded(errors, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    batch.labels[at] = make_row(rows[at], std::span(batch.values).subspan(at * one, one));
  });
  const auto mix_row = [&](std::int64_t y) {
    image::apply(mix, batch.values, batches_.batch, size, size, static_cast<int>(y), static_cast<int>(y) + 1);
  };
  pool_.run({ThreadPool::each(batches_.batch, make_one),
             ThreadPool::each(mix.kind == image::Mix::Kind::none ? 0 : options_.image_size, mix_row)});
  rethrow_first(errors);

  batch.other_labels = batch.labels;
  if (mix.kind == image::Mix::Kind::none) return batch;
  std::rotate(batch.other_labels.begin(), batch.other_labels.end() - 1, batch.other_labels.end());  // the one in front
  batch.share = static_cast<float>(mix.share);
  return batch;
}

ValidationImages::ValidationImages(ImageReader& reader, std::vector<std::int64_t> items,
                                   const image::PreprocessorConfig& preprocessor, const ValidationOptions& options)
    : reader_(reader),
      items_(std::move(items)),
      preprocessor_(preprocessor),
      normalization_(preprocessor.rescale, preprocessor.mean, preprocessor.std),
      options_(options),
      size_(preprocessor.crop ? *preprocessor.crop : preprocessor.resize.size),
      pool_(static_cast<int>(options.workers)) {
  check(preprocessor.crop || preprocessor.resize.kind == image::SizeRule::Kind::exact,
        "validation: the preprocessor makes images of different sizes, and a batch takes one");
  check_image_items(items_, reader.images().size());
  check_image_batch(options.batch, std::int64_t{3} * size_.width * size_.height);
}

std::int64_t ValidationImages::batches() const {
  return (static_cast<std::int64_t>(items_.size()) + options_.batch - 1) / options_.batch;
}

HostImageBatch ValidationImages::make(std::int64_t number) {
  const auto count = static_cast<std::size_t>(options_.batch);
  const std::size_t one =
      std::size_t{3} * static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height);
  const std::size_t first = static_cast<std::size_t>(number) * count, filled = std::min(count, items_.size() - first);
  HostImageBatch batch{.values = std::vector<float>(count * one),
                       .labels = std::vector<std::int32_t>(count, kIgnoredLabel)};
  std::vector<std::exception_ptr> errors(count);
  const auto make_one = guarded(errors, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t item = items_[first + at];
    const std::shared_ptr<const image::Image> image = reader_.read(item);
    if (!image) return;
    image::to_floats(preprocessor_.prepare(*image), normalization_, batch.values.data() + at * one);
    batch.labels[at] = reader_.images().label(item);
  });
  pool_.run({ThreadPool::each(static_cast<std::int64_t>(filled), make_one)});
  rethrow_first(errors);
  batch.other_labels = batch.labels;
  batch.images = static_cast<std::int64_t>(count) - std::ranges::count(batch.labels, kIgnoredLabel);
  return batch;
}

std::vector<ValidationImages::Shown> ValidationImages::some(std::size_t count) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < std::min(count, items_.size()); ++i) {
    const std::int64_t item = items_[i * items_.size() / count];
    if (const std::shared_ptr<const image::Image> image = reader_.read(item))
      shown.push_back({preprocessor_.prepare(*image), reader_.images().label(item)});
  }
  return shown;
}

void ValidationImages::for_each(const std::function<void(const HostImageBatch& batch)>& use) {
  for_each_of({}, [&](std::size_t, const HostImageBatch& batch) { use(batch); });
}

void ValidationImages::for_each_of(const Shard& shard,
                                   const std::function<void(std::size_t number, const HostImageBatch&)>& use) {
  using Ahead = Prefetch<HostImageBatch, std::int64_t>;
  const std::int64_t count = batches(), first = static_cast<std::int64_t>(shard.rank),
                     apart = static_cast<std::int64_t>(shard.size);
  const auto make_next = [&, number = first]() mutable -> Ahead::Entry {
    if (number >= count) return {{}, number};  // nobody asks for these
    HostImageBatch batch = make(number);
    return {std::move(batch), number += apart};
  };
  const std::int64_t values = options_.batch * 3 * size_.width * size_.height;
  Ahead ahead(make_next, batches_ahead(static_cast<std::size_t>(values)));
  for (std::int64_t i = first; i < count; i += apart) use(static_cast<std::size_t>(i), ahead.next().item);
}

}  // namespace attend::data
