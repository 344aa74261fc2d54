// Any bytes as a request whose body is in chunks, with extensions and trailers, through the reader of the HTTP server
// and its limits, without a socket. What it is must not depend on the pieces in which it comes.
#include <optional>
#include <string>

#include "attend/http/memory_budget.h"
#include "attend/http/request_reader.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "request.txt"};

namespace {

using Reader = http::RequestReader;

constexpr Reader::Limits kLimits{.head = 512, .body = 1024, .image = 2048};
constexpr std::size_t kBudget = 64 << 10;

struct Outcome {
  Reader::Step step = Reader::Step::more;
  int status = 0;
  http::Request request;
};

Outcome read_in_pieces(std::string_view bytes, std::size_t piece) {
  http::MemoryBudget budget;
  budget.set_limit(kBudget);
  Outcome outcome;
  {
    http::MemoryCharge charge(budget);
    Reader reader(kLimits, charge);
    boost::beast::flat_buffer buffer;
    while (!bytes.empty() && (outcome.step == Reader::Step::more || outcome.step == Reader::Step::go_on)) {
      const std::string_view next = bytes.substr(0, piece);
      bytes.remove_prefix(next.size());
      const auto room = buffer.prepare(next.size());
      std::copy(next.begin(), next.end(), static_cast<char*>(room.data()));
      buffer.commit(next.size());
      outcome.step = reader.read(buffer);
      must(budget.used() <= kBudget, "no more is charged than there is");
      must(outcome.step != Reader::Step::more || buffer.size() <= kLimits.head, "a part without an end has a limit");
    }
    if (outcome.step == Reader::Step::more) outcome.step = reader.end();
    outcome.status = reader.status();
    if (outcome.step == Reader::Step::done) {
      outcome.request = reader.take_request();
      must(outcome.request.body.size() <= kLimits.image, "a body has a limit");
      must(outcome.request.body.capacity() <= 2 * kLimits.image + 4096, "and so has what is kept for it");
    }
    if (outcome.step == Reader::Step::refused) must(outcome.status >= 400 && outcome.status < 600, "a refusal is one");
  }
  must(budget.used() == 0, "all is given back");
  return outcome;
}

}  // namespace

void enter(const Input& input) {
  const std::string& bytes = input.first().bytes;
  if (bytes.empty()) return;
  const Outcome whole = read_in_pieces(bytes, bytes.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    const Outcome other = read_in_pieces(bytes, piece);
    // A part that is too large is known as such before its end, if that has not come yet.
    const auto large = [](const Outcome& one) { return one.status == 413 || one.status == 431 || one.status == 503; };
    if (large(whole) || large(other)) continue;
    must(whole.step == other.step && whole.status == other.status, "pieces change nothing");
    must(whole.request.body == other.request.body && whole.request.headers == other.request.headers, "of the request");
  }
}

}  // namespace attend::fuzz
