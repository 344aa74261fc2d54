// "It" in English and French sentences in which the end decides what it is: "The crane could not lift the rock because
// it was too heavy." and ".. too weak.". A property is of one kind of noun (what is salty is food), or the verb says
// whose it is (who lifts is weak, what is lifted is heavy). Nouns of both genders meet in every place. It is training
// data for translators: no verb of the sentences that judge them (tests/fixtures/pronouns) occurs here.
#include <fmt/core.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/synthetic/coreference_words.h"
#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

using namespace coreference;

struct Link {
  std::string_view english, french;  // up to "it" and to il or elle
};
constexpr Link kLinks[] = {{" because it ", " parce qu'"}, {" because it ", " parce qu'"},
                           {" because it ", " parce qu'"}, {" since it ", " puisqu'"},
                           {", for it ", ", car "},        {". It ", ". "}};

const Noun& noun_of(TextRandom& random, unsigned kinds) {
  for (;;)
    if (const Noun& noun = kNouns[random.below(static_cast<int>(std::size(kNouns)))]; noun.kinds & kinds) return noun;
}

// "près de" + "le" = "près du".
std::string contracted(std::string text) {
  for (const std::string_view article : {" de le ", " de les "})
    if (const auto at = text.find(article); at != std::string::npos)
      text.replace(at, article.size(), article == " de le " ? " du " : " des ");
  return text;
}

std::string capital(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// Of `who`, and where the noun decides, not of the other one.
std::vector<const Property*> properties_of(const Verb& verb, bool of_subject, const Noun& who, const Noun& other) {
  std::vector<const Property*> found;
  if (!verb.of_subject.empty()) {
    for (const Property& property : of_subject ? verb.of_subject : verb.of_object) found.push_back(&property);
  } else {
    for (const Property& property : kProperties)
      if ((property.kinds & who.kinds) && !(property.kinds & other.kinds)) found.push_back(&property);
  }
  return found;
}

// "était trop fatigué", "n'avait pas faim"
std::string predicate(std::string_view word, bool too, bool not_so) {
  const bool has = word.starts_with('*');
  if (has) word.remove_prefix(1);
  return fmt::format("{}{}{}{}{}", not_so ? "n'" : "", has ? "avait" : "était", not_so ? " pas" : "",
                     too ? (has ? " très " : " trop ") : " ", word);
}

}  // namespace

TextPair make_coreference(TextRandom& random) {
  const Verb& verb = kVerbs[random.below(static_cast<int>(std::size(kVerbs)))];
  const bool of_subject = random.one_in(2);
  const Noun *subject = nullptr, *object = nullptr;
  std::vector<const Property*> properties;
  while (properties.empty()) {
    subject = &noun_of(random, verb.subjects), object = &noun_of(random, verb.objects);
    if (subject != object)
      properties = properties_of(verb, of_subject, of_subject ? *subject : *object, of_subject ? *object : *subject);
  }
  const Property* property = properties[static_cast<std::size_t>(random.below(static_cast<int>(properties.size())))];
  const Link& link = kLinks[random.below(static_cast<int>(std::size(kLinks)))];
  const bool feminine = (of_subject ? subject : object)->feminine;
  const bool too = property->too && !random.one_in(4), not_so = verb.of_subject.empty() && !too && random.one_in(8);
  std::string french = contracted(
      fmt::format("{} {} {}", subject->french, subject->feminine ? verb.feminine : verb.masculine, object->french));
  const std::string pronoun = feminine ? "elle" : "il";
  return {fmt::format("The {} {} the {}{}was {}{}{}.", subject->english, verb.english, object->english, link.english,
                      not_so ? "not " : "", too ? "too " : "", property->english),
          fmt::format("{}{}{} {}.", capital(std::move(french)), link.french,
                      link.french.starts_with('.') ? capital(pronoun) : pronoun,
                      predicate(feminine ? property->feminine : property->masculine, too, not_so))};
}

}  // namespace attend::data
