#include "attend/data/images/detection_batches.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/images/image_work.h"

namespace attend::data {

ImageCache::Source images_of(const DetectionSet& set) {
  return {.count = set.size(), .decoded = false, .read = [&set](std::int64_t i) { return set.read(i); }};
}

DetectionBatches::DetectionBatches(DetectionSource source, const DetectionOptions& options,
                                   const ImageBatchOptions& batches)
    : source_(std::move(source)),
      options_(options),
      batches_(batches),
      maker_(options),
      pool_(static_cast<int>(options.workers)),
      order_(source_.items.size(), static_cast<std::uint64_t>(batches.batch), batches.seed) {
  check_image_items(source_.items, source_.set.size());
  check_image_batch(batches.batch, static_cast<std::int64_t>(maker_.values()));
  if (options.copy_paste == 0) return;
  source_.set.check_masks(source_.items);
  for (const std::int64_t item : source_.items)
    for (std::size_t i = 0; i < source_.set.masks(item).size(); ++i)
      if (source_.set.masks(item)[i].known()) cuttable_.push_back({item, i});
}

// Null where the image cannot be read, or nothing of the thing is in it.
std::optional<CutOut> DetectionBatches::cut_out(image::Draws& draws) const {
  const Cuttable& from = cuttable_[static_cast<std::size_t>(draws.below(static_cast<int>(cuttable_.size())))];
  const std::shared_ptr<const image::Image> image = source_.reader.read(from.item);
  if (!image) return std::nullopt;
  return cut(*image, source_.set.boxes(from.item)[from.object], source_.set.masks(from.item)[from.object]);
}

PastedImage DetectionBatches::pasted_into(const image::Image& image, std::int64_t item, image::Draws& draws) const {
  PastedImage pasted{.image = image, .boxes = source_.set.boxes(item), .visible = {}};
  const std::vector<ObjectMask>& masks = source_.set.masks(item);
  for (std::size_t i = 0; i < pasted.boxes.size(); ++i)
    pasted.visible.push_back(mask_in(image.width, image.height, pasted.boxes[i], masks[i]));
  const int count = 1 + draws.below(static_cast<int>(options_.copy_paste));
  for (int i = 0; i < count; ++i)
    if (const std::optional<CutOut> thing = cut_out(draws)) paste(*thing, {.flip = options_.flip}, draws, pasted);
  return pasted;
}

void DetectionBatches::seek(std::uint64_t position) {
  order_.check_batch(position);
  ahead_.reset();
  position_ = position;
}

HostDetectionBatch DetectionBatches::next() {
  if (!ahead_) {
    const auto make_next = [this, number = position_]() mutable -> Ahead::Entry {
      HostDetectionBatch batch = make(number + shard_.rank);
      number += shard_.size;
      return {std::move(batch), number};
    };
    const std::size_t values = static_cast<std::size_t>(batches_.batch) * maker_.values();
    ahead_ = std::make_unique<Ahead>(make_next, batches_ahead(values));
  }
  Ahead::Entry entry = ahead_->next();
  position_ = entry.after;
  return std::move(entry.item);
}

void DetectionBatches::make_row(const EpochOrder::Row& row, std::size_t at, HostDetectionBatch& batch) const {
  const std::vector<std::int64_t>& items = source_.items;
  image::Draws draws(image_seed(batches_.seed, ImageStream::augment, row.epoch),
                     static_cast<std::uint32_t>(items[row.item]));
  for (std::size_t i = 0; i < items.size(); ++i) {  // the next one takes the place of one that cannot be read
    const std::int64_t item = items[(row.item + i) % items.size()];
    const std::shared_ptr<const image::Image> image = source_.reader.read(item);
    if (!image) continue;
    const std::span<float> values = std::span(batch.values).subspan(at * maker_.values(), maker_.values());
    const bool pastes = !cuttable_.empty() && draws.chance(options_.copy_paste_chance);
    const PastedImage pasted = pastes ? pasted_into(*image, item, draws) : PastedImage();
    DetectionMaker::Made made = pastes ? maker_(pasted.image, pasted.boxes, draws, values)
                                       : maker_(*image, source_.set.boxes(item), draws, values);
    batch.sizes[at] = made.size, batch.boxes[at] = std::move(made.boxes), batch.items[at] = item;
    return;
  }
  const std::vector<std::string> broken = source_.reader.broken();
  fail("none of the {} images can be read; the first of them: {}", items.size(), broken.empty() ? "" : broken[0]);
}

HostDetectionBatch DetectionBatches::make(std::uint64_t number) {
  const std::vector<EpochOrder::Row> rows = order_.batch(number);
  const std::size_t count = rows.size();
  HostDetectionBatch batch{.side = maker_.side(),
                           .values = buffers_.take(count * maker_.values()),
                           .sizes = std::vector<Extent2>(count),
                           .boxes = std::vector<std::vector<LabelledBox>>(count),
                           .items = std::vector<std::int64_t>(count)};
  std::vector<std::exception_ptr> errors(count);
  const auto make_one = guarded(
      errors, [&](std::int64_t i) { make_row(rows[static_cast<std::size_t>(i)], static_cast<std::size_t>(i), batch); });
  pool_.run({ThreadPool::each(batches_.batch, make_one)});
  rethrow_first(errors);
  return batch;
}

ValidationDetections::ValidationDetections(DetectionSource source, const DetectionOptions& options, std::int64_t batch)
    : source_(std::move(source)),
      maker_(options),
      batch_(static_cast<std::size_t>(batch)),
      pool_(static_cast<int>(options.workers)) {
  check_image_items(source_.items, source_.set.size());
  check_image_batch(batch, static_cast<std::int64_t>(maker_.values()));
}

HostDetectionBatch ValidationDetections::make(std::size_t first) {
  const std::size_t count = std::min(batch_, source_.items.size() - first), one = maker_.values();
  std::vector<std::shared_ptr<const image::Image>> images(count);
  std::vector<std::exception_ptr> errors(count);
  const auto read = guarded(errors, [&](std::int64_t i) {
    images[static_cast<std::size_t>(i)] = source_.reader.read(source_.items[first + static_cast<std::size_t>(i)]);
  });
  pool_.run({ThreadPool::each(static_cast<std::int64_t>(count), read)});
  rethrow_first(errors);
  HostDetectionBatch batch{.side = maker_.side()};
  for (std::size_t i = 0; i < count; ++i)
    if (images[i]) batch.items.push_back(source_.items[first + i]);
  std::erase(images, nullptr);
  batch.values.resize(images.size() * one), batch.sizes.resize(images.size());
  const auto make_one = guarded(errors, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    batch.sizes[at] = maker_.plain(*images[at], std::span(batch.values).subspan(at * one, one));
  });
  pool_.run({ThreadPool::each(static_cast<std::int64_t>(images.size()), make_one)});
  rethrow_first(errors);
  for (const std::int64_t item : batch.items) batch.boxes.push_back(source_.set.boxes(item));
  return batch;
}

