// Opening devices by name, and what is said when that cannot be.
#include "attend/backends.h"

#include <gtest/gtest.h>

#include <string>

#include "attend/base/error.h"

namespace attend {
namespace {

std::string message_for(const std::string& name) {
  try {
    open_backend(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "opened";
}

TEST(Backends, OpensTheCpu) {
  EXPECT_EQ(open_backend("cpu")->name(), "cpu");
  EXPECT_TRUE(open_backend("cpu", {.threads = 1, .fast_products = true})->on_host());
}

TEST(Backends, AnUnknownNameListsTheKnownOnes) {
  for (const std::string name : {"", "gpux", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:0", "CPU"}) {
    const std::string message = message_for(name);
    EXPECT_EQ(message.find("device: '" + name + "' is unknown; there "), 0u) << message;
    EXPECT_NE(message.find("cpu"), std::string::npos) << message;
  }
}

TEST(Backends, GpuIsAnotherWordForCuda) { EXPECT_EQ(message_for("gpu"), message_for("cuda")); }

TEST(Backends, OpensEveryNameItLists) {
  for (const std::string& name : backend_names()) EXPECT_EQ(open_backend(name)->name(), name);
}

TEST(Backends, AMissingGpuIsExplained) {
  const std::string message = message_for("cuda:" + std::to_string(gpus().size()));
  EXPECT_EQ(message.find("device: cuda"), 0u) << message;
  const char* reason = built_with_cuda() ? "no GPU was found" : "built without CUDA";
  if (gpus().empty()) {
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace attend
