// Recurrent cells by the names that recipes and config.json use: tanh, gru and lstm.
#pragma once

#include <string_view>

#include "attend/tensor/backend.h"

namespace attend::models {

// Throws Error for another name; `what` (a path) opens the message.
RnnKind rnn_cell(std::string_view name, std::string_view what);

}  // namespace attend::models
