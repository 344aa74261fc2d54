// What a body complains of.
#pragma once

#include <string>

#include "attend/base/error.h"

namespace attend {

template <class F>
std::string message_of(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace attend
