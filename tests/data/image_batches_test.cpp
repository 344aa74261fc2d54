// Batches of images: the same whatever the number of threads and wherever a run resumes, mixed as said, and every
// image in its turn.
#include "attend/data/images/image_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "attend/base/fields.h"
#include "attend/base/files.h"
#include "tests/data/corpus_files.h"
#include "tests/data/image_files.h"

namespace attend::data {
namespace {

std::vector<std::int64_t> all_of(const LabelledImages& images) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(images.size()));
  std::iota(items.begin(), items.end(), 0);
  return items;
}

// No change to an image, and values that are its bytes.
ImageOptions plain(std::int64_t size) {
  ImageOptions options;
  options.image_size = size;
  options.crop = "none";
  options.flip = false;
  options.mean = "0";
  options.std = "0.00392156862745098";
  options.workers = 2;
  return options;
}

ImageOptions everything() {
  ImageOptions options;
  options.image_size = 24;
  options.rand_augment_operations = 2;
  options.mixup = 0.8;
  options.cutmix = 1;
  options.erasing = 0.5;
  options.workers = 1;
  return options;
}

class ImageBatchesTest : public test::ImageFilesTest {
 protected:
  // CIFAR's files need no library. Image i is all 10 i, 10 i + 1, 10 i + 2, and its label i.
  LabelledImages small(int count = 10) const {
    std::vector<std::string> labels;
    for (int i = 0; i < count; ++i) labels.emplace_back(1, static_cast<char>(i % 10));
    write("data_batch_1.bin", test::cifar(labels));
    return LabelledImages(folder_ / "data_batch_1.bin");
  }
  // 32 x 32 pixels of noise.
  LabelledImages noise(int count) const {
    std::string file;
    for (int i = 0; i < count; ++i) {
      file += static_cast<char>(i % 10);
      for (std::uint64_t p = 0; p < 3072; ++p)
        file += static_cast<char>(random_word(5, static_cast<std::uint32_t>(i), p) & 0xff);
    }
    write("data_batch_2.bin", file);
    return LabelledImages(folder_ / "data_batch_2.bin");
  }
  // Files of which some are broken.
  LabelledImages files(int count, const std::vector<int>& broken) const {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("set/{}/{}.png", i % 2 ? "odd" : "even", i);
      if (std::ranges::count(broken, i))
        write(name, "no image");
      else
        write_image(name, i);
    }
    return LabelledImages(folder_ / "set");
  }
};

