#include "attend/text/steps/unicode_normalization.h"

#include <algorithm>
#include <span>

#include "attend/base/unicode/normalization_tables.h"

namespace attend::text {

namespace {

// Hangul syllables are a leading consonant, a vowel and perhaps a trailing consonant (Unicode 3.12).
constexpr char32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTrails = 28, kSyllables = kLeads * kVowels * kTrails;

struct Marked {
  char32_t character;
  int change;
  std::uint8_t combining;
};

std::uint8_t combining_class(char32_t c) {
  if (c < kCombining[0].first) return 0;
  const std::span<const CombiningRun> runs(kCombining);
  const auto run = std::ranges::lower_bound(runs, c, {}, &CombiningRun::last);
  return run != runs.end() && run->first <= c ? run->combining_class : 0;
}

const Decomposition* find(std::span<const Decomposition> table, char32_t c) {
  const auto found = std::ranges::lower_bound(table, c, {}, &Decomposition::character);
  return found != table.end() && found->character == c ? &*found : nullptr;
}

// c in full; the first character replaces it and the others are added.
void decompose(char32_t c, bool compatible, std::vector<Marked>& out) {
  if (c < 0xA0) {
    out.push_back({c, 0, 0});
    return;
  }
  if (c >= kSyllable && c < kSyllable + kSyllables) {
    const char32_t index = c - kSyllable;
    out.push_back({kLead + index / (kVowels * kTrails), 0, 0});
    out.push_back({kVowel + index % (kVowels * kTrails) / kTrails, 1, 0});
    if (index % kTrails != 0) out.push_back({kTrail + index % kTrails, 1, 0});
    return;
  }
  const Decomposition* found = compatible ? find(kCompatible, c) : nullptr;
  if (!found) found = find(kCanonical, c);
  if (!found) {
    out.push_back({c, 0, combining_class(c)});
    return;
  }
  for (int i = 0; i < found->length; ++i) {
    const char32_t part = kDecomposed[found->begin + i];
    out.push_back({part, i > 0 ? 1 : 0, combining_class(part)});
  }
}

// The character that a and b make together, or 0.
char32_t compose(char32_t a, char32_t b) {
  if (a >= kLead && a < kLead + kLeads && b >= kVowel && b < kVowel + kVowels)
    return kSyllable + ((a - kLead) * kVowels + (b - kVowel)) * kTrails;
  if (a >= kSyllable && a < kSyllable + kSyllables && (a - kSyllable) % kTrails == 0 && b > kTrail &&
      b < kTrail + kTrails)
    return a + (b - kTrail);
  const std::span<const Composition> table(kCompositions);
  const auto found = std::ranges::lower_bound(table, std::pair(a, b), {},
                                              [](const Composition& c) { return std::pair(c.first, c.second); });
  return found != table.end() && found->first == a && found->second == b ? found->composed : 0;
}

void compose_all(std::vector<Marked>& text) {
  std::size_t kept = 0, starter = 0;
  bool started = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Marked next = text[i];
    // A mark is blocked from the starter by one of its own class or a higher one between them.
    const bool adjacent = started && kept == starter + 1;
    const bool blocked = !started || (!adjacent && text[kept - 1].combining >= next.combining);
    const char32_t composed = blocked ? 0 : compose(text[starter].character, next.character);
    if (composed) {
      text[starter].character = composed;
      text[starter].change += next.change - 1;
      continue;
    }
    if (next.combining == 0) starter = kept, started = true;
    text[kept++] = next;
  }
  text.resize(kept);
}

}  // namespace

std::vector<ChangedCharacter> normalize(std::u32string_view text, NormalizationForm form) {
  const bool compatible = form == NormalizationForm::nfkc || form == NormalizationForm::nfkd;
  std::vector<Marked> marked;
  marked.reserve(text.size());
  for (char32_t c : text) decompose(c, compatible, marked);
  // Runs of marks are put in the order of their classes.
  for (std::size_t begin = 0; begin < marked.size();) {
    if (marked[begin].combining == 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < marked.size() && marked[end].combining != 0) ++end;
    std::stable_sort(marked.begin() + static_cast<std::ptrdiff_t>(begin),
                     marked.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Marked& a, const Marked& b) { return a.combining < b.combining; });
    begin = end;
  }
  if (form == NormalizationForm::nfc || form == NormalizationForm::nfkc) compose_all(marked);
  std::vector<ChangedCharacter> changes;
  changes.reserve(marked.size());
  for (const Marked& m : marked) changes.push_back({m.character, m.change});
  return changes;
}

}  // namespace attend::text
