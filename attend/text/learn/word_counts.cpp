#include "attend/text/learn/word_counts.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/steps/gpt2_words.h"

namespace attend::text {

namespace {

constexpr std::size_t kPageBytes = std::size_t{1} << 20;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // what a thread takes at a time

// Cuts a block into pieces of whole lines.
std::vector<std::string_view> cut(std::string_view lines) {
  std::vector<std::string_view> pieces;
  while (!lines.empty()) {
    const std::size_t end = lines.size() > kPieceBytes ? lines.find('\n', kPieceBytes) : lines.npos;
    pieces.push_back(lines.substr(0, end == lines.npos ? end : end + 1));
    lines.remove_prefix(pieces.back().size());
  }
  return pieces;
}

// GPT-2's words are letters, numbers or neither; a space may be in front.
bool is_number(std::string_view word) {
  std::size_t at = word.size() > 1 && word.front() == ' ' ? 1 : 0;
  return has_property(next_character(word, at), Property::number);
}

}  // namespace

WordTable::WordTable() : slots_(std::size_t{1} << 14) {}

std::string_view WordTable::keep(std::string_view word) {
  if (pages_.empty() || pages_.back().capacity() - pages_.back().size() < word.size())
    pages_.emplace_back().reserve(std::max(kPageBytes, word.size()));
  std::string& page = pages_.back();
  page.append(word);  // within the capacity, so what is kept stays where it is
  return std::string_view(page).substr(page.size() - word.size());
}

void WordTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.index == 0) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].index != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

void WordTable::add(std::string_view word, std::uint64_t count) {
  const auto hash = static_cast<std::uint32_t>(hash_text(word));
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].index != 0; at = (at + 1) & (slots_.size() - 1)) {
    CountedWord& known = words_[slots_[at].index - 1];
    if (slots_[at].hash == hash && known.text == word) {
      known.count += count;
      return;
    }
  }
  words_.push_back({keep(word), count});
  slots_[at] = {hash, static_cast<std::uint32_t>(words_.size())};
  if (words_.size() * 2 > slots_.size()) grow();
}

WordCounter::WordCounter(ThreadPool& pool, WordCountOptions options)
    : pool_(pool), options_(std::move(options)), counts_(static_cast<std::size_t>(pool.threads())) {}

void WordCounter::add(std::string_view lines) {
  const std::vector<std::string_view> pieces = cut(lines);
  // Sums do not depend on who counts what, so threads may take pieces as they come.
  std::atomic<std::size_t> next = 0;
  pool_.for_each(static_cast<std::int64_t>(counts_.size()), [&](std::int64_t thread) {
    for (std::size_t i; (i = next.fetch_add(1)) < pieces.size();)
      add_piece(pieces[i], counts_[static_cast<std::size_t>(thread)]);
  });
  lines_ = invalid_lines_ = 0;
  for (const Counts& counts : counts_) lines_ += counts.lines, invalid_lines_ += counts.invalid_lines;
}

void WordCounter::add_piece(std::string_view lines, Counts& counts) const {
  const Gpt2Words words;
  std::string spaced;
  while (!lines.empty()) {
    const void* feed = std::memchr(lines.data(), '\n', lines.size());
    const std::size_t length =
        feed ? static_cast<std::size_t>(static_cast<const char*>(feed) - lines.data()) + 1 : lines.size();
    std::string_view line = lines.substr(0, length);
    lines.remove_prefix(length);
    ++counts.lines;
    if (!options_.line_ends && line.ends_with('\n')) {
      line.remove_suffix(1);
      if (line.ends_with('\r')) line.remove_suffix(1);
    }
    if (find_invalid_utf8(line)) {
      ++counts.invalid_lines;
      continue;
    }
    if (options_.add_prefix_space && !line.empty()) {
      spaced.assign(" ").append(line);
      line = spaced;
    }
    if (options_.cut) {
      options_.cut(line, counts.words);
      continue;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = words.end_of_word(line, at);
      const std::string_view word = line.substr(at, end - at);
      if (!options_.single_digits || !is_number(word)) counts.words.add(word, 1);
      at = end;
    }
  }
}

std::vector<CountedWord> WordCounter::words() {
  for (std::size_t i = 1; i < counts_.size(); ++i) {
    for (const CountedWord& word : counts_[i].words.words()) counts_[0].words.add(word.text, word.count);
    counts_[i].words = WordTable();
  }
  std::vector<CountedWord> sorted = counts_[0].words.words();
  std::ranges::sort(sorted, [](const CountedWord& a, const CountedWord& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  return sorted;
}

}  // namespace attend::text
