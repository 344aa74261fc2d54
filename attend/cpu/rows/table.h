// What each file of rows/ puts into the table of its instruction set.
#pragma once

#include "attend/cpu/rows/kernels.h"
#include "attend/cpu/rows/vec.h"

namespace attend::cpu::ATTEND_ROWS {

void set_elementwise(RowKernels& table);
void set_random(RowKernels& table);
void set_norm(RowKernels& table);
void set_softmax(RowKernels& table);
void set_columns(RowKernels& table);
void set_recurrent(RowKernels& table);
void set_optimizer(RowKernels& table);
void set_pooling(RowKernels& table);
void set_winograd(RowKernels& table);
void set_attention(RowKernels& table);
void set_attention_step(RowKernels& table);
void set_attention_backward(RowKernels& table);
// These two only in rows_amx.
void set_attention_tiles(RowKernels& table);
void set_attention_backward_tiles(RowKernels& table);

// All of the above that every instruction set has.
void fill_table(RowKernels& table);

}  // namespace attend::cpu::ATTEND_ROWS