TEST_F(ImageBatchesTest, AnEpochHasEveryImageOnceInAnOrderOfItsOwn) {
  const LabelledImages images = small();
  ImageReader reader(images);
  ImageBatches batches(reader, all_of(images), plain(32), {.batch = 4, .seed = 3});
  std::vector<std::vector<int>> epochs(4);
  for (int i = 0; i < 10; ++i) {  // four epochs, with batches across their borders
    const HostImageBatch batch = batches.next();
    EXPECT_EQ(batch.share, 1.0f);
    EXPECT_EQ(batch.other_labels, batch.labels);
    EXPECT_EQ(batch.images, 4);
    for (int b = 0; b < 4; ++b) {
      const float* values = batch.values.data() + b * 32 * 32 * 3;
      const int label = batch.labels[static_cast<std::size_t>(b)];
      epochs[static_cast<std::size_t>((4 * i + b) / 10)].push_back(label);
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(values[3 * 77 + c], 10 * label + c, 1e-3);
    }
  }
  EXPECT_EQ(batches.epochs(), 4.0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(epochs[i], epochs[i - 1]);
  for (std::vector<int>& epoch : epochs) {
    std::ranges::sort(epoch);
    EXPECT_EQ(epoch, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST_F(ImageBatchesTest, AreTheSameForAnyNumberOfWorkersAndAnyPosition) {
  const LabelledImages images = noise(23);
  ImageReader reader(images);
  for (const char* crop : {"resized", "shift", "none"}) {
    ImageOptions options = everything();
    options.crop = crop;
    ImageBatches one(reader, all_of(images), options, {.batch = 6, .seed = 9});
    options.workers = 4;
    ImageBatches four(reader, all_of(images), options, {.batch = 6, .seed = 9});
    std::vector<HostImageBatch> made;
    for (int i = 0; i < 12; ++i) {
      made.push_back(one.next());
      HostImageBatch other = four.next();
      ASSERT_TRUE(made.back() == other) << crop << i;
      four.give_back(std::move(other));  // its memory comes back with other images
    }
    ASSERT_FALSE(made[0] == made[1]);
    ImageBatches resumed(reader, all_of(images), options, {.batch = 6, .seed = 9});
    resumed.seek(7);
    for (std::size_t i = 7; i < 12; ++i) ASSERT_TRUE(resumed.next() == made[i]) << crop << i;
    EXPECT_EQ(resumed.position(), 12u);
    resumed.seek(2);
    EXPECT_TRUE(resumed.next() == made[2]);
    ImageBatches other(reader, all_of(images), options, {.batch = 6, .seed = 10});
    EXPECT_FALSE(other.next() == made[0]);
  }
}

TEST_F(ImageBatchesTest, AImageIsAugmentedAnewInEveryEpoch) {
  const LabelledImages images = noise(1);
  ImageReader reader(images);
  ImageOptions options = plain(32);
  options.crop = "shift";
  options.flip = true;
  ImageBatches batches(reader, {0}, options, {.batch = 1});
  std::map<std::vector<float>, int> seen;
  for (int i = 0; i < 400; ++i) ++seen[batches.next().values];
  EXPECT_GT(seen.size(), 120u);  // of 162: nine ways each direction, mirrored or not
  EXPECT_LE(seen.size(), 162u);
}

// Jordan 2024, section 3.6: an image is flipped by chance in the first epoch, and from then on in every other one.
TEST_F(ImageBatchesTest, FlipsAlternate) {
  const LabelledImages images = noise(40);
  ImageReader reader(images);
  ImageOptions options = plain(32);
  options.flip = options.alternate_flip = true;
  ImageBatches batches(reader, all_of(images), options, {.batch = 40});
  const auto seen = [&] {  // by label, and which of the four
    std::map<std::vector<float>, int> list;
    const HostImageBatch batch = batches.next();
    for (std::size_t i = 0; i < 40; ++i)
      ++list[{batch.values.begin() + static_cast<std::ptrdiff_t>(i * 3072),
              batch.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * 3072)}];
    return list;
  };
  const auto first = seen(), second = seen(), third = seen();
  EXPECT_EQ(first, third);
  std::size_t both = 0, plain_ones = 0;
  for (const auto& one : first) both += second.contains(one.first);
  EXPECT_EQ(both, 0u);
  for (std::int64_t i = 0; i < 40; ++i) {
    const image::Image image = images.read(i);
    plain_ones += first.contains(std::vector<float>(image.pixels.begin(), image.pixels.end()));
  }
  EXPECT_GT(plain_ones, 8u);
  EXPECT_LT(plain_ones, 32u);
}

TEST_F(ImageBatchesTest, CutoutBlanksASquare) {
  const LabelledImages images = small(1);
  ImageReader reader(images);
  ImageOptions options = plain(32);
  options.mean = "-1";  // 0 is no pixel's value but the square's
  options.cutout = 6;
  ImageBatches batches(reader, {0}, options, {.batch = 1});
  for (int i = 0; i < 50; ++i) {
    const HostImageBatch batch = batches.next();
    const auto blank = std::ranges::count(batch.values, 0.0f);
    EXPECT_GE(blank, 3 * 3 * 3);
    EXPECT_LE(blank, 6 * 6 * 3);
  }
}

// From the next batch on, although others lie ready; back again, too, for a run that is resumed.
TEST_F(ImageBatchesTest, MixingEndsWithTheNextBatch) {
  const LabelledImages images = small();
  ImageReader reader(images);
  ImageOptions options = plain(32);
  const auto made = [&](double mixup, const std::function<void(ImageBatches&, int)>& before) {
    options.mixup = mixup;
    ImageBatches batches(reader, all_of(images), options, {.batch = 5, .seed = 2});
    std::vector<HostImageBatch> list;
    for (int i = 0; i < 6; ++i) before(batches, i), list.push_back(batches.next());
    return list;
  };
  const auto nothing = [](ImageBatches&, int) {};
  const std::vector<HostImageBatch> mixed = made(1, nothing), whole = made(0, nothing);
  const std::vector<HostImageBatch> both = made(1, [](ImageBatches& batches, int i) { batches.mix(i < 2 || i > 3); });
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(mixed[i], whole[i]) << i;
    EXPECT_EQ(both[i], i < 2 || i > 3 ? mixed[i] : whole[i]) << i;
  }
}

TEST_F(ImageBatchesTest, MixedLabelsAreThoseOfTheMixedImages) {
  const LabelledImages images = small();
  ImageReader reader(images);
  for (const bool cut : {false, true}) {
    ImageOptions options = plain(32);
    (cut ? options.cutmix : options.mixup) = 1;
    ImageBatches batches(reader, all_of(images), options, {.batch = 5, .seed = 2});
    double shares = 0;
    for (int i = 0; i < 20; ++i) {
      const HostImageBatch batch = batches.next();
      shares += batch.share;
      ASSERT_TRUE(batch.share >= 0 && batch.share <= 1);
      for (std::size_t b = 0; b < 5; ++b) {
        EXPECT_EQ(batch.other_labels[b], batch.labels[(b + 4) % 5]);
        double sum = 0;
        for (std::size_t p = 0; p < 1024; ++p) sum += batch.values[b * 3072 + 3 * p];
        // An image is all 10 times its label: the mean says what share of it there is, for both kinds.
        const double mixed = batch.share * batch.labels[b] + (1 - batch.share) * batch.other_labels[b];
        EXPECT_NEAR(sum / 1024, 10 * mixed, 0.02) << cut << i;
      }
    }
    EXPECT_GT(shares / 20, 0.2);
    EXPECT_LT(shares / 20, 0.9);
  }
}

TEST_F(ImageBatchesTest, ValuesAreNormalisedWithTheChannelsSideBySide) {
  const LabelledImages images = small(3);
  ImageReader reader(images);
  ImageOptions options = plain(32);
  options.mean = "0.5,0.25,0.125", options.std = "0.5,1,2";
  const HostImageBatch batch = ImageBatches(reader, {2}, options, {.batch = 1}).next();
  EXPECT_NEAR(batch.values[3], (20 / 255.0 - 0.5) / 0.5, 1e-6);
  EXPECT_NEAR(batch.values[4], (21 / 255.0 - 0.25) / 1, 1e-6);
  EXPECT_NEAR(batch.values[5], (22 / 255.0 - 0.125) / 2, 1e-6);
}

TEST_F(ImageBatchesTest, BrokenImagesStopTheRun) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  const LabelledImages images = files(8, {3, 5});
  ImageReader reader(images);
  ImageBatches batches(reader, all_of(images), plain(8), {.batch = 8});
  const std::string text = test::message_of([&] { batches.next(); });
  EXPECT_NE(text.find(".png: is no image"), std::string::npos) << text;
  EXPECT_NE(text.find("--broken skip leaves out"), std::string::npos) << text;
  EXPECT_EQ(test::message_of([&] { batches.next(); }), text);
}

TEST_F(ImageBatchesTest, BrokenImagesAreSkippedForTheNextReadableOne) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  const LabelledImages images = files(8, {2, 4, 7});  // even: 0 2 4 6; odd: 1 3 5 7
  ImageReader reader(images, {.broken = BrokenImages::skip});
  ImageOptions options = everything();
  options.image_size = 8;
  ImageBatches one(reader, all_of(images), options, {.batch = 8});
  options.workers = 4;
  ImageBatches four(reader, all_of(images), options, {.batch = 8});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(one.next() == four.next());
  EXPECT_EQ(reader.broken().size(), 3u);  // each once
  EXPECT_NE(reader.broken()[0].find("set/even/2.png: is no image"), std::string::npos);

  ImageBatches plainly(reader, all_of(images), plain(12), {.batch = 8});
  std::vector<std::int32_t> labels = plainly.next().labels;
  // Even 2 and 4 become 6; odd 7, the last, becomes even 0: labels 0 five times, odd three times.
  EXPECT_EQ(std::ranges::count(labels, 0), 5);

  ImageBatches none(reader, {1, 2}, plain(8), {.batch = 2});
  const std::string text = test::message_of([&] { none.next(); });
  EXPECT_NE(text.find("none of the 2 images can be read"), std::string::npos) << text;
}

