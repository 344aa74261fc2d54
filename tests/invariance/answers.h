// Answers as plain numbers, and the ways of asking that must not show in them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/nn/parameters.h"
#include "attend/tasks/classifier.h"

namespace attend::test {

using Answer = std::vector<float>;

// Bit by bit: NaN is itself, and -0 is not 0.
inline bool same_bits(const Answer& a, const Answer& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// The bytes of a text as numbers, behind others that belong to it.
inline void append(Answer& answer, const std::string& text) {
  for (const char c : text) answer.push_back(static_cast<float>(c));
}

// How models are run: what the CPU keeps weights as, and what it multiplies in.
struct Form {
  nn::ModelFormat format;
  bool fast_products = false;
  std::string name;
};

inline const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = {{{DType::f32, nn::WeightForm::f32}, false, "f32"},
                                           {{DType::f32, nn::WeightForm::f32}, true, "bf16x3"},
                                           {{DType::f32, nn::WeightForm::bf16}, false, "bf16"},
                                           {{DType::f32, nn::WeightForm::int8}, false, "int8"},
                                           {{DType::bf16, nn::WeightForm::bf16}, false, "bf16_activations"}};
  return kForms;
}

// A test that is run for every form.
class FormTest : public testing::TestWithParam<Form> {
 protected:
  std::unique_ptr<Backend> backend_ = open_backend("cpu", {.threads = 2, .fast_products = GetParam().fast_products});
  const nn::ModelFormat& format() const { return GetParam().format; }
};

inline std::vector<Answer> labels_of(const std::vector<tasks::Classified>& all) {
  std::vector<Answer> answers;
  for (const tasks::Classified& of : all) {
    answers.emplace_back();
    for (const tasks::ClassLabel& label : of.labels)
      append(answers.back(), label.label), answers.back().push_back(label.probability);
  }
  return answers;
}

// ask(first, count): answers for inputs [first, first + count) of `all`, computed together. Alone, in threes and all at
// once they must be the same.
template <class Ask>
void expect_batches_do_not_show(std::size_t all, const Ask& ask) {
  const std::vector<Answer> together = ask(0, all);
  ASSERT_EQ(together.size(), all);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}})
    for (std::size_t first = 0; first < all; first += batch) {
      const std::size_t count = std::min(batch, all - first);
      const std::vector<Answer> some = ask(first, count);
      ASSERT_EQ(some.size(), count);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_TRUE(same_bits(some[i], together[first + i])) << "input " << first + i << " in a batch of " << count;
    }
}

}  // namespace attend::test
