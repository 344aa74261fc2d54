// SQuAD's JSON (Rajpurkar et al. 2016): {"data": [{"paragraphs": [{"context", "qas": [{"question", "answers"}]}]}]}.
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/data/text/labelled_text.h"

namespace attend::data {

namespace {

// The list under a key; an empty one when there is none.
const Json& list_in(const Json& object, const char* key) {
  static const Json none = Json::array();
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

std::string text_in(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void parse_squad(std::string_view text, LabelledFile& file) {
  const Json root = parse_json(text, file.path);
  check(root.is_object() && root.contains("data"), "{}: has no 'data', as SQuAD's files have; is it jsonl?", file.path);
  std::int64_t number = 0;
  for (const Json& article : list_in(root, "data"))
    for (const Json& paragraph : list_in(article, "paragraphs")) {
      const std::string context = text_in(paragraph, "context");
      for (const Json& asked : list_in(paragraph, "qas")) {
        LabelledText one;
        one.line = ++number, one.text = text_in(asked, "question"), one.pair = context, one.has_pair = true;
        for (const Json& answer : list_in(asked, "answers")) {
          const bool placed =
              answer.is_object() && answer.contains("answer_start") && answer["answer_start"].is_number_integer();
          const LabelledText::Answer found{text_in(answer, "text"),
                                           placed ? answer["answer_start"].get<std::int64_t>() : -1};
          if (answer_fits(context, found)) one.answers.push_back(found);
        }
        if (one.text.empty() || one.answers.empty())
          file.bad.add(number, "without a question, or an answer that is in the context");
        else
          file.texts.push_back(std::move(one));
      }
    }
}

}  // namespace attend::data