TEST_F(ImageBatchesTest, ValidationHasEveryImageOnceInOrder) {
  const LabelledImages images = small();
  ImageReader reader(images);
  ValidationImages validation(reader, all_of(images), plain(32).evaluation(), {.batch = 4, .workers = 3});
  EXPECT_EQ(validation.batches(), 3);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::int32_t> labels;
    std::int64_t counted = 0;
    validation.for_each([&](const HostImageBatch& batch) {
      ASSERT_EQ(batch.values.size(), std::size_t{4 * 3072});
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
      counted += batch.images;
      for (std::size_t b = 0; b < 4; ++b) {
        const float expected = batch.labels[b] < 0 ? 0.0f : 10.0f * static_cast<float>(batch.labels[b]);
        EXPECT_NEAR(batch.values[b * 3072], expected, 1e-3);
      }
    });
    EXPECT_EQ(counted, 10);
    EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, kIgnoredLabel, kIgnoredLabel}));
  }
  EXPECT_THROW(validation.for_each([](const HostImageBatch&) { fail("enough"); }), Error);
}

TEST_F(ImageBatchesTest, ValidationSeesWhatThePreprocessorMakes) {
  const LabelledImages images = noise(3);
  ImageReader reader(images);
  ImageOptions options;
  options.image_size = 24;
  const image::PreprocessorConfig config = options.evaluation();
  EXPECT_EQ(config.resize.size.width, 27);  // floor(24 / 0.875)
  ValidationImages validation(reader, {1}, config, {.batch = 1});
  const image::Pixels expected = image::Preprocessor(config)(images.read(1));
  validation.for_each([&](const HostImageBatch& batch) {
    for (std::size_t p = 0; p < 576; ++p)
      for (std::size_t c = 0; c < 3; ++c)
        ASSERT_NEAR(batch.values[3 * p + c], expected.values[576 * c + p], 1e-6) << p << c;
  });
}

