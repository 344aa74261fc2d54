// detect MODEL IMAGE..: what is in the images, and where (x, y, width, height in pixels).
#include <attend/attend.h>

#include <iostream>

int main(int count, char** words) try {
  const std::vector<std::string> given(words + 1, words + count);
  attend::check(given.size() > 1, "a model and an image are needed");
  const attend::Detector detector(attend::find_model(given[0]), attend::Device("cpu"));
  for (std::size_t i = 1; i < given.size(); ++i) {
    for (const auto& found : detector.detect(attend::image::read_image(given[i]), 0.7f))
      std::cout << detector.labels().at(static_cast<std::size_t>(found.label)) << '\t' << found.score << '\t'
                << found.box.x << ' ' << found.box.y << ' ' << found.box.width << ' ' << found.box.height << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "detect: " << error.what() << '\n';
  return 1;
}
