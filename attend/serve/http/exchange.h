// From a request that has been read to the bytes of its answer.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "attend/serve/http/session.h"

namespace attend::serve {

inline constexpr std::size_t kMostUnsent = 1 << 20;  // bytes of an answer that a client has not taken yet

// What a request is answered, on its way: whoever finds the answer adds to it, and the thread that reads and writes
// takes all there is at once. So a stream costs a write to the socket for each token while that thread keeps up, and
// one for several when it does not; and a step that writes to many streams wakes it once.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  struct Parts {
    std::optional<HttpResponse> head = {};  // of an answer whose body is below
    bool grows = false, last = false;
    std::string body = {};
  };
  template <class Change>
  void put(Change change) {
    bool first;
    {
      const std::lock_guard lock(mutex_);
      change(parts_);
      waiting_ = parts_.body.size();
      first = !std::exchange(listed_, true);
    }
    if (first) session_->core()->list(shared_from_this());
  }
  bool full() const { return session_->unsent() + waiting_ > kMostUnsent; }
  bool broken() const { return session_->broken(); }

  // By the thread that reads and writes.
  void empty() {
    Parts parts;
    {
      const std::lock_guard lock(mutex_);
      parts = std::exchange(parts_, {.grows = parts_.grows});
      waiting_ = 0;
      listed_ = false;
    }
    Session& session = *session_;
    const std::size_t size = parts.body.size();
    std::string bytes;
    if (parts.head) bytes = session.head_of(*parts.head, parts.grows ? std::nullopt : std::optional(size));
    session.note(size);
    const bool chunked = parts.grows && session.chunked();
    if (chunked && size > 0) bytes += fmt::format("{:x}\r\n", size);
    if (parts.grows || !session.head_only()) bytes += parts.body;
    if (chunked && size > 0) bytes += "\r\n";
    if (chunked && parts.last) bytes += "0\r\n\r\n";
    session.send(bytes, parts.last);
  }

 private:
  std::shared_ptr<Session> session_;
  std::mutex mutex_;
  Parts parts_;
  bool listed_ = false;
  std::atomic<std::size_t> waiting_{0};  // bytes of the body
};

// The answer to one request.
class SessionExchange : public Exchange {
 public:
  SessionExchange(std::shared_ptr<Session> session, std::shared_ptr<std::atomic<bool> > gone)
      : outbox_(std::make_shared<Outbox>(std::move(session))), gone_(std::move(gone)) {}
  ~SessionExchange() override {
    if (begun_ && !done_) finish();
    if (!begun_ && !done_) answer(refused(500, "something went wrong here"));
  }

  void answer(HttpResponse response) override {
    if (done_.exchange(true)) return;
    outbox_->put([&](Outbox::Parts& parts) {
      parts.body = std::move(response.body);
      parts.head = std::move(response);
      parts.last = true;
    });
  }
  void begin(HttpResponse head) override {
    if (begun_.exchange(true)) return;
    outbox_->put([&](Outbox::Parts& parts) { parts.head = std::move(head), parts.grows = true; });
  }
  bool write(std::string_view piece) override {
    if (done_ || outbox_->broken() || outbox_->full()) return false;
    if (!piece.empty()) outbox_->put([&](Outbox::Parts& parts) { parts.body += piece; });
    return true;
  }
  void finish() override {
    if (done_.exchange(true)) return;
    outbox_->put([](Outbox::Parts& parts) { parts.last = true; });
  }
  bool gone() const override { return gone_->load() || outbox_->broken(); }

 private:
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<std::atomic<bool> > gone_;
  std::atomic<bool> begun_{false}, done_{false};
};

inline void Session::hand_on() {
  state_ = State::answering;
  auto message = parser_->release();
  HttpRequest request;
  request.method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  request.path = target.substr(0, target.find('?'));
  if (const std::size_t mark = target.find('?'); mark != std::string_view::npos)
    request.query = target.substr(mark + 1);
  for (const auto& field : message)
    request.headers.emplace_back(lower(view_of(field.name_string())), std::string(view_of(field.value())));
  request.host = request.header("host");
  request.content_type = request.header("content-type");
  request.id = id_of(request.header("x-request-id"));
  request.client = client_;
  request.body = std::move(message.body());
  record_.id = request.id, record_.method = request.method, record_.path = request.path;
  record_.received = request.body.size();
  head_only_ = request.method == "HEAD";
  old_ = message.version() < 11;
  keep_ = message.keep_alive() && !ends_;
  auto gone = std::make_shared<std::atomic<bool> >(false);
  if (buffer_.size() == 0) watch(gone);
  core_->dispatcher(std::move(request), std::make_shared<SessionExchange>(shared_from_this(), gone));
}

}  // namespace attend::serve
