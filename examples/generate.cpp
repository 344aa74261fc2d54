// generate MODEL PROMPT: goes on with the prompt, and shows the text as it grows.
#include <attend/attend.h>

#include <iostream>

int main(int count, char** words) try {
  attend::check(count == 3, "a model and a prompt are needed");
  const attend::Generator generator(attend::find_model(words[1]), attend::Device("cpu"));
  std::cout << words[2];
  const auto show = [](std::string_view piece) { std::cout << piece << std::flush; };
  generator.generate(words[2], {.max_tokens = 40, .temperature = 0.8f, .top_k = 20, .on_text = show});
  std::cout << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "generate: " << error.what() << '\n';
  return 1;
}
