// Reads a pickle (Python's Lib/pickletools.py) without Python: a stack machine that knows the opcodes of which files
// of weights are made, of protocols 2 to 5, and refuses all others. It builds plain values and calls nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attend/checkpoint/torch/pickle.h"

namespace attend::checkpoint::torch {

// The pickle that begins at this byte. Texts of the result point into bytes. Throws Error, which begins with source.
Pickle read_pickle(std::span<const std::byte> bytes, std::size_t begin, const std::string& source);

}  // namespace attend::checkpoint::torch
