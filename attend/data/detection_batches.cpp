#include "attend/data/detection_batches.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/picture_work.h"

namespace attend::data {

PictureCache::Source pictures_of(const DetectionSet& set) {
  return {.count = set.size(), .decoded = false, .read = [&set](std::int64_t i) { return set.read(i); }};
}

DetectionBatches::DetectionBatches(DetectionSource source, const DetectionOptions& options,
                                   const PictureBatchOptions& batches)
    : source_(std::move(source)),
      batches_(batches),
      maker_(options),
      pool_(static_cast<int>(options.workers)),
      order_(source_.items.size(), static_cast<std::uint64_t>(batches.batch), batches.seed) {
  check_picture_items(source_.items, source_.set.size());
  check_picture_batch(batches.batch, static_cast<std::int64_t>(maker_.values()));
}

void DetectionBatches::seek(std::uint64_t position) {
  order_.check_batch(position);
  ahead_.reset();
  position_ = position;
}

HostDetectionBatch DetectionBatches::next() {
  if (!ahead_) {
    const auto make_next = [this, number = position_]() mutable -> Ahead::Entry {
      HostDetectionBatch batch = make(number);
      return {std::move(batch), ++number};
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
  image::Draws draws(picture_seed(batches_.seed, PictureStream::augment, row.epoch),
                     static_cast<std::uint32_t>(items[row.item]));
  for (std::size_t i = 0; i < items.size(); ++i) {  // the next one takes the place of one that cannot be read
    const std::int64_t item = items[(row.item + i) % items.size()];
    const std::shared_ptr<const image::Image> picture = source_.reader.read(item);
    if (!picture) continue;
    const std::size_t one = maker_.values();
    DetectionMaker::Made made =
        maker_(*picture, source_.set.boxes(item), draws, std::span(batch.values).subspan(at * one, one));
    batch.sizes[at] = made.size, batch.boxes[at] = std::move(made.boxes), batch.items[at] = item;
    return;
  }
  const std::vector<std::string> broken = source_.reader.broken();
  fail("none of the {} pictures can be read; the first of them: {}", items.size(), broken.empty() ? "" : broken[0]);
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
  check_picture_items(source_.items, source_.set.size());
  check_picture_batch(batch, static_cast<std::int64_t>(maker_.values()));
}

HostDetectionBatch ValidationDetections::make(std::size_t first) {
  const std::size_t count = std::min(batch_, source_.items.size() - first), one = maker_.values();
  std::vector<std::shared_ptr<const image::Image>> pictures(count);
  std::vector<std::exception_ptr> errors(count);
  const auto read = guarded(errors, [&](std::int64_t i) {
    pictures[static_cast<std::size_t>(i)] = source_.reader.read(source_.items[first + static_cast<std::size_t>(i)]);
  });
  pool_.run({ThreadPool::each(static_cast<std::int64_t>(count), read)});
  rethrow_first(errors);
  HostDetectionBatch batch{.side = maker_.side()};
  for (std::size_t i = 0; i < count; ++i)
    if (pictures[i]) batch.items.push_back(source_.items[first + i]);
  std::erase(pictures, nullptr);
  batch.values.resize(pictures.size() * one), batch.sizes.resize(pictures.size());
  const auto make_one = guarded(errors, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    batch.sizes[at] = maker_.plain(*pictures[at], std::span(batch.values).subspan(at * one, one));
  });
  pool_.run({ThreadPool::each(static_cast<std::int64_t>(pictures.size()), make_one)});
  rethrow_first(errors);
  for (const std::int64_t item : batch.items) batch.boxes.push_back(source_.set.boxes(item));
  return batch;
}

void ValidationDetections::for_each(const std::function<void(const HostDetectionBatch& batch)>& use) {
  using Ahead = Prefetch<HostDetectionBatch, std::size_t>;
  const std::size_t count = source_.items.size();
  const auto make_next = [&, first = std::size_t{0}]() mutable -> Ahead::Entry {
    if (first >= count) return {{}, first};  // nobody asks for these
    HostDetectionBatch batch = make(first);
    return {std::move(batch), first += batch_};
  };
  Ahead ahead(make_next, batches_ahead(batch_ * maker_.values()));
  for (std::size_t first = 0; first < count; first += batch_)
    if (const HostDetectionBatch batch = ahead.next().item; !batch.items.empty()) use(batch);
}

}  // namespace attend::data
