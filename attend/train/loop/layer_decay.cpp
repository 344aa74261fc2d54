#include "attend/train/loop/layer_decay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "attend/base/error.h"

namespace attend::train {

namespace {

struct Layer {
  std::string stack;
  int number = 0;
};

// By the first part of the name that is a number.
std::optional<Layer> layer_of(const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const char *begin = name.data() + dot + 1, *end = name.data() + std::min(name.find('.', dot + 1), name.size());
    int number = 0;
    const auto [stopped, error] = std::from_chars(begin, end, number);
    if (begin != end && stopped == end && error == std::errc() && number >= 0)
      return Layer{name.substr(0, dot), number};
  }
  return {};
}

bool is_embedding(const nn::Parameters::Entry& entry) {
  const auto has = [&](const char* part) { return entry.name.find(part) != std::string::npos; };
  return entry.parameter->role == nn::Role::table || has("embed") || has("wpe.");  // GPT-2's positions
}

}  // namespace

std::vector<ParameterGroup> with_layer_decay(const std::vector<nn::Parameters::Entry>& entries,
                                             const std::vector<ParameterGroup>& groups, float decay) {
  std::map<std::string, int> layers;  // of each stack
  int most = 0;
  for (const nn::Parameters::Entry& entry : entries)
    if (const auto layer = layer_of(entry.name)) {
      int& count = layers[layer->stack];
      count = std::max(count, layer->number + 1);
      most = std::max(most, count);
    }
  check(most > 0, "layer_decay: no parameter of the model has the number of a layer in its name");
  std::vector<ParameterGroup> result;
  std::set<std::string> seen;  // parts of one tensor of a file have one name
  for (const nn::Parameters::Entry& entry : entries) {
    if (!entry.learned() || !seen.insert(entry.name).second) continue;
    const auto found = group_of(groups, entry.name);
    ParameterGroup group = found == groups.end() ? ParameterGroup{} : *found;
    const auto layer = layer_of(entry.name);
    const int above = layer ? layers[layer->stack] - 1 - layer->number : is_embedding(entry) ? most : 0;
    group.pattern = entry.name;
    group.rate *= std::pow(decay, static_cast<float>(above));
    result.push_back(group);
  }
  return result;
}

}  // namespace attend::train