std::vector<ValidationDetections::Shown> ValidationDetections::some(std::size_t count) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < std::min(count, source_.items.size()); ++i) {
    const std::int64_t item = source_.items[i * source_.items.size() / count];
    const std::shared_ptr<const image::Image> image = source_.reader.read(item);
    if (!image) continue;
    HostDetectionBatch batch{.side = maker_.side(), .values = std::vector<float>(maker_.values())};
    batch.sizes = {maker_.plain(*image, batch.values)};
    batch.boxes = {source_.set.boxes(item)}, batch.items = {item};
    shown.push_back({maker_.prepare(*image), std::move(batch)});
  }
  return shown;
}

void ValidationDetections::for_each(const std::function<void(const HostDetectionBatch& batch)>& use) {
  for_each_of({}, [&](std::size_t, const HostDetectionBatch& batch) { use(batch); });
}

void ValidationDetections::for_each_of(const Shard& shard,
                                       const std::function<void(std::size_t number, const HostDetectionBatch&)>& use) {
  using Ahead = Prefetch<HostDetectionBatch, std::size_t>;
  const std::size_t count = batches(), first = static_cast<std::size_t>(shard.rank),
                    apart = static_cast<std::size_t>(shard.size);
  const auto make_next = [&, number = first]() mutable -> Ahead::Entry {
    if (number >= count) return {{}, number};  // nobody asks for these
    HostDetectionBatch batch = make(number * batch_);
    return {std::move(batch), number += apart};
  };
  Ahead ahead(make_next, batches_ahead(batch_ * maker_.values()));
  for (std::size_t i = first; i < count; i += apart)
    if (const HostDetectionBatch batch = ahead.next().item; !batch.items.empty()) use(i, batch);
}

}  // namespace attend::data
