// train FOLDER: a tiny Transformer that learns to write numbers backwards, kept in FOLDER for translate.cpp.
#include <attend/attend.h>

#include <fstream>
#include <iostream>

namespace {

// Four digits, and the same backwards.
void write_pairs(const std::string& name, int first, int step) {
  std::ofstream source(name + ".source"), target(name + ".target");
  for (int number = first; number < 10000; number += step) {
    const std::string digits = std::to_string(10000 + number).substr(1);
    for (const char digit : digits) source << digit << ' ';
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) target << *digit << ' ';
    source << '\n', target << '\n';
  }
}

}  // namespace

int main(int count, char** words) try {
  const std::string folder = count > 1 ? words[1] : "reverse";
  write_pairs(folder + ".train", 0, 3);
  write_pairs(folder + ".valid", 1, 100);
  attend::Json settings = attend::Json::object();
  for (const char* side : {"source", "target"})
    settings[side] = folder + ".train." + side, settings[std::string("valid_") + side] = folder + ".valid." + side;
  settings["out"] = folder, settings["preset"] = "tiny", settings["vocabulary_size"] = 300;
  settings["steps"] = count > 2 ? std::stoi(words[2]) : 300;
  attend::run_training(settings, {.messages = &std::cerr});
  return 0;
} catch (const std::exception& error) {
  std::cerr << "train: " << error.what() << '\n';
  return 1;
}
