// attend demo with the models we ship, held against what the images are known to show.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "attend/data/synthetic/painted_dog.h"
#include "tests/cli/run_attend.h"

namespace attend::test::demo {
namespace {

std::string sentence_of(const std::string& out) {
  const std::size_t start = out.find("\n\n  ");
  return out.substr(start + 4, out.find('\n', start + 4) - start - 4);
}

// As a French reader would have them; "it" is the car, la voiture, or the book, le livre.
TEST(TranslationDemo, EverySentenceIsRight) {
  const Outcome run = run_attend({"demo"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const std::string_view right :
       {"I am a student.\n  Je suis étudiant.\n", "She is a student.\n  Elle est étudiante.\n",
        "Nous allons au cinéma ce soir.\n", "Je n'ai pas acheté la voiture parce qu'elle était trop chère.\n",
        "Je n'ai pas acheté le livre parce qu'il était trop cher.\n"})
    EXPECT_NE(run.out.find(right), std::string::npos) << right;
}

// Coat and ground are what was painted. A black dog on sand is "black and white" to the model, so the words are looked
// for, not the whole sentence.
TEST(DescriptionDemo, TheSentenceSaysWhatWasPainted) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Outcome run = run_attend({"demo", "--task", "describe", "--seed", std::to_string(seed)});
    ASSERT_EQ(run.code, 0) << run.err;
    const std::string said = sentence_of(run.out);
    const data::PaintedDog dog = data::painted_dog(seed);
    for (const std::string_view word :
         {std::string_view("dog"), data::kDogCoats[dog.coat], data::kDogGrounds[dog.ground]})
      EXPECT_NE(said.find(word), std::string::npos) << word << " in " << said;
  }
}

}  // namespace
}  // namespace attend::test::demo
