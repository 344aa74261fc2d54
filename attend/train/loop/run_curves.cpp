#include "attend/train/loop/run_curves.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <string>

#include "attend/train/loop/event_file.h"

namespace attend::train {

namespace {

constexpr std::string_view kColumns = "step,seconds,curve,value\n";

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string content_of(const RunFolder& folder, const char* name, std::int64_t step) {
  std::error_code error;
  if (step == 0 || !std::filesystem::exists(folder.path() / name, error)) return {};
  return read_file(folder.path() / name);
}

std::string events_up_to(const RunFolder& folder, std::int64_t step) {
  std::string kept = kept_events(content_of(folder, kEventFile, step), step);
  return kept.empty() ? event_file_header(wall_time()) : kept;
}

std::string rows_up_to(const RunFolder& folder, std::int64_t step) {
  const std::string all = content_of(folder, kCurveTable, step);
  std::string kept(kColumns);
  for (std::size_t begin = all.find('\n'), end; begin != std::string::npos; begin = end) {
    end = all.find('\n', begin + 1);
    if (end == std::string::npos) break;  // one that was cut off
    const std::string_view row = std::string_view(all).substr(begin + 1, end - begin);
    std::int64_t of = 0;
    const auto [rest, problem] = std::from_chars(row.data(), row.data() + row.size(), of);
    if (problem == std::errc() && of <= step && row.find(",averaged/") == std::string_view::npos) kept += row;
  }
  return kept;
}

std::vector<CurvePoint> points_of(const Json& line) {
  std::vector<CurvePoint> points;
  const auto add = [&](const Json& from, const std::string& group) {
    if (!from.is_object()) return;  // a task may have nothing to say of itself
    for (const auto& item : from.items())
      if (item.value().is_number() && item.key() != "step" && item.key() != "seconds")
        points.push_back({group + "/" + item.key(), item.value().get<double>()});
  };
  if (const auto validation = line.find("validation"); validation != line.end())
    add(*validation, line.contains("averaged") ? "averaged" : "validation");
  else
    add(line, "train");
  if (const auto losses = line.find("losses"); losses != line.end()) add(*losses, "losses");
  return points;
}

}  // namespace

RunCurves::RunCurves(RunFolder& folder, std::int64_t step)
    : events_(folder.append(kEventFile, events_up_to(folder, step))),
      table_(folder.append(kCurveTable, rows_up_to(folder, step))) {}

void RunCurves::add(const Json& line) {
  const auto step = line.at("step").get<std::int64_t>();
  const std::vector<CurvePoint> points = points_of(line);
  new_events_ += curve_event(wall_time(), step, points);
  const std::string seconds = line.contains("seconds") ? fmt::format("{:.3f}", line.at("seconds").get<double>()) : "";
  for (const auto& [name, value] : points) new_rows_ += fmt::format("{},{},{},{}\n", step, seconds, name, value);
}

void RunCurves::write() {
  if (new_rows_.empty()) return;
  events_.add(std::exchange(new_events_, {}));
  table_.add(std::exchange(new_rows_, {}));
}

}  // namespace attend::train
