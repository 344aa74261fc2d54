#include "attend/look/api/sample_set.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <tuple>

#include "attend/base/files.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"

namespace attend::look {

namespace {

constexpr std::size_t kMostSamples = 16;
constexpr int kPaintedSize = 224;

bool is_sample(const std::filesystem::path& path) {
  const std::string name = path.stem().string(), kind = path.extension().string();
  return (kind == ".png" || kind == ".jpg") &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

}  // namespace

SampleSet::SampleSet(const std::filesystem::path& model, SampleKind painted) : painted_(painted) {
  std::error_code error;
  if (!model.empty())
    for (std::filesystem::directory_iterator at(model / "samples", error), end; !error && at != end;
         at.increment(error))
      if (is_sample(at->path())) files_.push_back(at->path());
  const auto order = [](const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    return std::tuple(name.starts_with("fooled"), name);
  };
  std::ranges::sort(files_, {}, order);
  files_.resize(std::min(files_.size(), kMostSamples));
  for (const std::filesystem::path& path : files_) names_.push_back(path.stem().string());
  if (!files_.empty()) return;
  for (const SampleImage& sample : sample_images(painted)) names_.emplace_back(sample.name);
}

std::string SampleSet::file(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return "";
  const auto at = static_cast<std::size_t>(found - names_.begin());
  return files_.empty() ? image::encode_png(sample_images(painted_)[at].paint(kPaintedSize)) : read_file(files_[at]);
}

std::optional<image::Image> SampleSet::image(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return {};
  if (files_.empty())
    return sample_images(painted_)[static_cast<std::size_t>(found - names_.begin())].paint(kPaintedSize);
  const std::string bytes = file(name);
  return image::decode(std::as_bytes(std::span(bytes)), std::string(name));
}

}  // namespace attend::look
