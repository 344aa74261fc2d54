#include "attend/http/workers.h"

#include <exception>
#include <utility>

namespace attend::http {

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::add(std::function<void()> work) {
  std::function<void()> here;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (waiting_.size() > idle_ && threads_.size() < most_) try {
        threads_.emplace_back([this] { live(); });
      } catch (const std::exception&) {  // no thread, or no memory for one
        if (threads_.empty()) {
          here = std::move(waiting_.back());
          waiting_.pop_back();
        }
      }
  }
  if (here)
    here();
  else
    wake_.notify_one();
}

void Workers::live() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace attend::http