TEST_F(ImageBatchesTest, ValidationLeavesOutBrokenOnes) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  const LabelledImages images = files(4, {2});
  ImageReader reader(images, {.broken = BrokenImages::skip});
  ValidationImages validation(reader, all_of(images), plain(8).evaluation(), {.batch = 4});
  validation.for_each([&](const HostImageBatch& batch) {
    EXPECT_EQ(batch.labels, (std::vector<std::int32_t>{0, kIgnoredLabel, 1, 1}));
    EXPECT_EQ(batch.images, 3);
  });
}

TEST_F(ImageBatchesTest, DecodedImagesAreKeptWhileThereIsRoom) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  const LabelledImages images = files(6, {});
  constexpr std::int64_t kOne = 12 * 10 * 3;
  ImageReader reader(images, {.cache_bytes = 4 * kOne + 7});
  ImageBatches batches(reader, all_of(images), plain(12), {.batch = 6, .seed = 4});
  const HostImageBatch first = batches.next();
  EXPECT_EQ(reader.cached_bytes(), 4 * kOne);
  ImageReader none(images, {.cache_bytes = 0});
  ImageBatches again(none, all_of(images), plain(12), {.batch = 6, .seed = 4});
  EXPECT_TRUE(again.next() == first);
  EXPECT_EQ(none.cached_bytes(), 0);
  for (int i = 0; i < 6; ++i) write(fmt::format("set/{}/{}.png", i % 2 ? "odd" : "even", i), "gone");
  int kept = 0;
  for (std::int64_t i = 0; i < 6; ++i) kept += test::message_of([&] { reader.read(i); }) == "no error";
  EXPECT_EQ(kept, 4);
}

