// translate MODEL < lines: every line of standard input, translated. MODEL is a folder, or the name of a shipped model.
#include <attend/attend.h>

#include <iostream>

int main(int count, char** words) try {
  const std::string name = count > 1 ? words[1] : "en-fr";
  const attend::Translator translator(attend::find_model(name), attend::Device("cpu"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  for (const auto& line : translator.translate(lines, {.beams = 4})) std::cout << line.text() << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "translate: " << error.what() << '\n';
  return 1;
}
