// A training that the page starts: its lines come while it runs, it can be cancelled, and questions that make no sense
// are refused.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/api/training_thread.h"

namespace attend::look {
namespace {

Json lines_of(LiveTraining& training) { return training.lines({{"log", 0}, {"look", 0}}); }

// The lines once the answer has so many of its log, or is no longer running.
Json wait_for(LiveTraining& training, std::size_t logs) {
  for (;;) {
    const Json answer = lines_of(training);
    if (answer.at("log").size() >= logs || answer.at("state").text() != "running") return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(LiveTrainings, TellTheirLinesAndCanBeCancelled) {
  TrainingThread training;
  EXPECT_EQ(lines_of(training).at("state").text(), "none");
  EXPECT_EQ(training.start({{"task", "reverse"}}).at("number").get<int>(), 1);
  const Json first = wait_for(training, 2);
  EXPECT_EQ(first.at("state").text(), "running");
  EXPECT_EQ(first.at("task").text(), "reverse");
  EXPECT_EQ(first.at("log")[0].at("step").get<int>(), 10);
  EXPECT_GT(first.at("log")[0].at("loss").get<double>(), first.at("log")[1].at("loss").get<double>());
  EXPECT_EQ(first.at("look")[0].at("step").get<int>(), 0);
  EXPECT_EQ(first.at("look")[0].at("examples")[0].at("attention").size(), 6u);  // two of each kind
  training.start({{"task", ""}});
  EXPECT_EQ(lines_of(training).at("state").text(), "stopped");
  EXPECT_TRUE(training.trained().empty());
  EXPECT_EQ(training.start({{"task", "dates"}}).at("number").get<int>(), 2);
  EXPECT_EQ(lines_of(training).at("task").text(), "dates");
  EXPECT_THROW(training.start({{"task", "klingon"}}), Error);  // and the other one goes on
  EXPECT_EQ(lines_of(training).at("state").text(), "running");
}

TEST(LiveTrainings, AreOfferedOnlyWhereThereIsOne) {
  Api api({}, {.name = "none"});
  TrainingThread training;
  ModelRegistry without(api, "none", {}, {}), with(api, "none", {}, {}, &training);
  const auto ask = [](ModelRegistry& registry, const char* type, const char* body) {
    return registry
        .handle({.method = "POST", .path = "/api/train", .host = "localhost", .content_type = type, .body = body})
        .status;
  };
  EXPECT_EQ(ask(without, "application/json", R"({"task": "dates"})"), 405);
  EXPECT_EQ(ask(with, "text/plain", R"({"task": "dates"})"), 415);  // another site's form
  EXPECT_EQ(ask(with, "application/json", R"({"task": "klingon"})"), 400);
  EXPECT_EQ(ask(with, "application/json", R"({"task": 3})"), 400);
  EXPECT_EQ(lines_of(training).at("state").text(), "none");
}

}  // namespace
}  // namespace attend::look
