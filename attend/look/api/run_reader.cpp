#include "attend/look/api/run_reader.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

#include "attend/base/json.h"

namespace attend::look {

namespace {

// 0 where there is none.
double number_in(const Json& json, const char* key) {
  if (!json.is_object()) return 0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

RunReader::RunReader(std::filesystem::path folder) : folder_(std::move(folder)) {
  log_.path = folder_ / "log.jsonl", look_.path = folder_ / "look.jsonl";
}

void RunReader::Lines::update() {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  if (missing || size < read) all.clear(), read = 0;
  if (missing || size == read) return;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(read));
  for (std::string line; std::getline(file, line) && !file.eof();) {  // the last may be half written
    read += line.size() + 1;
    if (Json::accept(line)) all.push_back(std::move(line));
  }
}

std::string RunReader::name() const {
  return (folder_.has_filename() ? folder_ : folder_.parent_path()).filename().string();
}

Json RunReader::lines(const From& from) {
  const std::lock_guard lock(mutex_);
  Json answer = {{"log", Json::array()}, {"look", Json::array()}};
  const auto add = [&](const char* name, Lines& lines, std::size_t first) {
    lines.update();
    for (std::size_t i = first; i < lines.all.size(); ++i) answer[name].push_back(Json::parse(lines.all[i]));
    answer[std::string(name) + "s"] = lines.all.size();
  };
  add("log", log_, from.log);
  add("look", look_, from.look);
  add_length(answer);
  if (ended_) answer["ended"] = true;
  return answer;
}

void RunReader::add_length(Json& answer) const {
  std::error_code missing;
  if (!std::filesystem::exists(folder_ / "recipe.json", missing)) return;
  const Json recipe = read_json(folder_ / "recipe.json");
  if (!recipe.is_object()) return;
  if (const double smoothing = number_in(recipe, "label_smoothing"); smoothing > 0)
    answer["label_smoothing"] = smoothing;
  const double minutes = number_in(recipe, "minutes");
  if (minutes <= 0) {
    if (recipe.contains("steps")) answer["steps"] = recipe["steps"];
    return;
  }
  answer["minutes"] = minutes;
  for (auto line = log_.all.rbegin(); line != log_.all.rend(); ++line) {
    const Json last = Json::parse(*line);
    const double step = number_in(last, "step"), seconds = number_in(last, "seconds"), all = 60 * minutes;
    if (step <= 0 || seconds <= 0) continue;
    constexpr double kMost = 1e15;
    answer["steps"] = std::llround(std::min(kMost, std::max(step, step * all / seconds)));
    return;
  }
}

}  // namespace attend::look
