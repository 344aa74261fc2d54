#include "attend/data/text/token_stream.h"

#include <algorithm>
#include <cstring>

#include "attend/base/error.h"
#include "attend/base/file_mark.h"
#include "attend/base/files.h"
#include "attend/base/hashing.h"
#include "attend/base/random.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/text_reader.h"
#include "attend/text/tokenizer.h"

namespace attend::data {

namespace {

// The file: this, then the ids as 32-bit little-endian numbers.
struct Header {
  char magic[8] = {'a', 't', 't', 'T', 'O', 'K', '0', '3'};
  std::uint64_t text = 0, tokenizer = 0;  // hashes of what it was made from
  std::uint64_t count = 0, ids = 0;       // how many ids, and their hash
};

std::uint64_t hash_of(const TokenStreamFiles& files) {
  auto hash = static_cast<std::uint64_t>(files.line_end + 1);
  for (const std::string& text : files.texts) hash = hash_key(hash) + hash_of_file(text);
  return hash;
}

void encode_lines(const text::Tokenizer& tokenizer, std::string_view block, std::int32_t end,
                  std::vector<std::int32_t>& ids) {
  for (std::size_t length; !block.empty(); block.remove_prefix(std::min(length + 1, block.size()))) {
    length = std::min(block.find('\n'), block.size());
    const std::vector<std::int32_t> line = tokenizer.encode_ids(block.substr(0, length), {.add_special_tokens = false});
    if (line.empty()) continue;
    ids.insert(ids.end(), line.begin(), line.end());
    ids.push_back(end);
  }
}

void encode_text(const text::Tokenizer& tokenizer, const std::filesystem::path& text, std::int32_t line_end,
                 std::vector<std::int32_t>& ids) {
  text::TextReader reader(text);
  for (std::string_view block = reader.next_block(); !block.empty(); block = reader.next_block()) {
    if (const auto byte = find_invalid_utf8(block))
      fail("'{}' is not UTF-8 (byte {} of a block)", text.string(), *byte);
    if (line_end >= 0) {
      encode_lines(tokenizer, block, line_end, ids);
      continue;
    }
    const std::vector<std::int32_t> more = tokenizer.encode_ids(block, {.add_special_tokens = false});
    ids.insert(ids.end(), more.begin(), more.end());
  }
}

std::string_view bytes_of_ids(const std::vector<std::int32_t>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::int32_t)};
}

bool fits(const MappedFile& file, const Header& wanted) {
  Header found;
  if (file.size() < sizeof found) return false;
  std::memcpy(&found, file.bytes().data(), sizeof found);
  const std::string_view ids = file.text().substr(sizeof found);
  return std::memcmp(found.magic, wanted.magic, sizeof found.magic) == 0 && found.text == wanted.text &&
         found.tokenizer == wanted.tokenizer && ids.size() / sizeof(std::int32_t) == found.count &&
         ids.size() % sizeof(std::int32_t) == 0 && hash_text(ids) == found.ids;
}

}  // namespace

TokenStream::TokenStream(MappedFile file) : file_(std::move(file)), begin_(sizeof(Header)) {
  size_ = static_cast<std::int64_t>((file_.size() - begin_) / sizeof(std::int32_t));
}

std::int32_t TokenStream::operator[](std::int64_t i) const {
  std::int32_t id;
  std::memcpy(&id, file_.bytes().data() + begin_ + static_cast<std::size_t>(i) * sizeof id, sizeof id);
  return id;
}

TokenStream TokenStream::open_or_build(const TokenStreamFiles& files) {
  check(!files.texts.empty(), "training: no text was named");
  Header header;
  header.text = hash_of(files), header.tokenizer = hash_of_file(files.tokenizer);
  if (std::filesystem::exists(files.cache)) {
    MappedFile file(files.cache);
    if (fits(file, header)) return TokenStream(std::move(file));
  }
  const text::Tokenizer tokenizer = text::Tokenizer::load(files.tokenizer);
  std::vector<std::int32_t> ids;
  for (const std::string& text : files.texts) encode_text(tokenizer, text, files.line_end, ids);
  check(ids.size() >= 2, "'{}': a text of {} tokens has nothing to predict", files.texts[0], ids.size());
  header.count = ids.size(), header.ids = hash_text(bytes_of_ids(ids));
  const std::filesystem::path& made = files.rebuilt.empty() ? files.cache : files.rebuilt;
  write_file(made, [&](const FileWriter& write) {
    write({reinterpret_cast<const char*>(&header), sizeof header});
    write(bytes_of_ids(ids));
  });
  return TokenStream(MappedFile(made));
}

TokenWindows random_windows(const TokenStream& stream, std::int64_t rows, std::int64_t length, std::uint64_t seed,
                            std::uint64_t batch) {
  check(stream.size() > length, "training: the text has {} tokens, fewer than a window of {} and one more",
        stream.size(), length);
  TokenWindows windows;
  const auto places = static_cast<std::uint64_t>(stream.size() - length);
  for (std::int64_t row = 0; row < rows; ++row) {
    const Random4 words =
        philox(seed, 0x7013u, batch * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row));
    const std::uint64_t drawn = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
    const auto first = static_cast<std::int64_t>(drawn % places);
    for (std::int64_t i = first; i < first + length; ++i) {
      windows.ids.push_back(stream[i]);
      windows.labels.push_back(stream[i + 1]);
    }
  }
  stream.check_whole();
  return windows;
}

std::int64_t window_count(const TokenStream& stream, std::int64_t length) {
  return (stream.size() - 1 + length - 1) / length;
}

TokenWindows window_at(const TokenStream& stream, std::int64_t first, std::int64_t rows, std::int64_t length) {
  TokenWindows windows;
  for (std::int64_t i = first * length; i < (first + rows) * length; ++i) {
    windows.ids.push_back(i < stream.size() ? stream[i] : 0);
    windows.labels.push_back(i + 1 < stream.size() ? stream[i + 1] : -100);
  }
  stream.check_whole();
  return windows;
}

}  // namespace attend::data
