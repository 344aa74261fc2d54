// "The animal did not cross the street because it was too tired." and ".. too wide.": what is "it"? English on one
// side, French on the other, where the pronoun is il or elle by the gender of its noun, and the adjective behind it
// says which noun that is: an animal is tired, a street is wide. The two nouns come in both orders and in all four
// pairs of genders, so neither a place in the sentence nor the other noun's gender gives the answer away.
#include <fmt/core.h>

#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

struct NounPair {
  std::string_view english, french;
  bool feminine;
};
constexpr NounPair kAnimals[] = {
    {"animal", "l'animal", false},     {"dog", "le chien", false},  {"cat", "le chat", false},
    {"horse", "le cheval", false},     {"fox", "le renard", false}, {"donkey", "l'âne", false},
    {"elephant", "l'éléphant", false}, {"cow", "la vache", true},   {"goat", "la chèvre", true},
    {"mouse", "la souris", true},      {"hen", "la poule", true},   {"goose", "l'oie", true},
    {"tortoise", "la tortue", true},   {"ewe", "la brebis", true}};
constexpr NounPair kPlaces[] = {
    {"street", "la rue", true},   {"road", "la route", true},     {"river", "la rivière", true},
    {"forest", "la forêt", true}, {"island", "l'île", true},      {"cave", "la grotte", true},
    {"path", "le chemin", false}, {"bridge", "le pont", false},   {"garden", "le jardin", false},
    {"field", "le champ", false}, {"tunnel", "le tunnel", false}, {"pond", "l'étang", false}};

struct AdjectivePair {
  std::string_view english, masculine, feminine;
};
constexpr AdjectivePair kOfAnimals[] = {{"tired", "fatigué", "fatiguée"}, {"hungry", "affamé", "affamée"},
                                        {"shy", "timide", "timide"},      {"lazy", "paresseux", "paresseuse"},
                                        {"ill", "malade", "malade"},      {"proud", "fier", "fière"}};
constexpr AdjectivePair kOfPlaces[] = {{"wide", "large", "large"},      {"long", "long", "longue"},
                                       {"dark", "sombre", "sombre"},    {"wet", "humide", "humide"},
                                       {"narrow", "étroit", "étroite"}, {"remote", "lointain", "lointaine"}};

// "did not cross" and "crossed": n'a pas traversé, a traversé.
struct VerbPair {
  std::string_view infinitive, past, french;
};
constexpr VerbPair kOfWalkers[] = {{"cross", "crossed", "traversé"},
                                   {"leave", "left", "quitté"},
                                   {"visit", "visited", "visité"},
                                   {"like", "liked", "aimé"}};
constexpr VerbPair kOnWalkers[] = {
    {"stop", "stopped", "arrêté"}, {"help", "helped", "aidé"}, {"surprise", "surprised", "étonné"}};

struct Opening {
  std::string_view english, french;
};
constexpr Opening kOpenings[] = {
    {"", ""}, {"", ""}, {"Yesterday ", "Hier "}, {"This morning ", "Ce matin "}, {"In the end ", "À la fin "}};

template <class T, std::size_t kCount>
const T& drawn(TextRandom& random, const T (&list)[kCount]) {
  return list[random.below(static_cast<int>(kCount))];
}

std::string capital(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace

TextPair make_pronoun(TextRandom& random) {
  const Opening& opening = drawn(random, kOpenings);
  const bool animal_first = random.one_in(2), negated = !random.one_in(3), of_animal = random.one_in(2);
  const NounPair &animal = drawn(random, kAnimals), &place = drawn(random, kPlaces);
  const VerbPair& verb = animal_first ? drawn(random, kOfWalkers) : drawn(random, kOnWalkers);
  const AdjectivePair& adjective = of_animal ? drawn(random, kOfAnimals) : drawn(random, kOfPlaces);
  const NounPair &subject = animal_first ? animal : place, &object = animal_first ? place : animal,
                 &it = of_animal ? animal : place;
  const std::string did = negated ? fmt::format("did not {}", verb.infinitive) : std::string(verb.past);
  return {capital(fmt::format("{}the {} {} the {} because it was too {}.", opening.english, subject.english, did,
                              object.english, adjective.english)),
          capital(fmt::format("{}{} {} {} {} parce qu'{} était trop {}.", opening.french, subject.french,
                              negated ? "n'a pas" : "a", verb.french, object.french, it.feminine ? "elle" : "il",
                              it.feminine ? adjective.feminine : adjective.masculine))};
}

PronounParts pronoun_parts(const TextPair& pair) {
  // The nouns stand behind "the", the adjective in front of the full stop.
  PronounParts parts;
  const auto names = [](const auto& list, std::string_view word) {
    for (const auto& entry : list)
      if (entry.english == word) return true;
    return false;
  };
  std::string word, adjective;
  for (const char c : pair.source)
    if (c == ' ' || c == '.') {
      if (names(kAnimals, word)) parts.animal = word;
      if (names(kPlaces, word)) parts.place = word;
      adjective = word, word.clear();
    } else {
      word += c;
    }
  parts.noun = names(kOfAnimals, adjective) ? parts.animal : parts.place;
  return parts;
}

}  // namespace attend::data
