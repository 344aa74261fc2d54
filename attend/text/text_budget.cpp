#include "attend/text/text_budget.h"

#include "attend/base/error.h"

namespace attend::text {

void check_growth(std::size_t now, std::size_t before) {
  check(now / limits::kTextGrowth <= before + limits::kShortText,
        "encode: the tokenizer makes {} characters or more of {}; {} times as many is the most (kTextGrowth in "
        "attend/base/limits.h)",
        now, before, limits::kTextGrowth);
}

}  // namespace attend::text
