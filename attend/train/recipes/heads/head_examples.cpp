#include "attend/train/recipes/heads/head_examples.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/tagger.h"

namespace attend::train {

namespace {

constexpr std::int64_t kOverlap = 128;  // of windows of a context, in tokens: as attend answer has it

template <class Number>
bool is_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A tag for what is behind the beginning of a word.
std::string inside(const std::string& tag) { return tag.starts_with("B-") ? "I" + tag.substr(1) : tag; }

class Encoder {
 public:
  Encoder(const tasks::EncoderReader& reader, const data::LabelledFile& file, tasks::TargetKind kind,
          const std::vector<std::string>& labels)
      : reader_(reader), file_(file), kind_(kind) {
    for (const std::string& label : labels) ids_.emplace(label, static_cast<std::int32_t>(ids_.size()));
    batching_.warn = [this](std::string_view) { ++cut_; };
  }

  EncodedTexts run() {
    EncodedTexts result;
    for (source_ = 0; source_ < file_.texts.size(); ++source_) {
      const data::LabelledText& text = file_.texts[source_];
      if (kind_ == tasks::TargetKind::span)
        add_windows(text, result.examples);
      else
        result.examples.push_back(kind_ == tasks::TargetKind::tags ? tagged(text) : labelled(text));
    }
    for (HeadExample& example : result.examples) {
      example.text.tokens = {};  // their names are not needed any more, and of all texts together they are much
      if (kind_ != tasks::TargetKind::span) example.text.offsets = {};
    }
    result.cut = cut_;
    return result;
  }

 private:
  std::int32_t id_of(const std::string& label, const data::LabelledText& text) const {
    const auto found = ids_.find(label);
    check(found != ids_.end(), "{}:{}: the label {} is not among those of the training file", file_.path, text.line,
          shown(label));
    return found->second;
  }

  HeadExample labelled(const data::LabelledText& text) {
    HeadExample example{.source = source_};
    example.text = text.has_pair ? reader_.read(text.text, text.pair, text.line, batching_)
                                 : reader_.read(text.text, text.line, batching_);
    if (kind_ == tasks::TargetKind::number) {
      float number = 0;
      check(is_number(text.label, number) && std::isfinite(number), "{}:{}: the label {} is no number", file_.path,
            text.line, shown(text.label));
      example.targets = {std::bit_cast<std::int32_t>(number)};
    } else {
      example.targets = {id_of(text.label, text)};
    }
    return example;
  }

  // Words with spaces between them, as attend tag gets them. Every token that begins a word there has a tag: "U.S." is
  // one word of the file and four of the tokenizer's.
  HeadExample tagged(const data::LabelledText& text) {
    std::string line;
    std::vector<std::uint32_t> ends;  // of the words, in characters
    for (const std::string& word : text.words) {
      line += (line.empty() ? "" : " ") + word;
      ends.push_back(static_cast<std::uint32_t>(count_characters(line)));
    }
    HeadExample example{.source = source_};
    example.text = reader_.read(line, text.line, batching_);
    example.targets.assign(example.text.ids.size(), tasks::kIgnored);
    example.words.assign(text.words.size(), -1);
    for (std::size_t token = example.text.first.begin; token < example.text.first.end; ++token) {
      const text::Span span = example.text.offsets[token];
      const auto word = static_cast<std::size_t>(std::ranges::upper_bound(ends, span.begin) - ends.begin());
      if (word >= ends.size()) continue;
      const bool first = example.words[word] < 0;
      if (!first && reader_.continues_word(example.text, token)) continue;
      if (first) example.words[word] = static_cast<std::int32_t>(token);
      const std::string tag = first ? text.tags[word] : inside(text.tags[word]);
      const auto known = ids_.find(tag);
      // I-X may be unknown where every name of the training file has one word.
      example.targets[token] = first ? id_of(tag, text) : known == ids_.end() ? tasks::kIgnored : known->second;
    }
    return example;
  }

  // A window that does not hold the whole answer points at its first token, [CLS] (Devlin et al. 2019, section 4.3).
  void add_windows(const data::LabelledText& text, std::vector<HeadExample>& examples) {
    const data::LabelledText::Answer& answer = text.answers.front();
    const auto begin = static_cast<std::uint32_t>(answer.begin);
    const auto end =
        static_cast<std::uint32_t>(answer.begin + static_cast<std::int64_t>(count_characters(answer.text)));
    for (tasks::EncoderText& window : tasks::answer_windows(reader_, text.text, text.pair, kOverlap)) {
      std::int32_t first = 0, last = 0;
      for (std::size_t token = window.second.begin; token < window.second.end; ++token) {
        const text::Span span = window.offsets[token];
        if (span.end <= begin || span.begin >= end) continue;
        if (first == 0) first = static_cast<std::int32_t>(token);
        last = static_cast<std::int32_t>(token);
      }
      const bool whole = first > 0 && window.offsets[static_cast<std::size_t>(first)].begin <= begin &&
                         window.offsets[static_cast<std::size_t>(last)].end >= end;
      HeadExample example{.source = source_};
      example.targets = whole ? std::vector{first, last} : std::vector{0, 0};
      example.text = std::move(window);
      examples.push_back(std::move(example));
    }
  }

  const tasks::EncoderReader& reader_;
  const data::LabelledFile& file_;
  tasks::TargetKind kind_;
  std::map<std::string, std::int32_t> ids_;
  tasks::EncoderBatching batching_;
  std::int64_t cut_ = 0;
  std::size_t source_ = 0;
};

}  // namespace

std::vector<std::string> labels_in(const data::LabelledFile& file, tasks::TargetKind kind) {
  std::set<std::string> found;
  for (const data::LabelledText& text : file.texts) {
    if (kind == tasks::TargetKind::label) found.insert(text.label);
    if (kind == tasks::TargetKind::tags) found.insert(text.tags.begin(), text.tags.end());
  }
  std::vector<std::string> labels(found.begin(), found.end());
  std::int64_t number = 0;
  const auto value = [&](const std::string& label) { return is_number(label, number) ? number : 0; };
  if (std::ranges::all_of(labels, [&](const std::string& label) { return is_number(label, number); }))
    std::ranges::stable_sort(labels, {}, value);
  if (const auto outside = std::ranges::find(labels, "O"); outside != labels.end() && kind == tasks::TargetKind::tags)
    std::rotate(labels.begin(), outside, outside + 1);
  return labels;
}

EncodedTexts encode_texts(const tasks::EncoderReader& reader, const data::LabelledFile& file, tasks::TargetKind kind,
                          const std::vector<std::string>& labels) {
  return Encoder(reader, file, kind, labels).run();
}

}  // namespace attend::train
