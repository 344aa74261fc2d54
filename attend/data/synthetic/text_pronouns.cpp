// "The animal did not cross the street because it was too tired." and ".. too wide.": what is "it"? English on one
// side, French on the other, where the pronoun is il or elle by the gender of its noun. The adjective that follows says
// which noun that is: tired, hungry, shy .. is who acts, wide, dark, strange .. is what is acted on. Both nouns may be
// animals, so the kind of a noun does not give the answer away, and all four pairs of genders occur. The French
// adjectives have one form for both genders: else a model looks the noun up where it writes the adjective.
#include <fmt/core.h>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

struct NounPair {
  std::string_view english, french;
  bool feminine;
};
// Animals first: they act. Places are only acted on.
constexpr int kAnimals = 14;
constexpr NounPair kThings[] = {
    {"animal", "l'animal", false},     {"dog", "le chien", false},     {"cat", "le chat", false},
    {"horse", "le cheval", false},     {"fox", "le renard", false},    {"donkey", "l'âne", false},
    {"elephant", "l'éléphant", false}, {"cow", "la vache", true},      {"goat", "la chèvre", true},
    {"mouse", "la souris", true},      {"hen", "la poule", true},      {"goose", "l'oie", true},
    {"tortoise", "la tortue", true},   {"ewe", "la brebis", true},     {"street", "la rue", true},
    {"road", "la route", true},        {"river", "la rivière", true},  {"forest", "la forêt", true},
    {"island", "l'île", true},         {"cave", "la grotte", true},    {"path", "le chemin", false},
    {"bridge", "le pont", false},      {"garden", "le jardin", false}, {"field", "le champ", false},
    {"tunnel", "le tunnel", false},    {"pond", "l'étang", false}};

struct WordPair {
  std::string_view english, french;
};
constexpr WordPair kOfSubjects[] = {{"tired", "flagada"}, {"hungry", "avide"}, {"shy", "timide"},
                                    {"ill", "malade"},    {"weak", "faible"},  {"lazy", "apathique"}};
constexpr WordPair kOfObjects[] = {{"wide", "large"},      {"dark", "sombre"}, {"dirty", "sale"},
                                   {"strange", "étrange"}, {"calm", "calme"},  {"huge", "énorme"}};

// "did not cross" and "crossed": n'a pas traversé, a traversé.
struct VerbPair {
  std::string_view infinitive, past, french;
};
constexpr VerbPair kVerbs[] = {{"follow", "followed", "suivi"},
                               {"avoid", "avoided", "évité"},
                               {"leave", "left", "quitté"},
                               {"like", "liked", "aimé"},
                               {"look for", "looked for", "cherché"}};
constexpr VerbPair kCross = {"cross", "crossed", "traversé"};

// Words around the sentence, so that no place in it says who is who, and more nouns, so that collecting all of them
// does not help.
constexpr WordPair kOpenings[] = {
    {"", ""}, {"", ""}, {"yesterday ", "hier "}, {"this morning ", "ce matin "}, {"in the end ", "à la fin "}};
constexpr WordPair kWhere[] = {{"", ""},
                               {"", ""},
                               {" at night", " la nuit"},
                               {" in the garden", " dans le jardin"},
                               {" near the old bridge", " près du vieux pont"}};
constexpr WordPair kHowMuch[] = {{"too", "trop"}, {"far too", "bien trop"}, {"really too", "vraiment trop"}};

template <class T, std::size_t kCount>
const T& drawn(TextRandom& random, const T (&list)[kCount]) {
  return list[random.below(static_cast<int>(kCount))];
}

std::string capital(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  if (text.starts_with("à")) text.replace(0, std::string_view("à").size(), "À");
  return text;
}

}  // namespace

TextPair make_pronoun(TextRandom& random) {
  const int acts = random.below(kAnimals);
  int other = random.below(static_cast<int>(std::size(kThings)) - 1);
  if (other >= acts) ++other;
  const NounPair &subject = kThings[acts], &object = kThings[other];
  const bool place = other >= kAnimals, of_subject = random.one_in(2), negated = !random.one_in(3);
  const VerbPair& verb = place && random.one_in(3) ? kCross : drawn(random, kVerbs);
  const WordPair &adjective = of_subject ? drawn(random, kOfSubjects) : drawn(random, kOfObjects),
                 &opening = drawn(random, kOpenings), &where = drawn(random, kWhere), &how = drawn(random, kHowMuch);
  const bool feminine = (of_subject ? subject : object).feminine;
  const std::string did = negated ? fmt::format("did not {}", verb.infinitive) : std::string(verb.past);
  return {capital(fmt::format("{}the {} {} the {}{} because it was {} {}.", opening.english, subject.english, did,
                              object.english, where.english, how.english, adjective.english)),
          capital(fmt::format("{}{} {} {} {}{} parce qu'{} était {} {}.", opening.french, subject.french,
                              negated ? "n'a pas" : "a", verb.french, object.french, where.french,
                              feminine ? "elle" : "il", how.french, adjective.french))};
}

PronounParts pronoun_parts(const std::string& sentence) {
  PronounParts parts;
  std::string word;
  for (const char c : sentence) {
    if (c != ' ' && c != '.') {
      word += c;
      continue;
    }
    for (const NounPair& noun : kThings)
      if (word == noun.english && parts.object.empty()) (parts.subject.empty() ? parts.subject : parts.object) = word;
    for (const WordPair& adjective : kOfSubjects)
      if (word == adjective.english) parts.noun = parts.subject;
    for (const WordPair& adjective : kOfObjects)
      if (word == adjective.english) parts.noun = parts.object;
    word.clear();
  }
  return parts;
}

}  // namespace attend::data
