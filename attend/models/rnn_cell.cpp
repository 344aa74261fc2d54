#include "attend/models/rnn_cell.h"

#include "attend/base/error.h"

namespace attend::models {

RnnKind rnn_cell(std::string_view name, std::string_view what) {
  if (name == "tanh") return RnnKind::tanh;
  if (name == "gru") return RnnKind::gru;
  if (name == "lstm") return RnnKind::lstm;
  fail("{}: unknown cell '{}'; there are tanh, gru and lstm", what, name);
}

}  // namespace attend::models
