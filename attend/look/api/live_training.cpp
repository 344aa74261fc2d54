#include "attend/look/api/live_training.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "attend/base/error.h"
#include "attend/http/json_request.h"

namespace attend::look {

Json LiveTraining::tasks() {
  Json list = Json::array();
  for (const MinuteTask& task : minute_tasks())
    list.push_back({{"name", task.name}, {"title", task.title}, {"reads", task.reads}, {"writes", task.writes}});
  return list;
}

Json LiveTraining::start(const Json& request) {
  const std::string name = http::word(request, "task", "");
  const MinuteTask* task = name.empty() ? nullptr : &minute_task(name);
  const std::lock_guard one(one_);
  halt();
  std::filesystem::path folder;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == "running") state_ = "stopped", run_->end();
    if (!task) return {{"number", number_}};
    folder = folder_ / std::to_string(++number_);
    task_ = name, state_ = "running", error_.clear();
    run_ = std::make_shared<RunReader>(folder / "run");
  }
  begin(*task, folder);
  return {{"number", number_}};
}

std::string LiveTraining::model_name() const {
  return number_ == 1 ? "trained-" + task_ : fmt::format("trained-{}-{}", task_, number_);
}

void LiveTraining::end(bool trained, const std::string& error) {
  const std::lock_guard lock(mutex_);
  run_->end();
  error_ = error;
  state_ = !error.empty() ? "failed" : trained ? "ended" : "stopped";
  if (trained)
    trained_.push_back({.name = model_name(),
                        .about = fmt::format("{}, trained on this page", minute_task(task_).title),
                        .folder = folder_ / std::to_string(number_) / "run"});
}

Json LiveTraining::lines(const Json& request) {
  const auto count = [&](const char* name) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, http::whole(request, name, 0)));
  };
  std::shared_ptr<RunReader> run;
  Json about;
  {
    const std::lock_guard lock(mutex_);
    run = run_;
    about = {{"number", number_}, {"task", task_}, {"state", state_}};
    if (!error_.empty()) about["error"] = error_;
    if (state_ == "ended") about["model"] = model_name();
  }
  Json answer = {{"log", Json::array()}, {"look", Json::array()}, {"logs", 0}, {"looks", 0}};
  if (run) answer = run->lines({.log = count("log"), .look = count("look")});
  answer.update(about);
  if (!answer.contains("model")) return answer;
  const std::filesystem::path test = folder_ / answer["number"].dump() / "run" / "test.json";
  if (std::error_code ignored; std::filesystem::exists(test, ignored)) answer["test"] = read_json(test);
  return answer;
}

std::vector<ModelEntry> LiveTraining::trained() const {
  const std::lock_guard lock(mutex_);
  return trained_;
}

}  // namespace attend::look
