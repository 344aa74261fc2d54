// A small English and an invented language, Laro, that says the same in another order:
//   sentence   subject verb [object] .             ->  verb subject [object] .
//   phrase     the [adjective] noun [more]         ->  article noun [adjective] [more]
//   more       near PHRASE | that verb PHRASE | that PHRASE verb  ->  pe PHRASE | k-ENDING verb PHRASE (in both cases)
// English verbs agree with their subject in number ("the cats near the dog sleep"), however much stands between the
// two. In Laro every noun is of class a or o; its ending (-a, -ai; -o, -oi) is that of its article (l-), its adjective,
// its relative word (k-) and of the verb whose subject it is. So the first word of a Laro sentence is the English verb,
// with an ending that the noun at the English beginning decides; and "that the dog sees" and "that sees the dog" differ
// in the verb's ending alone where classes or numbers do.
#include <fmt/core.h>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

struct Noun {
  std::string_view singular, plural, laro;
  char noun_class;
};
constexpr Noun kNouns[] = {{"cat", "cats", "mir", 'a'},       {"dog", "dogs", "ban", 'o'},
                           {"child", "children", "tel", 'a'}, {"king", "kings", "rok", 'o'},
                           {"bird", "birds", "fis", 'a'},     {"wolf", "wolves", "gur", 'o'},
                           {"farmer", "farmers", "sed", 'o'}, {"queen", "queens", "liv", 'a'},
                           {"horse", "horses", "tarn", 'o'},  {"mouse", "mice", "pik", 'a'}};

struct Verb {
  std::string_view singular, plural, laro;
};
constexpr Verb kAlone[] = {
    {"sleeps", "sleep", "dor"}, {"sings", "sing", "kan"}, {"runs", "run", "vel"}, {"waits", "wait", "est"}};
constexpr Verb kWithObject[] = {{"sees", "see", "vid"},
                                {"follows", "follow", "sek"},
                                {"loves", "love", "am"},
                                {"fears", "fear", "tim"},
                                {"remembers", "remember", "mem"}};

struct Adjective {
  std::string_view english, laro;
};
constexpr Adjective kAdjectives[] = {{"old", "sen"}, {"small", "min"}, {"quiet", "tas"}, {"red", "rub"}};

constexpr int kDeepest = 2;  // phrases inside of phrases

// A noun with all that belongs to it, in both languages.
struct Phrase {
  std::string english, laro, ending;
  bool plural = false;
};

std::string conjugate(const Verb& verb, const Phrase& subject) {
  return std::string(subject.plural ? verb.plural : verb.singular);
}

template <class T, std::size_t kCount>
const T& draw(TextRandom& random, const T (&list)[kCount]) {
  return list[random.below(static_cast<int>(kCount))];
}

Phrase make_phrase(TextRandom& random, int depth) {
  const Noun& noun = draw(random, kNouns);
  Phrase phrase;
  phrase.plural = random.one_in(2);
  phrase.ending = std::string(1, noun.noun_class) + (phrase.plural ? "i" : "");
  const std::string& ending = phrase.ending;
  const bool described = random.one_in(3);
  const Adjective& adjective = draw(random, kAdjectives);
  phrase.english = fmt::format("the {}{}{}", described ? adjective.english : "", described ? " " : "",
                               phrase.plural ? noun.plural : noun.singular);
  phrase.laro = fmt::format("l{} {}{}", ending, noun.laro, ending);
  if (described) phrase.laro += fmt::format(" {}{}", adjective.laro, ending);
  const int more = depth >= kDeepest ? 3 : random.below(5);
  if (more > 2) return phrase;
  const Phrase inner = make_phrase(random, depth + 1);
  if (more == 0) {
    phrase.english += " near " + inner.english;
    phrase.laro += " pe " + inner.laro;
    return phrase;
  }
  const Verb& verb = draw(random, kWithObject);
  const Phrase& subject = more == 1 ? phrase : inner;
  const std::string said = conjugate(verb, subject);
  phrase.laro += fmt::format(" k{} {}{} {}", ending, verb.laro, subject.ending, inner.laro);
  phrase.english +=
      more == 1 ? fmt::format(" that {} {}", said, inner.english) : fmt::format(" that {} {}", inner.english, said);
  return phrase;
}

}  // namespace

TextPair make_sentence(TextRandom& random) {
  const Phrase subject = make_phrase(random, 0);
  if (random.one_in(2)) {
    const Verb& verb = draw(random, kAlone);
    return {fmt::format("{} {} .", subject.english, conjugate(verb, subject)),
            fmt::format("{}{} {} .", verb.laro, subject.ending, subject.laro)};
  }
  const Verb& verb = draw(random, kWithObject);
  const Phrase object = make_phrase(random, 1);
  return {fmt::format("{} {} {} .", subject.english, conjugate(verb, subject), object.english),
          fmt::format("{}{} {} {} .", verb.laro, subject.ending, subject.laro, object.laro)};
}

}  // namespace attend::data
