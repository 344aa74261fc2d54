// From a request that has been read to the bytes of its answer.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "attend/http/session.h"

namespace attend::http {

inline constexpr std::size_t kMostUnsent = 1 << 20;  // bytes of an answer that a client has not taken yet

// What a request is answered, on its way: whoever finds the answer adds to it, and the thread that reads and writes
// takes all there is at once. So a stream costs a write to the socket for each token while that thread keeps up, and
// one for several when it does not; and a step that writes to many streams wakes it once.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  struct Parts {
    std::optional<Response> head = {};  // of an answer whose body is below
    bool grows = false, last = false;
    std::string body = {};
  };
  // Where memory is missing for it, the connection ends.
  template <class Change>
  void put(Change change) noexcept {
    try {
      bool first;
      {
        const std::lock_guard lock(mutex_);
        change(parts_);
        waiting_ = parts_.body.size();
        first = !std::exchange(listed_, true);
      }
      if (first) session_->core()->list(shared_from_this());
    } catch (const std::exception&) {
      session_->fail();
    }
  }
  bool full() const { return session_->unsent() + waiting_ > kMostUnsent; }
  Session& session() { return *session_; }
  const Session& session() const { return *session_; }

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
    std::string().swap(parts.body);
    session.send(std::move(bytes), size, parts.last);
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
  SessionExchange(std::shared_ptr<Session> session, std::stop_source stop)
      : outbox_(std::make_shared<Outbox>(std::move(session))), stop_(std::move(stop)) {}
  ~SessionExchange() override {
    if (begun_ && !done_) finish();
    if (begun_ || done_) return;
    try {
      answer(refused(500, "something went wrong here"));
    } catch (const std::exception&) {
      outbox_->session().fail();
    }
  }

  // What is there already is sent, whatever it does to the budget: whoever computes it has asked before.
  void answer(Response response) override {
    if (done_.exchange(true)) return;
    outbox_->session().charge().note(response.body.size());
    outbox_->put([&](Outbox::Parts& parts) {
      parts.body = std::move(response.body);
      parts.head = std::move(response);
      parts.last = true;
    });
  }
  void begin(Response head) override {
    if (begun_.exchange(true)) return;
    outbox_->put([&](Outbox::Parts& parts) { parts.head = std::move(head), parts.grows = true; });
  }
  bool write(std::string_view piece) override {
    if (done_ || outbox_->session().broken() || outbox_->full() || !charge(piece.size())) {
      stop_.request_stop();
      return false;
    }
    if (!piece.empty()) outbox_->put([&](Outbox::Parts& parts) { parts.body += piece; });
    return true;
  }
  void finish() override {
    if (done_.exchange(true)) return;
    outbox_->put([](Outbox::Parts& parts) { parts.last = true; });
  }
  std::stop_token stop_token() const override { return stop_.get_token(); }
  bool charge(std::size_t bytes) override { return outbox_->session().charge().add(bytes); }
  void discharge(std::size_t bytes) override { outbox_->session().charge().remove(bytes); }

 private:
  std::shared_ptr<Outbox> outbox_;
  std::stop_source stop_;
  std::atomic<bool> begun_{false}, done_{false};
};

inline void Session::hand_on() {
  Request request = reader_->take_request();
  request.id = id_of(request.header("x-request-id"));
  request.client = client_;
  record_.id = request.id, record_.method = request.method, record_.path = request.path;
  record_.received = request.body.size();
  head_only_ = request.method == "HEAD";
  old_ = reader_->old();
  const bool image = lower(request.content_type).starts_with("image/");
  if (!image && !charge_.add(decoded_size(request.body)))
    return refuse(503, "requests occupy as much memory as they may; try again");
  state_ = State::answering;
  keep_ = reader_->keep_alive() && !ends_;
  stop_ = std::stop_source();
  core_->dispatcher(std::move(request), std::make_shared<SessionExchange>(shared_from_this(), stop_));
}

}  // namespace attend::http
