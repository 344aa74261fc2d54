// translate MODEL < lines: every line of standard input, translated. MODEL is a folder, or the name of a shipped model.
#include <attend/attend.h>

#include <iostream>

int main(int count, char** words) try {
  const auto backend = attend::open_backend("cpu");
  const std::string name = count > 1 ? words[1] : "en-fr";
  const auto loaded = attend::tasks::load_translator(attend::tasks::find_model(name), *backend);
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  for (const auto& line : loaded->translator.translate(lines, {.beams = 4})) std::cout << line.text() << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "translate: " << error.what() << '\n';
  return 1;
}
