// classify MODEL TEXT..: the likeliest label of each text, and how likely it is.
#include <attend/attend.h>

#include <iostream>

int main(int count, char** words) try {
  const std::vector<std::string> given(words + 1, words + count);
  attend::check(given.size() > 1, "a model and a text are needed");
  const attend::Classifier classifier(attend::find_model(given[0]), attend::Device("cpu"));
  const std::vector<std::string> texts(given.begin() + 1, given.end());
  for (const auto& result : classifier.classify(texts))
    std::cout << result.labels[0].label << '\t' << result.labels[0].probability << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "classify: " << error.what() << '\n';
  return 1;
}
