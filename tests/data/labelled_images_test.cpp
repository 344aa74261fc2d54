// Lists of labelled images: every kind of files, and files that lie.
#include "attend/data/images/labelled_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "attend/image/encode.h"
#include "tests/data/corpus_files.h"
#include "tests/data/image_files.h"

namespace attend::data {
namespace {

using test::big_endian;
using test::cifar;
using test::gzip;
using test::idx_images;
using test::idx_labels;
using test::numbered_image;

class LabelledImagesTest : public test::ImageFilesTest {
 protected:
  std::string message(const std::string& name, const LabelledImagesOptions& options = {}) const {
    return test::message_of([&] { LabelledImages(folder_ / name, options); });
  }
  void expect_message(const std::string& name, const std::string& part) const {
    const std::string text = message(name);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

using Names = std::vector<std::string>;

TEST_F(LabelledImagesTest, AFolderPerClass) {
  for (const char* name : {"b/2.png", "b/deep/er/1.JPEG", "a x/9.webp", "a x/notes.txt", ".hidden/1.png", "top.png"})
    write(std::string("set/") + name, "x");
  const LabelledImages images(folder_ / "set");
  EXPECT_EQ(images.classes(), (Names{"a x", "b"}));
  ASSERT_EQ(images.size(), 3);
  EXPECT_EQ(images.name(0), (folder_ / "set/a x/9.webp").string());
  EXPECT_EQ(images.name(2), (folder_ / "set/b/deep/er/1.JPEG").string());
  EXPECT_EQ(images.label(0), 0);
  EXPECT_EQ(images.label(2), 1);
  // Broken ones are listed all the same; reading says which it is.
  const std::string text = test::message_of([&] { images.read(1); });
  EXPECT_NE(text.find("b/2.png: is no image"), std::string::npos) << text;
}

TEST_F(LabelledImagesTest, ImagesOfFoldersAreDecoded) {
  if (!can_do_images()) GTEST_SKIP() << "this build has no images";
  write_image("set/a/1.png", 5);
  EXPECT_EQ(LabelledImages(folder_ / "set").read(0), numbered_image(5));
}

TEST_F(LabelledImagesTest, NumbersMeanTheNamesInTheirOrder) {
  write("m/train-images-idx3-ubyte", idx_images(3));
  write("m/train-labels-idx1-ubyte", idx_labels({5, 0, 9}));
  const Names names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const LabelledImages images(folder_ / "m", data::LabelledImagesOptions{.classes = names});
  EXPECT_EQ(images.classes(), names);
  EXPECT_EQ(images.label(0), 5);
  Names turned = {"9", "8", "7", "6", "5", "4", "3", "2", "1", "0"};  // names that are numbers are names
  EXPECT_EQ(LabelledImages(folder_ / "m", data::LabelledImagesOptions{.classes = turned}).label(0), 4);
}

TEST_F(LabelledImagesTest, AFolderOfPartsStandsForOneOfThem) {
  for (const char* name : {"set/train/a/1.png", "set/train/b/1.png", "set/val/b/2.png"}) write(name, "x");
  const LabelledImages train(folder_ / "set");
  EXPECT_EQ(train.classes(), (Names{"a", "b"}));
  const LabelledImages valid(folder_ / "set", {.classes = train.classes(), .unseen = true});
  ASSERT_EQ(valid.size(), 1);
  EXPECT_EQ(valid.label(0), 1);
  EXPECT_EQ(valid.classes(), train.classes());
  write("set/val/c/3.png", "x");
  const std::string text = message("set", {.classes = train.classes(), .unseen = true});
  EXPECT_NE(text.find("is of the class \"c\", which is none of the 2 that are learned (\"a\", ..)"), std::string::npos)
      << text;
}

TEST_F(LabelledImagesTest, FoldersThatHoldNoneAreRefused) {
  std::filesystem::create_directory(folder_ / "empty");
  write("flat/1.png", "x");
  write("hole/a/1.png", "x");
  write("hole/b/notes.txt", "x");
  write("odd.xyz", "x");
  expect_message("empty", "there are no images in it");
  expect_message("flat", "a folder for each class");
  expect_message("hole", "hole/b: there is no image of this class");
  expect_message("odd.xyz", "is no list of images");
  expect_message("nowhere", "there is no such file or folder");
}

TEST_F(LabelledImagesTest, TablesWithAndWithoutAHeader) {
  write("a.csv", "x/1.png,10\n\"x/with, comma.png\",9\n/abs/3.png,2\n");
  const LabelledImages plain(folder_ / "a.csv");
  EXPECT_EQ(plain.classes(), (Names{"2", "9", "10"}));  // by number
  EXPECT_EQ(plain.label(0), 2);
  EXPECT_EQ(plain.name(1), (folder_ / "x/with, comma.png").string());
  EXPECT_EQ(plain.name(2), "/abs/3.png");
  write("b.tsv", "Label\tid\tFile\ncat\t1\tc.jpg\ndog\t2\td.jpg\n\t3\te.jpg\nbird\n");
  const LabelledImages named(folder_ / "b.tsv");
  EXPECT_EQ(named.classes(), (Names{"cat", "dog"}));
  EXPECT_EQ(named.name(1), (folder_ / "d.jpg").string());
  EXPECT_EQ(named.left_out(),
            "2 rows left out: 1 not 3 cells as the first row has (line 5), 1 without a label (line 4)");
  write("one.csv", "1.png\n2.png\n");
  write("none.csv", "path,label\n");
  write("zero.csv", "");
  expect_message("one.csv", "expected a path and a label a line");
  expect_message("none.csv", "names no images");
  expect_message("zero.csv", "the file is empty");
}

TEST_F(LabelledImagesTest, IdxFilesPlainAndCompressed) {
  write("m/train-images-idx3-ubyte", idx_images(3));
  write("m/train-labels-idx1-ubyte", idx_labels({5, 0, 9}));
  write("m/t10k-images-idx3-ubyte", idx_images(2));
  write("m/t10k-labels-idx1-ubyte", idx_labels({1, 2}));
  const LabelledImages train(folder_ / "m");
  ASSERT_EQ(train.size(), 3);
  EXPECT_EQ(train.classes(), (Names{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  EXPECT_EQ(train.label(2), 9);
  const image::Image image = train.read(1);
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(image.height, 3);
  EXPECT_EQ(image.row(1)[3 * 2 + 1], 10 + 4 + 2);  // grey three times
  const LabelledImages test(folder_ / "m", {.classes = train.classes(), .unseen = true});
  EXPECT_EQ(test.size(), 2);
  EXPECT_EQ(test.label(1), 2);
  write("m/labels.txt", "a\nb\nc\nd\ne\nf\r\ng\nh\ni\nj\n\n");
  EXPECT_EQ(LabelledImages(folder_ / "m/t10k-images-idx3-ubyte").classes()[5], "f");
  write("z/train-images-idx3-ubyte.gz", gzip(idx_images(3)));
  write("z/train-labels-idx1-ubyte.gz", gzip(idx_labels({5, 0, 9})));
  try {
    const LabelledImages packed(folder_ / "z");
    EXPECT_EQ(packed.read(2), train.read(2));
    EXPECT_EQ(packed.label(0), 5);
  } catch (const Error& error) {
    if (std::string(error.what()).find("this build has no zlib") == std::string::npos) throw;
  }
}

TEST_F(LabelledImagesTest, IdxFilesThatLieAreRefused) {
  const std::string name = "x-images-idx3-ubyte";
  const auto with = [&](const std::string& images, const std::string& labels) {
    write(name, images);
    write("x-labels-idx1-ubyte", labels);
  };
  const std::string good = idx_images(3), labels = idx_labels({1, 2, 3});
  write(name, good);
  expect_message(name, "the labels are missing: there is neither 'x-labels-idx1-ubyte' nor 'x-labels-idx1-ubyte.gz'");
  with("", labels);
  expect_message(name, "ends inside of the header");
  with(good.substr(0, 15), labels);
  expect_message(name, "ends inside of the header");
  with(good.substr(0, 40), labels);
  expect_message(name, "says that it has 3 images of 4 x 3, which are 52 bytes, but it has 40");
  with(good + "x", labels);
  expect_message(name, "but it has 53");
  with(idx_labels(std::vector<int>(20)), labels);
  expect_message(name, "it begins with 0x00000801, not 0x00000803");
  with(big_endian(0x803) + big_endian(0xffffffff) + good.substr(8), labels);
  expect_message(name, "says that it has 4294967295 images");
  with(big_endian(0x803) + big_endian(0) + good.substr(8), labels);
  expect_message(name, "says that it has 0 images");
  with(big_endian(0x803) + big_endian(3) + big_endian(70000) + big_endian(28), labels);
  expect_message(name, "says that its images are 28 x 70000: a side is 1 to 16384");
  with(big_endian(0x803) + big_endian(1 << 27) + big_endian(16384) + big_endian(16384), labels);
  expect_message(name, "which are 36028797018963984 bytes, but it has 16");
  with(good, idx_labels({1, 2}));
  expect_message(name, "has 2 labels, but");
  with(good, labels.substr(0, 10));
  expect_message(name, "says that it has 3 labels, which are 11 bytes, but it has 10");
  with(good, idx_labels({1, 255, 3}));
  expect_message(name, "x-labels-idx1-ubyte: image 1 has the label 255, and the labels are 0 to 9");
  write("labels.txt", "a\na\n");
  expect_message(name, "labels.txt: names the class \"a\" twice");
}

TEST_F(LabelledImagesTest, CifarsFiles) {
  write("c/data_batch_1.bin", cifar({"\x03", "\x09"}));
  write("c/data_batch_2.bin", cifar({std::string(1, '\0'), "\x01"}));
  write("c/test_batch.bin", cifar({"\x04"}));
  write("c/batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  const LabelledImages train(folder_ / "c");
  ASSERT_EQ(train.size(), 4);
  EXPECT_EQ(train.classes()[3], "cat");
  EXPECT_EQ(train.label(3), 1);
  EXPECT_EQ(train.name(3), (folder_ / "c/data_batch_2.bin").string() + ", image 1");
  const image::Image image = train.read(3);
  EXPECT_EQ(image.width, 32);
  for (int c = 0; c < 3; ++c) EXPECT_EQ(image.row(31)[3 * 31 + c], 10 + c);
  EXPECT_EQ(LabelledImages(folder_ / "c", {.classes = train.classes(), .unseen = true}).label(0), 4);
  write("h/train.bin", cifar({std::string("\x03\x63", 2), std::string("\x13\x01", 2)}));
  const LabelledImages hundred(folder_ / "h");
  EXPECT_EQ(hundred.classes().size(), 100u);
  EXPECT_EQ(hundred.label(0), 99);
  EXPECT_EQ(hundred.read(1).row(0)[2], 12);
}

TEST_F(LabelledImagesTest, CifarsFilesThatLieAreRefused) {
  write("a.bin", "");
  expect_message("a.bin", "is no file of CIFAR");
  write("data_batch_1.bin", cifar({"\x03", "\x09"}).substr(0, 6000));
  expect_message("data_batch_1.bin", "is no file of CIFAR-10: 6000 bytes are no whole number of images of 3073 bytes");
  write("test_batch.bin", cifar({"\x03", "\xff"}));
  expect_message("test_batch.bin", "image 1 has the label 255, and the labels are 0 to 9");
  write("train.bin", cifar({"\x01\x64"}));
  expect_message("train.bin", "has the label 100, and the labels are 0 to 99");
}

TEST_F(LabelledImagesTest, DamagedGzipIsRefused) {
  write("x-images-idx3-ubyte.gz", gzip(idx_images(3)).substr(0, 40));
  const std::string text = message("x-images-idx3-ubyte.gz");
  if (text.find("no zlib") != std::string::npos) GTEST_SKIP() << text;
  EXPECT_NE(text.find("the gzip data ends too early"), std::string::npos) << text;
  std::string damaged = gzip(idx_images(3));
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  write("x-images-idx3-ubyte.gz", damaged);
  expect_message("x-images-idx3-ubyte.gz", "the gzip data is damaged");
}

// Damaged files of every kind: images or an Error, never anything else (ASan watches in CI).
TEST_F(LabelledImagesTest, MutatedFilesAreReadOrRefused) {
  const std::vector<std::pair<std::string, std::string>> files = {{"x-images-idx3-ubyte", idx_images(3)},
                                                                  {"x-labels-idx1-ubyte", idx_labels({1, 2, 3})},
                                                                  {"b.bin", cifar({"\x03", "\x09"})},
                                                                  {"t.csv", "path,label\na.png,1\n\"b.png\",2\n"}};
  int read = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    test::Draw draw{.seed = 100 + i};
    for (const auto& [name, bytes] : files) {
      std::string changed = bytes;
      for (std::uint32_t edits = draw.below(3); edits > 0 && !changed.empty(); --edits) {
        const std::size_t at = draw.below(static_cast<std::uint32_t>(std::min<std::size_t>(changed.size(), 24)));
        if (draw.below(3) == 0)
          changed.resize(changed.size() - at);
        else
          changed[at] = static_cast<char>(draw.below(256));
      }
      std::filesystem::remove(folder_ / name);
      std::ofstream(folder_ / name, std::ios::binary) << changed;
    }
    for (const char* name : {"x-images-idx3-ubyte", "b.bin", "t.csv"}) try {
        const LabelledImages images(folder_ / name);
        for (std::int64_t p = 0; images.decoded() && p < images.size(); ++p) images.read(p);
        ++read;
      } catch (const Error&) {
      }
  }
  EXPECT_GT(read, 100);
}

TEST(ImageSplits, AreOfTheSeedAndLeaveNothingOut) {
  const ImageSplit split = split_images(1000, 0.1, 3), again = split_images(1000, 0.1, 3);
  EXPECT_EQ(split.valid, again.valid);
  EXPECT_EQ(split.train, again.train);
  EXPECT_NE(split.valid, split_images(1000, 0.1, 4).valid);
  EXPECT_EQ(split.valid.size(), 100u);
  std::set<std::int64_t> all(split.train.begin(), split.train.end());
  all.insert(split.valid.begin(), split.valid.end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(*all.rbegin(), 999);
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(split_images(10, 0, 1).valid.empty());
  EXPECT_EQ(split_images(10, 0.001, 1).valid.size(), 1u);
  EXPECT_THROW(split_images(10, 1, 1), Error);
  EXPECT_THROW(split_images(1, 0.5, 1), Error);
}

}  // namespace
}  // namespace attend::data
