// How work for a request ends without a result. A server answers each with a status of its own: an Error is the
// request's fault, these are not.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

namespace attend::serve {

// Computing failed, whatever was asked.
class ComputeFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nobody waits for the result any more.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "nobody waits for the result any more"; }
};

// What was thrown while computing, as it is told to those who wait: what a model says is wrong with its numbers is not
// wrong with the request. Call it while the exception is handled.
inline std::exception_ptr compute_failure() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return std::current_exception();
  } catch (const Cancelled&) {
    return std::current_exception();
  } catch (const std::exception& error) {
    try {
      return std::make_exception_ptr(ComputeFailure(error.what()));
    } catch (...) {
      return std::current_exception();
    }
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace attend::serve
