// The progress bar with a clock and a stream of our own.
#include "attend/base/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

namespace attend {
namespace {

constexpr Terminal kNarrowTerminal = {.interactive = true, .color = false, .width = 30};
constexpr Terminal kWideTerminal = {.interactive = true, .color = false, .width = 100};

struct ProgressTest : testing::Test {
  Progress::Options options(const Terminal& terminal, std::int64_t total = 400) {
    return {.label = "training", .total = total, .terminal = terminal, .clock = [this] { return now; }};
  }
  void wait(double seconds) {
    now += std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  }
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }

  std::chrono::steady_clock::time_point now;
  std::ostringstream out;
};

int columns(const std::string& text) {
  int count = 0;
  for (const char c : text) count += (c & 0xC0) != 0x80;
  return count;
}

TEST_F(ProgressTest, NeverExceedsItsTotal) {
  Progress progress(out, options(kWideTerminal, 180));
  wait(1);
  progress.update(181);
  EXPECT_NE(take().find("180/180"), std::string::npos);
  progress.finish();
  EXPECT_EQ(take().find("181"), std::string::npos);
}

TEST_F(ProgressTest, RedrawsOneLineInATerminal) {
  Progress progress(out, options(kWideTerminal));
  wait(2);
  progress.update(100, "loss 0.431");
  const std::string line = take();
  EXPECT_EQ(line.front(), '\r');
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("training  ███████▌"), std::string::npos) << line;
  EXPECT_NE(line.find(" 25 %  100/400  50.0/s  loss 0.431  6 s left\x1b[K"), std::string::npos) << line;
  EXPECT_LT(columns(line), 100 + 4);

  progress.update(101);  // too early to draw again
  EXPECT_FALSE(progress.wants_text());
  EXPECT_EQ(take(), "");
  wait(0.2);
  EXPECT_TRUE(progress.wants_text());
  progress.update(110);
  EXPECT_NE(take().find("110/400"), std::string::npos);

  wait(6);
  progress.update(400);
  take();
  progress.finish("loss 0.1");
  const std::string last = take();
  EXPECT_NE(last.find("100 %  400/400  48.8/s  loss 0.1  in 8 s"), std::string::npos) << last;
  EXPECT_EQ(last.back(), '\n');
  progress.finish();  // once is enough
  progress.update(400);
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, StaysInsideANarrowTerminal) {
  Progress progress(out, options(kNarrowTerminal));
  wait(1);
  progress.update(200, "loss 0.431 and a lot more to say");
  std::string line = take();
  EXPECT_EQ(line.substr(line.size() - 3), "\x1b[K");
  line = line.substr(1, line.size() - 4);
  EXPECT_LE(columns(line), 29);
  EXPECT_EQ(line.find("training   50 %  200/400"), 0u) << line;
}

TEST_F(ProgressTest, PrintsLinesElsewhere) {
  Progress progress(out, options({}));
  wait(1);
  progress.update(10, "loss 3");
  EXPECT_EQ(take(), "");
  wait(10);
  progress.update(110, "loss 2");
  EXPECT_EQ(take(), "training   27 %  110/400  10.0/s  loss 2  29 s left\n");
  wait(5);
  progress.update(160);
  EXPECT_EQ(take(), "");
  wait(24);
  progress.update(400);
  take();
  progress.finish("loss 1");
  EXPECT_EQ(take(), "training  100 %  400/400  10.0/s  loss 1  in 40 s\n");
}

TEST_F(ProgressTest, ByTheClockEndsAtItsTime) {
  Progress::Options by_time = options({}, 180);
  by_time.by_time = true;
  Progress progress(out, by_time);
  wait(45);
  progress.update(45, "step 7  loss 2");
  EXPECT_EQ(take(), "training   25 %  45 s of 3 min 00 s  step 7  loss 2  2 min 15 s left\n");
  wait(136);  // the last step ends when it ends
  progress.update(181);
  take();
  progress.finish("loss 1");
  EXPECT_EQ(take(), "training  100 %  3 min 00 s of 3 min 00 s  loss 1  in 3 min 01 s\n");
}

// A run that is resumed and has nothing left to do.
TEST_F(ProgressTest, WhatWasDoneBeforeIsDone) {
  for (const bool by_time : {false, true}) {
    Progress::Options over = options({}, 180);
    over.start = by_time ? 184 : 180, over.by_time = by_time;
    Progress progress(out, over);
    progress.finish();
    EXPECT_EQ(take(),
              by_time ? "training  100 %  3 min 00 s of 3 min 00 s  in 0 s\n" : "training  100 %  180/180  in 0 s\n");
  }
}

TEST_F(ProgressTest, ColoursOnlyWhenAsked) {
  Terminal terminal = kWideTerminal;
  terminal.color = true;
  Progress progress(out, options(terminal));
  progress.update(0);
  EXPECT_NE(take().find("\x1b[36m"), std::string::npos);
}

TEST_F(ProgressTest, EndsItsLineWhenItGoesAway) {
  {
    Progress progress(out, options(kWideTerminal));
    progress.update(1);
    take();
  }
  EXPECT_EQ(take(), "\n");
  { Progress untouched(out, options(kWideTerminal)); }
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, AnEmptyLoopIsDone) {
  Progress progress(out, options(kWideTerminal, 0));
  progress.finish();
  EXPECT_NE(take().find("100 %  0/0"), std::string::npos);
}

TEST(ProgressText, Durations) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(-1), "0 s");
}

TEST(ProgressText, Rates) {
  EXPECT_EQ(rate_text(0.25), "0.25/s");
  EXPECT_EQ(rate_text(61.23), "61.2/s");
  EXPECT_EQ(rate_text(1400), "1.4k/s");
  EXPECT_EQ(rate_text(2.5e6), "2.5M/s");
}

// How long it still takes is worth more than what else there is to say.
TEST_F(ProgressTest, KeepsTheTimeLeftInATerminalOf80Columns) {
  constexpr Terminal kUsual = {.interactive = true, .color = false, .width = 80};
  Progress progress(out, options(kUsual, 100000));
  wait(100);
  progress.update(4321, "loss 3.214  12.3k/s tokens  lr 1.00e-03  and more that has no room");
  const std::string line = take();
  EXPECT_NE(line.find("left"), std::string::npos) << line;
  EXPECT_NE(line.find("loss 3.214"), std::string::npos) << line;
  EXPECT_EQ(line.find("and more"), std::string::npos) << line;
  EXPECT_LE(line.size(), 80u + 4);  // and what begins and ends a redrawn line
}

}  // namespace
}  // namespace attend
