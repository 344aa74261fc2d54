#include "attend/checkpoint/torch/pickle_machine.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/base/unicode/unicode.h"
#include "attend/checkpoint/torch/byte_reader.h"
#include "attend/checkpoint/torch/globals.h"
#include "attend/checkpoint/torch/pickle_builder.h"

namespace attend::checkpoint::torch {

namespace {

using Kind = Value::Kind;

enum class Opcode : std::uint8_t {
  mark = '(',
  stop = '.',
  none = 'N',
  yes = 0x88,
  no = 0x89,
  int8 = 'K',
  int16 = 'M',
  int32 = 'J',
  long1 = 0x8a,
  real = 'G',
  short_string = 'U',
  string = 'T',
  short_text = 0x8c,
  text = 'X',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  global = 'c',
  stack_global = 0x93,
  reduce = 'R',
  build = 'b',
  persistent = 'Q',
  put = 'q',
  long_put = 'r',
  memoize = 0x94,
  get = 'h',
  long_get = 'j',
  protocol = 0x80,
  frame = 0x95,
};

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, std::size_t begin, const std::string& source)
      : source_(source), reader_(bytes, source, begin), builder_(source) {}

  Pickle run() {
    const std::size_t begin = reader_.position();
    while (true) {
      const std::size_t at = reader_.position();
      demand(at - begin < limits::kLongestPickle, "the pickle is longer than {} bytes", limits::kLongestPickle);
      const auto opcode = static_cast<Opcode>(reader_.number<std::uint8_t>());
      if (opcode == Opcode::stop) break;
      if (!scalar(opcode) && !container(opcode) && !object(opcode) && !memo(opcode))
        fail("{}: refused: opcode {:#04x} at byte {} of the pickle has no place among weights", source_,
             static_cast<unsigned>(opcode), at - begin);
    }
    demand(stack_.size() == 1, "the pickle leaves {} values instead of one", stack_.size());
    return builder_.take(pop(), reader_.position() - begin);
  }

 private:
  template <class... Args>
  void demand(bool ok, fmt::format_string<Args...> format, Args&&... args) const {
    if (!ok) fail("{}: {}", source_, fmt::format(format, std::forward<Args>(args)...));
  }

  bool push(Value value) {
    demand(++pushed_ <= limits::kMostPickleValues, "the pickle has more than {} values", limits::kMostPickleValues);
    stack_.push_back(value);
    return true;
  }
  const Value& top() const {
    demand(!stack_.empty() && stack_.back().kind != Kind::mark, "the pickle takes a value that is not there");
    return stack_.back();
  }
  Value pop() {
    const Value value = top();
    stack_.pop_back();
    return value;
  }
  // The last `count` values, or all down to the mark, which goes too.
  std::vector<Value> pop_last(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }
  std::vector<Value> pop_to_mark() {
    std::size_t begin = stack_.size();
    while (begin > 0 && stack_[begin - 1].kind != Kind::mark) --begin;
    demand(begin > 0, "the pickle has no mark where it needs one");
    std::vector<Value> values(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin - 1);
    return values;
  }

  bool push_integer(std::int64_t value) { return push({.kind = Kind::integer, .integer = value}); }
  bool push_text(std::uint64_t length) {
    demand(length <= limits::kLongestPickleText, "a text of {} bytes is announced, and {} is the limit", length,
           limits::kLongestPickleText);
    const std::string_view text = reader_.text(length);
    demand(!find_invalid_utf8(text), "a text is not valid UTF-8");
    return push({.kind = Kind::text, .text = text});
  }
  // Two's complement, of any length.
  bool push_long() {
    const std::string_view bytes = reader_.text(reader_.number<std::uint8_t>());
    if (bytes.size() > sizeof(std::int64_t)) return push({.kind = Kind::large_integer, .text = bytes});
    std::uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return push_integer(static_cast<std::int64_t>(value));
  }

  bool scalar(Opcode opcode) {
    switch (opcode) {
      case Opcode::none:
        return push({.kind = Kind::none});
      case Opcode::yes:
      case Opcode::no:
        return push({.kind = Kind::boolean, .integer = opcode == Opcode::yes});
      case Opcode::int8:
        return push_integer(reader_.number<std::uint8_t>());
      case Opcode::int16:
        return push_integer(reader_.number<std::uint16_t>());
      case Opcode::int32:
        return push_integer(reader_.number<std::int32_t>());
      case Opcode::long1:
        return push_long();
      case Opcode::real:
        reader_.take(sizeof(double));
        return push({.kind = Kind::real});
      case Opcode::short_string:
      case Opcode::short_text:
        return push_text(reader_.number<std::uint8_t>());
      case Opcode::string:
      case Opcode::text:
        return push_text(reader_.number<std::uint32_t>());
      default:
        return false;
    }
  }

