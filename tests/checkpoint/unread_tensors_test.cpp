// Tensors that no part of a model reads are named, and refused where that is asked for.
#include "attend/checkpoint/unread_tensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"

namespace attend::test {
namespace {

TEST(UnreadTensors, AreNamedInAWarning) {
  std::string heard;
  const checkpoint::UnreadGuard guard({.warn = [&](const std::string& message) { heard += message; }});
  checkpoint::report_unread("m.safetensors",
                            std::vector<std::string>{"cls.predictions.bias", "roberta.pooler.dense.weight"});
  EXPECT_EQ(heard, "");  // another head's
  checkpoint::report_unread("m.safetensors",
                            std::vector<std::string>{"vit.encoder.layer.0.lambda1", "classifier.weight"});
  EXPECT_NE(heard.find("m.safetensors: the model does not read 1 tensor of it: vit.encoder.layer.0.lambda1;"),
            std::string::npos)
      << heard;
  heard.clear();
  checkpoint::report_unread("m", std::vector<std::string>{"a", "b", "c", "d", "e", "f"});
  EXPECT_NE(heard.find("6 tensors of it: a, b, c, d and 2 more"), std::string::npos) << heard;
}

TEST(UnreadTensors, AreAnErrorWhereThatIsAskedFor) {
  const checkpoint::UnreadGuard guard({.strict = true});
  EXPECT_NO_THROW(checkpoint::report_unread("m", std::vector<std::string>{"lm_head.dense.weight"}));
  EXPECT_THROW(checkpoint::report_unread("m", std::vector<std::string>{"gamma_1"}), Error);
}

TEST(UnreadTensors, NobodyHearsOfThemInALibrary) {
  EXPECT_NO_THROW(checkpoint::report_unread("m", std::vector<std::string>{"gamma_1"}));
}

}  // namespace
}  // namespace attend::test
