// What a model makes of an input right now, for whoever watches a run. The run only collects it; how it is shown is the
// painter's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/image/image.h"
#include "attend/tensor/images.h"
#include "attend/tensor/shape.h"

namespace attend::train {

// Something in an image, with who found it and where that one looked.
struct ImageBox {
  std::string label = {};
  float score = 0;
  std::array<double, 4> box = {};  // left, top, width, height, in parts of the image
  std::int32_t query = -1;         // of the model; -1: none
  std::vector<float> looks = {};   // over the places of a grid, row by row; empty: nothing is known
};

// A word about an image, and where it looked.
struct ImageWord {
  std::string text = {};
  float probability = 0;
  std::vector<float> looks = {};
};

struct Example {
  std::vector<std::string> read = {}, written = {};  // tokens, as people read them
  std::string read_text = {}, written_text = {};
  std::string text = {};  // what the model says
  // Every attention in it, under the name that a probe sees: [1, heads, rows, columns], of which the first ones count.
  struct Attention {
    std::string label;
    Shape shape;
    std::vector<float> weights;
  };
  std::vector<Attention> attention = {};
  std::int64_t rows = 0, columns = 0;  // how many count; 0: all
  // Of a model that looks at images, instead of tokens: what it saw and its likeliest labels. `text` is the label it
  // gives, `written_text` the one it should; attention is over the whole image.
  struct Image {
    image::Image seen;
    std::vector<std::pair<std::string, float>> labels = {};
    Extent2 grid = {};  // of the looks below
    // Of one that finds things: its answers, best first, and what is there, with the query that was matched to each.
    std::optional<std::vector<ImageBox>> found = {}, truth = {};
    // Of one that writes about images: `text` is the whole sentence.
    std::optional<std::vector<ImageWord>> words = {};
  };
  std::optional<Image> image = {};
};

// An input of the validation data with what the model says of it, and how good that is.
struct ScoredExample {
  std::string input, said, should;
  double score = 0;  // higher is better; 1 is right
};
// The three best and the three worst of many.
struct BestAndWorst {
  std::vector<ScoredExample> best = {}, worst = {};
};
BestAndWorst best_and_worst(std::vector<ScoredExample> all);

// How many inputs are shown, and how long: fewer and shorter ones of a model with many heads, whose images are many.
struct ExampleLimits {
  std::size_t count = 3;
  std::int64_t tokens = 32;
};

class Painter {
 public:
  virtual ~Painter() = default;
  virtual ExampleLimits limits() = 0;
  virtual Json paint(const std::vector<Example>& examples) = 0;  // a line of look.jsonl
};

}  // namespace attend::train
