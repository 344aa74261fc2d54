#include "attend/serve/api/languages.h"

#include <algorithm>
#include <map>
#include <set>

#include "attend/base/unicode/unicode.h"

namespace attend::serve {

namespace languages {
namespace {

struct Language {
  const char *name, *words = "";
};

const std::map<std::string, Language>& table() {
  static const std::map<std::string, Language> kTable = {
      {"ar", {"Arabic"}},
      {"cs", {"Czech", "a je se v na to že s z do jsem by ale jako ne tak co jak pro už"}},
      {"da", {"Danish", "og er det en at jeg ikke til på der som med for den har han vi de af et"}},
      {"de", {"German", "der die das und ist ich nicht ein eine zu in den mit sie es wir auf für er du von dem war"}},
      {"el", {"Greek"}},
      {"en", {"English", "the a an and is are i you to of in it that he she was for on with not we this have my do"}},
      {"es", {"Spanish", "el la los las de que y en un una es no se por con para lo mi está yo su del me"}},
      {"fi", {"Finnish", "ja on ei se että hän en oli minä mutta ole kun niin sen mitä tämä olen"}},
      {"fr",
       {"French", "le la les de des du et est un une je tu il elle nous vous que ne pas à en dans ce pour suis c'est"}},
      {"he", {"Hebrew"}},
      {"hi", {"Hindi"}},
      {"hu", {"Hungarian", "a az és egy nem hogy van is meg azt ez volt de én csak mint ki"}},
      {"id", {"Indonesian", "yang dan di itu ini dengan untuk tidak saya dia adalah ke dari akan pada"}},
      {"it", {"Italian", "il lo la i gli le di che e è un una non per in con sono si mi ho della del"}},
      {"ja", {"Japanese"}},
      {"ko", {"Korean"}},
      {"nl", {"Dutch", "de het een en is ik niet van in dat je te zijn op met voor hij ze was er aan"}},
      {"pl", {"Polish", "i w nie na to jest się z że do jak tak co ale po ja czy tego"}},
      {"pt", {"Portuguese", "o a os as de que e em um uma não é do da para com eu se está no na por"}},
      {"ro", {"Romanian", "și de la în nu o un este că cu pe am mai să din el ce"}},
      {"ru", {"Russian", "и в не на я что он с это как но она по мы ты был у из за"}},
      {"sv", {"Swedish", "och är det en att jag inte som på för med den har han vi till av ett de"}},
      {"tr", {"Turkish", "ve bir bu ne için ben çok o da de mi var değil ama gibi"}},
      {"uk", {"Ukrainian", "і в не на я що він з це як але вона по ми ти був у із за та"}},
      {"vi", {"Vietnamese"}},
      {"zh", {"Chinese"}}};
  return kTable;
}

// In small letters; an apostrophe is part of a word.
std::multiset<std::string> words_of(std::string_view text) {
  std::multiset<std::string> words;
  std::string word;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) ++at;
    if (c != kInvalidCharacter &&
        (has_property(c, Property::letter | Property::mark) || (c == U'\'' && !word.empty()))) {
      append_utf8(word, lower_character(c));
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

}  // namespace
}  // namespace languages

std::string language_name(const std::string& code) {
  const auto found = languages::table().find(code);
  return found == languages::table().end() ? code : found->second.name;
}

double common_words(const std::string& code, std::string_view text) {
  const auto found = languages::table().find(code);
  if (found == languages::table().end() || !*found->second.words) return -1;
  const std::multiset<std::string> known = languages::words_of(found->second.words), read = languages::words_of(text);
  const auto hits = std::ranges::count_if(read, [&](const std::string& word) { return known.contains(word); });
  return read.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(read.size());
}

}  // namespace attend::serve
