// Facts of sets of images: classes, sizes, files that cannot be read, images that are there twice, and how a set to
// test with fits.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <unordered_map>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/paths.h"
#include "attend/data/facts/facts.h"
#include "attend/data/facts/places.h"
#include "attend/data/images/captioned_images.h"
#include "attend/data/images/detection_sets.h"
#include "attend/data/images/labelled_images.h"

namespace attend::data {

namespace {

constexpr std::int64_t kSizesOnly = 64;  // so many images are looked at for their sizes

// Reads images and keeps what is wrong with them.
class ImageLook {
 public:
  explicit ImageLook(DataFacts& facts) : facts_(facts) {}

  void look(const std::string& name, const std::string& label, const auto& read) {
    try {
      const image::Image image = read();
      widths_.push_back(image.width), heights_.push_back(image.height);
      const std::string_view pixels(reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size());
      const auto [found, added] = seen_.emplace(hash_text(pixels), Seen{name, label});
      if (added) return;
      (found->second.label == label ? twice_ : two_labels_)
          .add(found->second.label == label
                   ? fmt::format("{} and {}", found->second.name, name)
                   : fmt::format("{} is '{}', {} is '{}'", found->second.name, found->second.label, name, label));
    } catch (const Error& error) {
      broken_.add(error.what());
    }
  }

  // An image of the set to test with: is it among those that are learned from?
  void look_at_test(const std::string& name, const auto& read) {
    try {
      const image::Image image = read();
      const std::string_view pixels(reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size());
      if (const auto found = seen_.find(hash_text(pixels)); found != seen_.end())
        in_both_.add(fmt::format("{} and {}", found->second.name, name));
    } catch (const Error& error) {
      broken_.add(error.what());
    }
  }

  void report() {
    facts_.image_width = spread_of(widths_), facts_.image_height = spread_of(heights_);
    broken_.report(facts_.findings, "broken files: {}");
    twice_.report(facts_.findings, "duplicate images (equal pixels): {}");
    two_labels_.report(facts_.findings, "suspicious labels, equal images with two different labels: {}");
    in_both_.report(facts_.findings, "images of the test set that are in the training set too (equal pixels): {}");
  }

