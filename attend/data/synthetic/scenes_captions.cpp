// What can be said of a scene. A caption is about its two largest objects (what a person would name first) and where
// they are, or about everything in it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "attend/data/synthetic/scenes.h"
#include "attend/data/synthetic/scenes_random.h"

namespace attend::data {

namespace {

constexpr std::array<const char*, 11> kCounts = {"no",  "one",   "two",   "three", "four", "five",
                                                 "six", "seven", "eight", "nine",  "ten"};

std::string count_text(std::size_t count) { return count < kCounts.size() ? kCounts[count] : fmt::format("{}", count); }

// "disc", "7".
std::string noun_of(int kind) {
  std::string name = scene_kind_name(kind);
  return name.starts_with("digit ") ? name.substr(6) : name;
}

std::string with_article(const std::string& words) {
  const bool vowel = words.starts_with("orange") || words == "8";
  return (vowel ? "an " : "a ") + words;
}

std::string coloured(const SceneObject& object) {
  return fmt::format("{} {}", scene_colour_name(object.colour), noun_of(object.kind));
}

struct Relation {
  const char* there;  // a .. b
  const char* back;   // b .. a
};

// By their middles, along the axis on which they are further apart.
Relation relation_of(const SceneObject& a, const SceneObject& b) {
  const ScenePoint from = a.box.middle(), to = b.box.middle();
  const double dx = to.x - from.x, dy = to.y - from.y;
  if (std::abs(dy) >= std::abs(dx)) return dy > 0 ? Relation{"above", "below"} : Relation{"below", "above"};
  return dx > 0 ? Relation{"to the left of", "to the right of"} : Relation{"to the right of", "to the left of"};
}

// "in the top left", by thirds of the image.
std::string place_of(const SceneObject& object, int size) {
  const ScenePoint middle = object.box.middle();
  const auto third = [&](double at) { return std::clamp(static_cast<int>(at * 3 / size), 0, 2); };
  static constexpr std::array<const char*, 9> kPlaces = {"in the top left",    "at the top",    "in the top right",
                                                         "on the left",        "in the middle", "on the right",
                                                         "in the bottom left", "at the bottom", "in the bottom right"};
  return kPlaces[static_cast<std::size_t>(third(middle.y) * 3 + third(middle.x))];
}

// "small", "large" or nothing.
std::string size_word(const SceneObject& object, int size) {
  const double share = std::max(object.box.width(), object.box.height()) / size;
  return share < 0.18 ? "small " : share > 0.32 ? "large " : "";
}

// "two discs, a square and a 7".
std::string all_kinds(const Scene& scene) {
  std::array<std::size_t, kSceneKinds> counts = {};
  for (const SceneObject& object : scene.objects) ++counts[static_cast<std::size_t>(object.kind)];
  std::vector<std::string> parts;
  for (int kind = 0; kind < kSceneKinds; ++kind) {
    const std::size_t count = counts[static_cast<std::size_t>(kind)];
    if (count == 1) parts.push_back(with_article(noun_of(kind)));
    if (count > 1) parts.push_back(fmt::format("{} {}s", count_text(count), noun_of(kind)));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::vector<std::string> about_one(const SceneObject& object, int size) {
  const std::string name = coloured(object), sized = size_word(object, size) + name, place = place_of(object, size);
  return {fmt::format("{} {}", with_article(name), place),
          fmt::format("there is {} {}", with_article(name), place),
          fmt::format("{} {} of a grey image", with_article(sized), place),
          fmt::format("an image of {}", with_article(name)),
          fmt::format("one {} on a grey background", name),
          fmt::format("a single {} and nothing else", sized)};
}

std::vector<std::string> about_two(const Scene& scene, const SceneObject& first, const SceneObject& second, int size) {
  const std::string a = with_article(coloured(first)), b = with_article(coloured(second));
  const auto [there, back] = relation_of(first, second);
  const std::size_t others = scene.objects.size() - 2;
  std::vector<std::string> captions = {
      fmt::format("{} {} {}", a, there, b),
      fmt::format("{} {} {}", b, back, a),
      fmt::format("there is {} {} {}", a, there, b),
      fmt::format("{} is {} {}", a, there, b),
      fmt::format("{} with {} {} it", b, a, there),
      fmt::format("{} {} and {}", with_article(size_word(first, size) + coloured(first)), place_of(first, size), b),
      "an image of " + all_kinds(scene)};
  if (others == 0) {
    captions.push_back(fmt::format("two objects, {} and {}", a, b));
  } else {
    captions.push_back(fmt::format("{}, {} and {} other object{}", a, b, count_text(others), others == 1 ? "" : "s"));
  }
  return captions;
}

}  // namespace

std::vector<std::string> describe_scene(const Scene& scene, const SceneOptions& options, SceneSet set,
                                        std::uint64_t image) {
  std::vector<const SceneObject*> objects;
  for (const SceneObject& object : scene.objects) objects.push_back(&object);
  std::stable_sort(objects.begin(), objects.end(), [](const SceneObject* a, const SceneObject* b) {
    return a->box.width() * a->box.height() > b->box.width() * b->box.height();
  });
  std::vector<std::string> captions = objects.size() == 1 ? about_one(*objects[0], options.size)
                                                          : about_two(scene, *objects[0], *objects[1], options.size);
  // Five of them, in any order.
  SceneRandom random(options.seed, set, image, SceneRandom::Use::captions);
  for (int i = 0; i < kSceneCaptions; ++i)
    std::swap(captions[static_cast<std::size_t>(i)],
              captions[static_cast<std::size_t>(i + random.below(static_cast<int>(captions.size()) - i))]);
  captions.resize(kSceneCaptions);
  return captions;
}

}  // namespace attend::data
