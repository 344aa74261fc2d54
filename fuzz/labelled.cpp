// A labelled text in any format, which its name says (csv, tsv, jsonl, conll, squad.json), with any settings.
#include "attend/data/text/labelled_text.h"

#include "attend/base/json.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {
    .file = "train.csv",
    .schema =
        R"({"labelling": [0, 1, 2], "header": [true, false], "format": ["auto", "csv", "tsv", "jsonl", "conll", "squad", "x"],
                  "text_column": ["", "text", "1", "3", "no"], "pair_column": ["", "pair", "2"], "label_column": ["", "label", "2"],
                  "text": ["a", "", 1, null, ["a", "b"]], "sentence": ["a"], "label": ["x", 1, true, null], "pair": ["b", null],
                  "tokens": [["a", "b"], [1], []], "tags": [["B-X", "I-X"], ["I-X", "I-Y"], ["O"]], "question": ["who", ""],
                  "context": ["it was me", ""], "answers": [{"text": ["me"], "answer_start": [7]}, [{"text": "me", "answer_start": 7}], "me", []],
                  "answer": ["me"], "answer_start": [7, 0, -1, "7", "x", 9223372036854775807],
                  "data": [[{"paragraphs": [{"context": "it was me", "qas": [{"question": "who", "answers": [{"text": "me", "answer_start": 7}]}]}]}]],
                  "@words": ["\n", ",", "\t", "\"", "\"\"", "\r\n", "text,label\n", "-DOCSTART-\n\n", "I-X", "\u00e9"]})"};

void enter(const Input& input) {
  const Part& file = input.parts().back();
  data::LabelledOptions options;
  bool chosen = false;
  attempt([&] {
    const Json json = parse_json(input["options.json"], "options");
    options.labelling = static_cast<data::Labelling>(json.value<std::uint8_t>("labelling", 0) % 3);
    chosen = true;
    options.header = json.value("header", true);
    options.format = json.value("format", "auto");
    options.text_column = json.value("text_column", "");
    options.pair_column = json.value("pair_column", "");
    options.label_column = json.value("label_column", "");
  });
  for (const auto labelling : {data::Labelling::text, data::Labelling::words, data::Labelling::answers}) {
    if (chosen && labelling != options.labelling) continue;
    options.labelling = labelling;
    attempt([&] {
      const data::LabelledFile read = data::parse_labelled(file.bytes, file.name, options);
      read.bad.text();
      must(!read.texts.empty(), "a file that is taken has texts");
      for (const data::LabelledText& text : read.texts) {
        must(text.words.size() == text.tags.size(), "every word has a tag");
        for (const auto& answer : text.answers)
          must(data::answer_fits(text.pair, answer), "answers are in the context");
      }
    });
  }
  attempt([&] { data::read_labelled(write("train.csv", file.bytes).string(), options); });
}

}  // namespace attend::fuzz
