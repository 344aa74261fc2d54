#include "attend/data/corpus/split.h"

#include <algorithm>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/progress.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

struct Drawn {
  std::uint64_t order, pair, source, target;
  friend bool operator<(const Drawn& a, const Drawn& b) { return a.order < b.order; }
};

Drawn drawn(const PairView& pair, std::uint64_t seed) {
  const std::uint64_t source = line_key(pair.source), target = line_key(pair.target), key = pair_key(source, target);
  return {.order = hash_key(key ^ hash_key(seed)), .pair = key, .source = source, .target = target};
}

}  // namespace

Split::Split(PairReader corpus, const SplitOptions& options) {
  check(options.valid >= 0 && options.test >= 0, "the sizes of held-out sets must not be negative, but are {} and {}",
        options.valid, options.test);
  const auto wanted = static_cast<std::size_t>(options.valid + options.test);
  std::vector<Drawn> heap;  // those that come first in the order, the last of them in front
  KeySet in_heap;           // an upper bound: a pair that left the heap never returns
  for (PairView pair; wanted > 0 && corpus.next(pair);) {
    if (find_invalid_utf8(pair.source) || find_invalid_utf8(pair.target)) continue;
    const Drawn next = drawn(pair, options.seed);
    if ((heap.size() == wanted && !(next < heap.front())) || !in_heap.add(next.pair)) continue;
    if (heap.size() == wanted) std::pop_heap(heap.begin(), heap.end()), heap.pop_back();
    heap.push_back(next), std::push_heap(heap.begin(), heap.end());
  }
  check(heap.size() == wanted && (wanted == 0 || corpus.count() > static_cast<std::int64_t>(wanted)),
        "{} pairs were asked for validation and test, but the corpus has only {}",
        with_commas(static_cast<std::int64_t>(wanted)), with_commas(corpus.count()));
  std::sort_heap(heap.begin(), heap.end());
  for (std::size_t i = 0; i < heap.size(); ++i) {
    (i < static_cast<std::size_t>(options.valid) ? valid_ : test_).add(heap[i].pair);
    lines_.add(heap[i].source), lines_.add(heap[i].target);
  }
}

SplitPart Split::part_of(const PairView& pair) {
  if (find_invalid_utf8(pair.source) || find_invalid_utf8(pair.target)) return SplitPart::dropped;
  const Drawn next = drawn(pair, 0);
  const bool valid = valid_.has(next.pair), test = test_.has(next.pair);
  if (valid || test) return !given_.add(next.pair) ? SplitPart::dropped : valid ? SplitPart::valid : SplitPart::test;
  return lines_.has(next.source) || lines_.has(next.target) ? SplitPart::dropped : SplitPart::train;
}

}  // namespace attend::data
