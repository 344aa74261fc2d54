// What BERT does to text (Devlin et al. 2019, its BasicTokenizer): controls go, white space becomes spaces, Chinese
// characters stand alone, accents go, and letters become small.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attend/text/steps/normalizer.h"

namespace attend::text {

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const JsonView& json);
  void apply(AlignedText& text) const override;
  void apply_bytes(std::string& text, TextBudget& budget) const override;

 private:
  static void clean(AlignedText& text);
  static void set_chinese_apart(AlignedText& text);
  static void strip_accents(AlignedText& text);
  std::string one(char32_t c) const;

  bool cleans_, sets_chinese_apart_, strips_accents_, lowers_;
  std::vector<std::string> small_;  // what the characters below 0x800 become, each by itself
};

// Used by Lowercase also.
void lower_text(AlignedText& text);

}  // namespace attend::text