TEST(ImageOptionsTest, AreCheckedAndListed) {
  const auto message = [](auto&& change) {
    ImageOptions options;
    change(options);
    return test::message_of([&] { options.check_ranges(); });
  };
  EXPECT_EQ(message([](ImageOptions&) {}), "no error");
  EXPECT_EQ(message([](ImageOptions& o) { o.image_size = 0; }), "image_size must be from 1 to 16384, not 0");
  EXPECT_EQ(message([](ImageOptions& o) { o.crop = "x"; }), "crop is resized, shift or none, not 'x'");
  EXPECT_EQ(message([](ImageOptions& o) { o.border = "x"; }), "border is black or reflected, not 'x'");
  EXPECT_EQ(message([](ImageOptions& o) { o.cutout = -1; }), "cutout must be from 0 to 448, not -1");
  EXPECT_EQ(message([](ImageOptions& o) { o.flip = false, o.alternate_flip = true; }), "alternate_flip needs flip");
  EXPECT_EQ(message([](ImageOptions& o) { o.erasing = 2; }), "erasing must be from 0 to 1, not 2");
  EXPECT_EQ(message([](ImageOptions& o) { o.mixup = NAN; }), "mixup must be from 0 to 1000, not nan");
  EXPECT_EQ(message([](ImageOptions& o) { o.rand_augment_magnitude = 31; }),
            "rand_augment_magnitude must be from 0 to 30, not 31");
  EXPECT_EQ(message([](ImageOptions& o) { o.broken = "keep"; }), "broken is stop or skip, not 'keep'");
  EXPECT_EQ(message([](ImageOptions& o) { o.std = "1,0,1"; }), "std is above 0, not '1,0,1'");
  for (const char* mean : {"", "1,2", "1,2,3,4", "a,b,c", "1,2,3,", "1,,2", "nan"})
    EXPECT_EQ(message([&](ImageOptions& o) { o.mean = mean; }),
              fmt::format("mean is three numbers, as '0.5,0.5,0.5', or one for all, not '{}'", mean));
  ImageOptions read;
  read_fields(read, parse_json(R"({"crop": "shift", "flip": false, "mixup": 0.2, "workers": 3})", "x"), "x");
  EXPECT_EQ(read.crop, "shift");
  EXPECT_FALSE(read.flip);
  EXPECT_EQ(write_fields(read)["mixup"].get<double>(), 0.2);
}

// Photos and drawings of any size and kind, where they are.
TEST_F(ImageBatchesTest, RealPhotosBecomeBatches) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  const std::filesystem::path photos = std::filesystem::absolute("../shared/fixtures/images");
  if (!std::filesystem::exists(photos / "tench.jpg")) GTEST_SKIP() << "there are no photos";
  std::string table = "path,label\n";
  for (const char* name : {"tench.jpg", "tench_gray.png", "ostrich.jpg", "ostrich_alpha.png", "ostrich_palette.png"})
    table += (photos / name).string() + "," + std::string(name).substr(0, 5) + "\n";
  write("photos.csv", table);
  const LabelledImages images(folder_ / "photos.csv");
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"ostri", "tench"}));
  ImageReader reader(images);
  ImageOptions options = everything();
  options.image_size = 96;
  ImageBatches one(reader, all_of(images), options, {.batch = 3});
  options.workers = 4;
  ImageBatches four(reader, all_of(images), options, {.batch = 3});
  for (int i = 0; i < 6; ++i) {
    const HostImageBatch batch = one.next();
    ASSERT_TRUE(batch == four.next());
    for (const float value : batch.values) ASSERT_TRUE(value > -3 && value < 3);
  }
}

}  // namespace
}  // namespace attend::data