 private:
  struct Seen {
    std::string name, label;
  };
  DataFacts& facts_;
  std::vector<std::int64_t> widths_, heights_;
  std::unordered_map<std::uint64_t, Seen> seen_;
  Places broken_, twice_, two_labels_, in_both_;
};

// Of many images some at equal distances, so that all classes are among them.
std::int64_t stride_of(std::int64_t count, const FactsOptions& options) {
  return options.all_images ? 1 : std::max<std::int64_t>(1, count / kSizesOnly);
}

// The images to test with: those that are named, or the test part of the same folder. Null where there are none.
std::unique_ptr<LabelledImages> test_images(const LabelledImages& images, const std::filesystem::path& path,
                                            const FactsOptions& options) {
  if (!options.all_images) return nullptr;
  auto test = std::make_unique<LabelledImages>(options.test.empty() ? path : options.test,
                                               LabelledImagesOptions{.unseen = true, .empty_classes = true});
  const bool same = test->size() == images.size() && images.size() > 0 && test->name(0) == images.name(0);
  return options.test.empty() && same ? nullptr : std::move(test);
}

// The classes that have an image.
std::vector<std::string> labels_in(const LabelledImages& images) {
  std::vector<bool> used(images.classes().size());
  for (std::int64_t i = 0; i < images.size(); ++i) used[static_cast<std::size_t>(images.label(i))] = true;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) labels.push_back(images.classes()[i]);
  return labels;
}

// Labels that only one of both sets has, and labels that differ in nothing but case and blanks.
void compare_labels(DataFacts& facts, const std::vector<std::string>& train, const std::vector<std::string>& test) {
  Places unknown, untested, alike;
  for (const std::string& label : test)
    if (!std::ranges::count(train, label)) unknown.add(label);
  if (!test.empty())
    for (const std::string& label : train)
      if (!std::ranges::count(test, label)) untested.add(label);
  std::map<std::string, std::string> plain;
  for (const std::string& label : train) {
    std::string key;
    for (const char c : label)
      if (c != ' ' && c != '_' && c != '-') key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto [found, added] = plain.emplace(key, label);
    if (!added) alike.add(fmt::format("'{}' and '{}'", found->second, label));
  }
  unknown.report(facts.findings, "labels that do not match, in the test set alone: {}");
  untested.report(facts.findings, "labels without an image in the test set: {}");
  alike.report(facts.findings, "suspicious labels that differ in case, blanks, - or _ alone: {}");
}

void look_at_classes(DataFacts& facts, const FactsOptions& options) {
  const LabelledImages images(facts.data.paths[0], LabelledImagesOptions{.empty_classes = true});
  facts.examples = images.size();
  std::vector<std::int64_t> counts(images.classes().size());
  for (std::int64_t i = 0; i < images.size(); ++i) ++counts[static_cast<std::size_t>(images.label(i))];
  for (std::size_t i = 0; i < counts.size(); ++i) facts.classes.emplace_back(images.classes()[i], counts[i]);
  const auto class_of = [&](std::int64_t i) { return images.classes()[static_cast<std::size_t>(images.label(i))]; };
  if (!images.left_out().empty()) facts.findings.push_back({images.left_out()});
  ImageLook look(facts);
  for (std::int64_t i = 0; i < images.size(); i += stride_of(images.size(), options))
    look.look(images.name(i), class_of(i), [&] { return images.read(i); });
  const auto test = test_images(images, facts.data.paths[0], options);
  for (std::int64_t i = 0; test && i < test->size(); ++i)
    look.look_at_test(test->name(i), [&] { return test->read(i); });
  compare_labels(facts, images.classes(), test ? labels_in(*test) : std::vector<std::string>());
  if (test) facts.data.what += fmt::format("; {} images to test with", test->size());
  look.report();
  const std::int64_t apart = std::max<std::int64_t>(1, images.size() / static_cast<std::int64_t>(kSamples));
  for (std::int64_t i = 0; i < images.size() && facts.samples.size() < kSamples; i += apart)
    facts.samples.push_back({images.name(i), class_of(i)});
}

void look_at_loose(DataFacts& facts, const FactsOptions& options) {
  std::vector<std::string> files;
  for (const auto& path : files_in(facts.data.paths[0]))
    if (is_image_name(path)) files.push_back(path.filename().string());
  const LabelledImages images(facts.data.paths[0], files);
  facts.examples = images.size();
  facts.findings.push_back(
      {"the images have no classes; to train a classifier, put them into a folder for each class, 'cat/1.jpg'"});
  ImageLook look(facts);
  for (std::int64_t i = 0; i < images.size(); i += stride_of(images.size(), options))
    look.look(images.name(i), "", [&] { return images.read(i); });
  look.report();
  for (std::size_t i = 0; i < files.size() && i < kSamples; ++i) facts.samples.push_back({files[i]});
}

void look_at_objects(DataFacts& facts, const FactsOptions& options) {
  const DetectionSet set(facts.data.paths[0]);
  facts.examples = set.size();
  std::vector<std::int64_t> counts(set.classes().size()), boxes;
  std::int64_t none = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    boxes.push_back(static_cast<std::int64_t>(set.boxes(i).size()));
    none += set.boxes(i).empty() ? 1 : 0;
    std::string said;
    for (const LabelledBox& box : set.boxes(i)) {
      ++counts[static_cast<std::size_t>(box.label)];
      said += (said.empty() ? "" : ", ") + set.classes()[static_cast<std::size_t>(box.label)];
    }
    if (facts.samples.size() < kSamples) facts.samples.push_back({set.name(i), said.empty() ? "no boxes" : said});
  }
  for (std::size_t i = 0; i < counts.size(); ++i) facts.classes.emplace_back(set.classes()[i], counts[i]);
  const Spread spread = facts.boxes = spread_of(boxes);
  facts.data.what +=
      fmt::format("; {} to {} boxes an image, {:.1f} on average", spread.least, spread.most, spread.mean);
  if (!set.left_out().empty()) facts.findings.push_back({set.left_out()});
  if (none > 0) facts.findings.push_back({fmt::format("images without boxes: {}", none)});
  ImageLook look(facts);
  for (std::int64_t i = 0; i < set.size(); i += stride_of(set.size(), options))
    look.look(set.name(i), "", [&] { return set.read(i); });
  look.report();
}

void look_at_captions(DataFacts& facts, const FactsOptions& options) {
  const CaptionedImages set = read_captioned_images(facts.data.paths[0]);
  facts.examples = set.size();
  std::vector<std::string_view> lines;
  for (std::size_t i = 0; i < set.captions.size(); ++i) {
    for (const std::string& caption : set.captions[i]) lines.push_back(caption);
    if (facts.samples.size() < kSamples) facts.samples.push_back({set.files[i], set.captions[i][0]});
  }
  facts.texts.push_back(facts_of_lines(lines));
  facts.texts[0].name = "captions";
  if (!set.left_out.empty()) facts.findings.push_back({set.left_out});
  const LabelledImages images(set.root, set.files);
  ImageLook look(facts);
  for (std::int64_t i = 0; i < images.size(); i += stride_of(images.size(), options))
    look.look(images.name(i), "", [&] { return images.read(i); });
  look.report();
}

}  // namespace

void add_image_facts(DataFacts& facts, const FactsOptions& options) {
  facts.noun = "images";
  if (facts.data.kind == DataKind::labelled_images)
    look_at_classes(facts, options);
  else if (facts.data.kind == DataKind::loose_images)
    look_at_loose(facts, options);
  else if (facts.data.kind == DataKind::objects)
    look_at_objects(facts, options);
  else
    look_at_captions(facts, options);
}

}  // namespace attend::data
