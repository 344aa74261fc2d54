#include "attend/text/text_reader.h"

#include <algorithm>

#include "attend/base/text_check.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/gzip.h"

namespace attend::text {

struct TextReader::Gzip {
  Gzip(const std::filesystem::path& path, std::string_view compressed) : reader(path.string(), compressed) {}
  GzipReader reader;
  std::string text;      // inflated
  std::size_t done = 0;  // of which handed out
};

TextReader::TextReader(const std::filesystem::path& path, std::size_t block_bytes)
    : block_bytes_(std::max<std::size_t>(block_bytes, 1)), name_(path.string()), file_(path) {
  if (is_gzip(file_.text())) gzip_ = std::make_unique<Gzip>(path, file_.text());
}

TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;

std::string_view TextReader::next_block() {
  const std::string_view block = gzip_ ? next_decompressed() : next_mapped();
  if (!first_) return block;
  first_ = false;
  check_is_text(block, name_);
  const std::string_view text = without_mark(block);
  return text.empty() && !block.empty() ? next_block() : text;  // a mark alone is not the end
}

std::string_view TextReader::next_mapped() {
  file_.forget(file_.bytes().subspan(given_, at_ - given_));  // the block before: a large file would fill the memory
  given_ = at_;
  const std::string_view rest = file_.text().substr(at_);
  std::size_t end = rest.size();
  if (rest.size() > block_bytes_) {
    end = rest.rfind('\n', block_bytes_ - 1);
    if (end == rest.npos) end = rest.find('\n', block_bytes_);
    end = end == rest.npos ? rest.size() : end + 1;
  }
  at_ += end;
  return rest.substr(0, end);
}

std::string_view TextReader::next_decompressed() {
  std::string& text = gzip_->text;
  text.erase(0, gzip_->done);
  gzip_->done = 0;
  while (gzip_->reader.read(block_bytes_, text)) {
    const std::size_t end = text.rfind('\n');
    if (end == text.npos) continue;  // not one whole line yet
    gzip_->done = end + 1;
    return std::string_view(text).substr(0, end + 1);
  }
  gzip_->done = text.size();
  return text;
}

}  // namespace attend::text
