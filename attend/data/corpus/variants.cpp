#include "attend/data/corpus/variants.h"

#include "attend/data/corpus/clean.h"
#include "attend/data/corpus/quotation_marks.h"
#include "attend/data/corpus/title_case.h"

namespace attend::data {

namespace {

constexpr std::int64_t kHeadlineWords = 12;   // the longest title
constexpr std::int64_t kQuotationWords = 40;  // the longest sentence that is put between quotation marks

bool as_headline(const PairView& pair, const VariantChoice&, PairText& copy) {
  if (count_words(pair.source) > kHeadlineWords) return false;
  copy = {title_cased(pair.source), std::string(pair.target)};
  return true;
}

bool with_other_marks(const PairView& pair, const VariantChoice& choice, PairText& copy) {
  const int marks = count_marks(pair.source);
  if (marks <= 0 || count_marks(pair.target) != marks) return false;
  copy = {with_marks(pair.source, some_marks(choice.source_language, choice.draw)),
          with_marks(pair.target, own_marks(choice.target_language))};
  return copy.source != pair.source || copy.target != pair.target;
}

// A full stop, and neither an ellipsis nor the end of a quotation.
bool ends_with_full_stop(std::string_view text) {
  return text.size() > 1 && text.ends_with('.') && !text.ends_with("..");
}

bool without_full_stop(const PairView& pair, const VariantChoice&, PairText& copy) {
  if (!ends_with_full_stop(pair.source) || !ends_with_full_stop(pair.target)) return false;
  copy = {std::string(pair.source.substr(0, pair.source.size() - 1)),
          std::string(pair.target.substr(0, pair.target.size() - 1))};
  return true;
}

bool as_quotation(const PairView& pair, const VariantChoice& choice, PairText& copy) {
  if (count_words(pair.source) > kQuotationWords || count_marks(pair.source) != 0 || count_marks(pair.target) != 0)
    return false;
  copy = {quoted(pair.source, some_marks(choice.source_language, choice.draw)),
          quoted(pair.target, own_marks(choice.target_language))};
  return true;
}

}  // namespace

const std::array<Variant, 4> kVariants = {{
    {.flag = "--title-case",
     .share = &VariantShares::title_case,
     .help = "Share of short pairs that also come with a title-cased source, as in headlines.",
     .counted = "title-cased copies",
     .stream = 3,
     .apply = as_headline},
    {.flag = "--quotes",
     .share = &VariantShares::quotes,
     .help = "Share of pairs with quotations that also come with other quotation marks.",
     .counted = "copies with other quotation marks",
     .stream = 5,
     .apply = with_other_marks},
    {.flag = "--no-full-stop",
     .share = &VariantShares::no_full_stop,
     .help = "Share of pairs that also come without their full stops, as captions and headlines do.",
     .counted = "copies without full stop",
     .stream = 6,
     .apply = without_full_stop},
    {.flag = "--quoted",
     .share = &VariantShares::quoted,
     .help = "Share of pairs without quotation marks that also come as a quotation.",
     .counted = "copies as a quotation",
     .stream = 7,
     .apply = as_quotation},
}};

}  // namespace attend::data
