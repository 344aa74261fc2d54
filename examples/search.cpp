// search MODEL QUERY < lines: the lines of standard input nearest in meaning to the query, best first.
#include <attend/attend.h>

#include <algorithm>
#include <iostream>

int main(int count, char** words) try {
  attend::check(count == 3, "a model and a query are needed");
  const attend::Embedder embedder(attend::find_model(words[1]), attend::Device("cpu"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  const auto vectors = embedder.embed(lines);
  const std::vector<std::string> queries = {words[2]};
  const auto query = embedder.embed(queries)[0];

  std::vector<std::pair<double, std::string>> found;
  for (std::size_t i = 0; i < lines.size(); ++i) found.emplace_back(attend::cosine(query, vectors[i]), lines[i]);
  std::sort(found.rbegin(), found.rend());
  found.resize(std::min<std::size_t>(found.size(), 5));
  for (const auto& [likeness, line] : found) std::cout << likeness << '\t' << line << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "search: " << error.what() << '\n';
  return 1;
}
