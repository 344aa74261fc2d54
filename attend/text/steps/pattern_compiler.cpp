// Reads a regular expression into a tree and writes that as the steps of a Pattern.
#include <algorithm>
#include <memory>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/aligned_text.h"
#include "attend/text/steps/pattern.h"

namespace attend::text {

namespace {

using Set = Pattern::Set;
using Step = Pattern::Step;
using Op = Pattern::Op;

struct Node {
  enum class Kind : std::uint8_t { set, sequence, either, repeat, ahead, not_ahead, start, end };
  Kind kind = Kind::sequence;
  Set set = {};
  std::vector<std::unique_ptr<Node>> parts = {};
  std::uint32_t least = 0, most = 0;  // of a repeat; most 0 is any number
  bool lazy = false, possessive = false;
  bool may_be_empty = true;  // kept right by finish(), so that nobody walks the tree for it
  std::int64_t number = -1;  // of a set that is among the pattern's already

  // When all parts are there.
  void finish() {
    const auto empty = [](const auto& part) { return part->may_be_empty; };
    if (kind == Kind::set) may_be_empty = false;
    if (kind == Kind::either) may_be_empty = std::ranges::any_of(parts, empty);
    if (kind == Kind::repeat) may_be_empty = least == 0 || parts[0]->may_be_empty;
    if (kind == Kind::sequence) may_be_empty = std::ranges::all_of(parts, empty);
  }
};
using NodePtr = std::unique_ptr<Node>;

class Parser {
 public:
  explicit Parser(std::string_view regex) : name_(shown(regex)), text_(to_characters(regex)) {
    check(regex.size() <= limits::kLongestPattern,
          "the pattern {} is {} bytes long; the most is {} (kLongestPattern in attend/base/limits.h)", name_,
          regex.size(), limits::kLongestPattern);
  }

  NodePtr parse() {
    NodePtr node = either(0);
    if (at_ < text_.size()) wrong("has a ) too many");
    return node;
  }

