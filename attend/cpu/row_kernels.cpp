// Picks the table of row loops for this processor.
#include "attend/cpu/features.h"
#include "attend/cpu/rows/kernels.h"

namespace attend::cpu {

#if defined(__x86_64__)
namespace rows_avx512 {
void fill_table(RowKernels& table);
}
namespace rows_amx {
void set_attention_tiles(RowKernels& table);
void set_attention_backward_tiles(RowKernels& table);
}  // namespace rows_amx
namespace rows_avx2 {
void fill_table(RowKernels& table);
}
namespace rows_generic {
void fill_table(RowKernels& table);
}
#elif defined(__wasm__)
namespace rows_wasm {
void fill_table(RowKernels& table);
}
#else
namespace rows_neon {
void fill_table(RowKernels& table);
}
#endif

const RowKernels& row_kernels() {
  static const RowKernels kTable = [] {
    RowKernels table{};
#if defined(__x86_64__)
    if (features().avx512)
      rows_avx512::fill_table(table);
    else if (features().avx2 && features().fma)
      rows_avx2::fill_table(table);
    else
      rows_generic::fill_table(table);
#elif defined(__wasm__)
    rows_wasm::fill_table(table);
#else
    rows_neon::fill_table(table);
#endif
#if defined(__x86_64__)
    if (features().amx_bf16) {
      rows_amx::set_attention_tiles(table);
      rows_amx::set_attention_backward_tiles(table);
    }
#endif
    return table;
  }();
  return kTable;
}

}  // namespace attend::cpu