  bool push_container(Kind kind, std::vector<Value> items = {}) {
    return push(builder_.container(kind, std::move(items)));
  }
  bool container(Opcode opcode) {
    switch (opcode) {
      case Opcode::mark:
        return push({.kind = Kind::mark});
      case Opcode::empty_tuple:
        return push_container(Kind::tuple);
      case Opcode::tuple:
        return push_container(Kind::tuple, pop_to_mark());
      case Opcode::tuple1:
      case Opcode::tuple2:
      case Opcode::tuple3:
        return push_container(
            Kind::tuple, pop_last(static_cast<std::size_t>(opcode) - static_cast<std::size_t>(Opcode::tuple1) + 1));
      case Opcode::empty_list:
        return push_container(Kind::list);
      case Opcode::empty_dict:
        return push_container(Kind::dict);
      case Opcode::append:
      case Opcode::appends: {
        const std::vector<Value> items = opcode == Opcode::append ? pop_last(1) : pop_to_mark();
        builder_.append(top(), items);
        return true;
      }
      case Opcode::set_item:
      case Opcode::set_items: {
        const std::vector<Value> items = opcode == Opcode::set_item ? pop_last(2) : pop_to_mark();
        builder_.set_items(top(), items);
        return true;
      }
      default:
        return false;
    }
  }

  bool push_global(std::string_view module, std::string_view name) {
    demand(module.size() <= limits::kLongestGlobal && name.size() <= limits::kLongestGlobal,
           "the name of a global is longer than {} bytes", limits::kLongestGlobal);
    return push({.kind = Kind::global, .global = &find_global(module, name, source_)});
  }
  bool object(Opcode opcode) {
    switch (opcode) {
      case Opcode::global: {
        const std::string_view module = reader_.line(limits::kLongestGlobal);
        return push_global(module, reader_.line(limits::kLongestGlobal));
      }
      case Opcode::stack_global: {
        const std::vector<Value> names = pop_last(2);
        demand(names[0].kind == Kind::text && names[1].kind == Kind::text, "the name of a global is no text");
        return push_global(names[0].text, names[1].text);
      }
      case Opcode::reduce: {
        const std::vector<Value> call = pop_last(2);
        return push(builder_.reduce(call[0], call[1]));
      }
      case Opcode::build: {
        const Value state = pop();
        builder_.set_state(top(), state);
        return true;
      }
      case Opcode::persistent:
        return push(builder_.storage(pop()));
      default:
        return false;
    }
  }

  bool put(std::uint32_t index) {
    memo_[index] = top();
    demand(memo_.size() <= limits::kMostPickleValues, "the pickle remembers more than {} values",
           limits::kMostPickleValues);
    return true;
  }
  bool get(std::uint32_t index) {
    const auto found = memo_.find(index);
    demand(found != memo_.end(), "the pickle takes value {} from its memory, where it put none", index);
    return push(found->second);
  }
  bool memo(Opcode opcode) {
    switch (opcode) {
      case Opcode::put:
        return put(reader_.number<std::uint8_t>());
      case Opcode::long_put:
        return put(reader_.number<std::uint32_t>());
      case Opcode::memoize:
        return put(static_cast<std::uint32_t>(memo_.size()));
      case Opcode::get:
        return get(reader_.number<std::uint8_t>());
      case Opcode::long_get:
        return get(reader_.number<std::uint32_t>());
      case Opcode::protocol: {
        const int protocol = reader_.number<std::uint8_t>();
        demand(protocol >= 2 && protocol <= 5, "pickles of protocol {} are not read", protocol);
        return true;
      }
      case Opcode::frame: {
        const auto length = reader_.number<std::uint64_t>();
        demand(length <= reader_.left(), "cut short: a frame of {} bytes, and {} follow", length, reader_.left());
        return true;
      }
      default:
        return false;
    }
  }

  const std::string& source_;
  ByteReader reader_;
  PickleBuilder builder_;
  std::vector<Value> stack_;
  std::map<std::uint32_t, Value> memo_;  // a tree: indices are the file's choice, and cannot be chosen to collide
  std::size_t pushed_ = 0;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, std::size_t begin, const std::string& source) {
  return PickleMachine(bytes, begin, source).run();
}

}  // namespace attend::checkpoint::torch
