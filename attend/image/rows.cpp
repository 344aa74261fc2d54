#include "attend/image/rows.h"

namespace attend::image {

namespace rows_generic {
extern const Rows kRows;
}
#ifdef ATTEND_IMAGE_AVX2
namespace rows_avx2 {
extern const Rows kRows;
}
#endif

const Rows& rows() {
#ifdef ATTEND_IMAGE_AVX2
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return rows_avx2::kRows;
#endif
  return rows_generic::kRows;
}

}  // namespace attend::image
