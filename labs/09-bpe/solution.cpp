// Byte-pair encoding: learning merges, and using them.
#include <algorithm>

#include "lab.h"

using lab::Texts;

Texts letters_of(const std::string& word) {
  Texts letters;
  for (const char letter : word) letters.emplace_back(1, letter);
  return letters;
}

// tokens with every occurrence of the pair "a b", from left to right, as one token.
Texts merged(const Texts& tokens, const std::string& pair) {
  // hole
  Texts result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i + 1 < tokens.size() && tokens[i] + " " + tokens[i + 1] == pair)
      result.push_back(tokens[i] + tokens[i + 1]), ++i;
    else
      result.push_back(tokens[i]);
  }
  return result;
  // end
}

Texts learn(const Texts& words, const lab::Array& counts, int merges) {
  // hole
  std::vector<Texts> split;
  for (const std::string& word : words) split.push_back(letters_of(word));
  Texts learned;
  while (static_cast<int>(learned.size()) < merges) {
    std::map<std::string, double> pairs;
    for (std::size_t w = 0; w < split.size(); ++w)
      for (std::size_t i = 0; i + 1 < split[w].size(); ++i) pairs[split[w][i] + " " + split[w][i + 1]] += counts.data[w];
    if (pairs.empty()) break;
    auto best = pairs.begin();  // a map is sorted, so the first of equals stays
    for (auto pair = pairs.begin(); pair != pairs.end(); ++pair)
      if (pair->second > best->second) best = pair;
    learned.push_back(best->first);
    for (Texts& tokens : split) tokens = merged(tokens, best->first);
  }
  return learned;
  // end
}

Texts encode(const std::string& word, const Texts& merges) {
  // hole
  Texts tokens = letters_of(word);
  while (true) {
    auto best = merges.end();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      best = std::min(best, std::find(merges.begin(), merges.end(), tokens[i] + " " + tokens[i + 1]));
    if (best == merges.end()) return tokens;
    tokens = merged(tokens, *best);
  }
  // end
}

int main() { return lab::Program().add("learn", learn).add("encode", encode).run(); }
