// How many tokens to guess before a step, so that the most tokens come out in a second: the measured cost of steps of
// several tokens against the share of guesses that were right. It is 0 where guessing does not pay, or while all
// guesses together would have lost more than 3 % of the time if the next were wrong: the first steps of a size are
// planned, which takes longer.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace attend::decode {

class SpeculationPace {
 public:
  // kinds: the share of right tokens to expect of each kind of guess. most: tokens of a guess.
  SpeculationPace(std::span<const double> kinds, std::size_t most);

  // How many tokens of a guess of this kind to try, of those that there are: 0, 1, 3, 7 or 15, because steps of every
  // size are planned on their own.
  std::size_t tokens(std::size_t kind, std::size_t available) const;
  // The same for guesses of one kind that cost time. They begin with one token and grow while all are right. Where
  // they do not pay, single tokens are tried.
  std::size_t tokens_of_costly(std::size_t available) const;

  // Of a guess, so many tokens were compared with what the model wrote, and all but perhaps the last were right.
  void compared(std::size_t kind, std::size_t tokens, std::size_t right);
  void step_took(std::size_t tokens, double seconds);
  void guess_took(std::size_t tokens, double seconds);
  // A guess and the step that tried it wrote so many tokens. Not the first guess: it reads the prompt, once.
  void wrote(std::size_t guessed, std::size_t tokens, double seconds);

 private:
  // The median of the last times.
  class Seconds {
   public:
    void add(double seconds);
    bool any() const { return count_ > 0; }
    bool known() const { return count_ > kPlanned; }
    double median() const;

   private:
    // The first steps of a size are planned and captured, which takes longer.
    static constexpr std::size_t kPlanned = 3, kKept = 9;
    std::array<double, kKept> last_ = {};
    std::size_t count_ = 0;
  };
  struct Share {
    double right, compared;  // recent ones weigh more
  };
  bool may_guess() const;
  double step_seconds(std::size_t tokens) const;
  double tokens_a_second(std::size_t kind, std::size_t guessed) const;

  std::size_t most_;
  std::vector<Share> shares_;           // by kind
  std::array<Seconds, 17> steps_ = {};  // by tokens of a step
  Seconds guesses_ = {};                // of one token
  double last_guess_ = 0;               // seconds of the last guess; 0 after the first
  std::size_t longest_ = 1;             // tokens of a costly guess
  double lost_ = 0, all_ = 0;           // seconds against single steps, and of all steps
};

}  // namespace attend::decode
