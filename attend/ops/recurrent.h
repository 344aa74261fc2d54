// Recurrent layers over whole sequences: tanh (Elman 1990), GRU (Cho et al. 2014) and LSTM (Hochreiter & Schmidhuber
// 1997), with PyTorch's gate order and biases. G is the number of gates: 1, 3 and 4.
#pragma once

#include "attend/tensor/backend.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

struct RecurrentOptions {
  Tensor hidden = {}, cell = {};  // initial state [B, C]; zeros if undefined
  Tensor lengths = {};            // i32 [B]: after its end a sequence repeats its last state
  bool reverse = false;           // runs from the last position to the first
};

struct RecurrentResult {
  Tensor states;        // [B, T, C]
  Tensor hidden, cell;  // [B, C]: final state (cell for an LSTM only)
};

//   gates [B, T, G·C]: x W_ihᵀ + b_ih, one linear() for all positions   weight [G·C, C]   bias [G·C] or undefined
RecurrentResult recurrent(RnnKind kind, const Tensor& gates, const Tensor& weight, const Tensor& bias,
                          const RecurrentOptions& options = {});

}  // namespace attend::ops