 private:
  [[noreturn]] void wrong(const char* what) const { fail("the pattern {} {}", name_, what); }
  void check_depth(int depth) const {
    check(depth <= limits::kDeepestPattern,
          "the pattern {} is nested more than {} deep (kDeepestPattern in attend/base/limits.h)", name_,
          limits::kDeepestPattern);
  }
  bool more() const { return at_ < text_.size(); }
  bool take(char32_t c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view text) {
    if (std::u32string_view(text_).substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  static NodePtr make(Node::Kind kind) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    return node;
  }

  NodePtr either(int depth) {
    check_depth(depth);
    NodePtr node = make(Node::Kind::either);
    const bool folds = folds_case_;
    do node->parts.push_back(sequence(depth));
    while (take(U'|'));
    folds_case_ = folds;
    node->finish();
    return node;
  }

  NodePtr sequence(int depth) {
    NodePtr node = make(Node::Kind::sequence);
    while (more() && text_[at_] != '|' && text_[at_] != ')')
      if (!take(U"(?i)")) {
        node->parts.push_back(repeated(one(depth)));
      } else {
        folds_case_ = true;
      }
    node->finish();
    return node;
  }

  NodePtr repeated(NodePtr part) {
    for (int depth = 0; more(); ++depth) {
      check_depth(depth);
      NodePtr node = make(Node::Kind::repeat);
      if (take(U'?')) {
        node->most = 1;
      } else if (take(U'+')) {
        node->least = 1;
      } else if (!take(U'*') && !counts(*node)) {
        break;
      }
      if (part->may_be_empty) wrong("repeats what may be empty, which is not supported");
      node->lazy = take(U'?');
      node->possessive = !node->lazy && take(U'+');
      node->parts.push_back(std::move(part));
      node->finish();
      part = std::move(node);
    }
    return part;
  }

  // {2}, {2,} or {2,5}
  bool counts(Node& node) {
    const std::size_t before = at_;
    const auto number = [&]() -> std::optional<std::uint32_t> {
      std::optional<std::uint32_t> value;
      for (; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        value = value.value_or(0) * 10 + static_cast<std::uint32_t>(text_[at_] - '0');
        if (*value > 100) wrong("repeats more than 100 times, which is not supported");
      }
      return value;
    };
    if (!take(U'{')) return false;
    const auto least = number();
    const bool range = take(U',');
    const auto most = range ? number() : least;
    if (!least || !take(U'}')) {
      at_ = before;
      return false;
    }
    if (most && (*most == 0 || *most < *least)) wrong("repeats no times, which is not supported");
    node.least = *least;
    node.most = most.value_or(0);
    return true;
  }

  NodePtr one(int depth) {
    if (take(U'(')) return group(depth);
    if (take(U'^') || take(U"\\A")) return make(Node::Kind::start);
    if (take(U'$') || take(U"\\z") || take(U"\\Z")) return make(Node::Kind::end);
    NodePtr node = make(Node::Kind::set);
    node->set.folds_case = folds_case_;
    if (take(U'[')) {
      bracket(node->set);
    } else if (take(U'.')) {
      node->set = {.items = {{.first = '\n', .last = '\n'}}, .negated = true};
    } else if (take(U'\\')) {
      node->set.items.push_back(escape());
    } else {
      const char32_t c = text_[at_++];
      if (c == '*' || c == '+' || c == '?') wrong("repeats nothing");
      node->set.items.push_back({.first = c, .last = c});
    }
    node->set.cost = 1 + static_cast<std::uint32_t>(node->set.items.size() / 8);
    node->finish();
    return node;
  }

  NodePtr group(int depth) {
    Node::Kind kind = Node::Kind::sequence;
    const bool folds = folds_case_;
    if (take(U"?=")) {
      kind = Node::Kind::ahead;
    } else if (take(U"?!")) {
      kind = Node::Kind::not_ahead;
    } else if (take(U"?i:")) {
      folds_case_ = true;
    } else if (!take(U"?:") && more() && text_[at_] == '?') {
      wrong("has a group that is not supported");
    }
    NodePtr node = make(kind);
    node->parts.push_back(either(depth + 1));
    folds_case_ = folds;
    if (!take(U')')) wrong("has a ( too many");
    node->finish();
    return node;
  }

  void bracket(Set& set) {
    set.negated = take(U'^');
    for (bool first = true; first || !take(U']'); first = false) {
      if (!more()) wrong("has a [ too many");
      if (text_[at_] == '[' || take(U"&&")) wrong("has a class inside a class, which is not supported");
      Pattern::Item item = {.first = text_[at_], .last = text_[at_]};
      if (take(U'\\')) {
        item = escape();
      } else {
        ++at_;
      }
      const bool range = item.property == 0 && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (range) {
        ++at_;
        item.last = text_[at_];
        if (take(U'\\')) {
          const Pattern::Item end = escape();
          if (end.property != 0) wrong("has a range that ends in a class");
          item.last = end.last;
        } else {
          ++at_;
        }
        if (item.last < item.first) wrong("has a range that ends before it begins");
      }
      set.items.push_back(item);
    }
  }

  Pattern::Item escape() {
    if (!more()) wrong("ends in a backslash");
    const char32_t c = text_[at_++];
    const auto plain = [](char32_t which) { return Pattern::Item{.first = which, .last = which}; };
    switch (c) {
      case 's':
        return {.property = Property::white_space};
      case 'S':
        return {.property = Property::white_space, .negated = true};
      case 'w':
        return {.property = Property::word};
      case 'W':
        return {.property = Property::word, .negated = true};
      case 'd':
        return {.property = Property::number};
      case 'D':
        return {.property = Property::number, .negated = true};
      case 'n':
        return plain('\n');
      case 'r':
        return plain('\r');
      case 't':
        return plain('\t');
      case 'f':
        return plain('\f');
      case 'v':
        return plain('\v');
      case 'p':
        return property(false);
      case 'P':
        return property(true);
      case 'u':
      case 'x':
        return plain(code(c == 'u' ? 4 : 2));
      default:
        break;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
      wrong("has an escape that is not supported");
    return plain(c);
  }

  Pattern::Item property(bool negated) {
    constexpr std::pair<std::u32string_view, std::uint8_t> kNames[] = {
        {U"{L}", Property::letter},      {U"{N}", Property::number},
        {U"{M}", Property::mark},        {U"{P}", Property::punctuation},
        {U"{S}", Property::symbol},      {U"{Letter}", Property::letter},
        {U"{Number}", Property::number}, {U"{Punctuation}", Property::punctuation}};
    for (const auto& [name, bits] : kNames)
      if (take(name)) return {.property = bits, .negated = negated};
    wrong("names a property that is not supported");
  }

  // Hexadecimal digits, perhaps in braces.
  char32_t code(int digits) {
    const bool braces = take(U'{');
    char32_t value = 0;
    int count = 0;
    for (; more() && count < (braces ? 6 : digits); ++count) {
      const char32_t c = text_[at_];
      const bool decimal = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'f';
      if (!decimal && !letter) break;
      value = value * 16 + (decimal ? c - '0' : (c | 32) - 'a' + 10);
      ++at_;
    }
    if (count == 0 || (braces && !take(U'}'))) wrong("has a number that is not supported");
    return value;
  }

  std::string name_;
  std::u32string text_;
  std::size_t at_ = 0;
  bool folds_case_ = false;
};

class Compiler {
 public:
  Compiler(std::vector<Set>& sets, std::vector<Step>& steps) : sets_(sets), steps_(steps) {}

  void emit(Node& node) {
    switch (node.kind) {
      case Node::Kind::set:
        if (node.number < 0) {  // a repetition comes here again
          node.number = static_cast<std::int64_t>(sets_.size());
          sets_.push_back(node.set);
        }
        add({Op::one, static_cast<std::uint32_t>(node.number)});
        break;
      case Node::Kind::sequence:
        for (const auto& part : node.parts) emit(*part);
        break;
      case Node::Kind::either:
        emit_either(node);
        break;
      case Node::Kind::repeat:
        emit_repeat(node);
        break;
      case Node::Kind::ahead:
        emit_inside({Op::ahead}, [&] { emit(*node.parts[0]); });
        break;
      case Node::Kind::not_ahead:
        emit_inside({Op::not_ahead}, [&] { emit(*node.parts[0]); });
        break;
      case Node::Kind::start:
        add({Op::start});
        break;
      case Node::Kind::end:
        add({Op::end});
        break;
    }
  }

  std::uint32_t add(Step step) {
    check(steps_.size() < limits::kLargestPattern,
          "the pattern has more than {} steps (kLargestPattern in attend/base/limits.h)", limits::kLargestPattern);
    steps_.push_back(step);
    return next() - 1;
  }

 private:
  std::uint32_t next() const { return static_cast<std::uint32_t>(steps_.size()); }

  template <class Emit>
  void emit_inside(Step step, const Emit& emit) {
    const std::uint32_t at = add(step);
    emit();
    add({Op::match});
    steps_[at].x = next();
  }

  void emit_either(Node& node) {
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const std::uint32_t split = last ? 0 : add({Op::split});
      if (!last) steps_[split].x = next();
      emit(*node.parts[i]);
      if (last) break;
      ends.push_back(add({Op::jump}));
      steps_[split].y = next();
    }
    for (const std::uint32_t end : ends) steps_[end].x = next();
  }

  void emit_repeat(Node& node) {
    if (node.possessive) return emit_inside({Op::atomic}, [&] { emit_times(node); });
    emit_times(node);
  }

  void emit_times(Node& node) {
    const auto set = [&](std::uint32_t split, std::uint32_t body, std::uint32_t out) {
      steps_[split].x = node.lazy ? out : body;
      steps_[split].y = node.lazy ? body : out;
    };
    for (std::uint32_t i = 0; i < node.least; ++i) emit(*node.parts[0]);
    if (node.most == 0) {
      const std::uint32_t split = add({Op::split});
      emit(*node.parts[0]);
      add({Op::jump, split});
      return set(split, split + 1, next());
    }
    std::vector<std::uint32_t> splits;
    for (std::uint32_t i = node.least; i < node.most; ++i) {
      splits.push_back(add({Op::split}));
      emit(*node.parts[0]);
    }
    for (const std::uint32_t split : splits) set(split, split + 1, next());
  }

  std::vector<Set>& sets_;
  std::vector<Step>& steps_;
};

}  // namespace

void compile_pattern(std::string_view regex, std::vector<Set>& sets, std::vector<Step>& steps) {
  const NodePtr node = Parser(regex).parse();
  Compiler compiler(sets, steps);
  compiler.emit(*node);
  compiler.add({Op::match});
}

}  // namespace attend::text
