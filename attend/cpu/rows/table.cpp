// The table of one instruction set, put together from the files of rows/.
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

void fill_table(RowKernels& table) {
#if defined(__AVX512F__)
  table.name = "avx512";
#elif defined(__AVX2__)
  table.name = "avx2";
#elif defined(__aarch64__)
  table.name = "neon";
#else
  table.name = "generic";
#endif
  set_elementwise(table);
  set_random(table);
  set_norm(table);
  set_softmax(table);
  set_columns(table);
  set_recurrent(table);
  set_optimizer(table);
  set_pooling(table);
  set_winograd(table);
  set_attention(table);
  set_attention_step(table);
  set_attention_backward(table);
}

}  // namespace attend::cpu::ATTEND_ROWS
