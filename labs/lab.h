// What a lab in C++ needs: arrays of numbers, and a main() that reads cases and writes results for `attend lab check`.
//
//   lab::Array softmax(const lab::Array& x) { .. }
//   int main() { return lab::Program().add("softmax", softmax).run(); }
#pragma once

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace lab {

// Numbers with a shape, row after row: a(i) of [N], a(i, j) of [N, M], a(i, j, k) of [N, M, K].
struct Array {
  Array() = default;
  explicit Array(std::vector<int> dims, double value = 0) : shape(std::move(dims)) {
    std::size_t count = 1;
    for (const int dim : shape) count *= static_cast<std::size_t>(dim);
    data.assign(count, value);
  }
  double& operator()(int i) { return data.at(static_cast<std::size_t>(i)); }
  double operator()(int i) const { return data.at(static_cast<std::size_t>(i)); }
  double& operator()(int i, int j) { return data.at(place(i, j)); }
  double operator()(int i, int j) const { return data.at(place(i, j)); }
  double& operator()(int i, int j, int k) { return data.at(place(i, j, k)); }
  double operator()(int i, int j, int k) const { return data.at(place(i, j, k)); }

  std::vector<int> shape;
  std::vector<double> data;

 private:
  std::size_t place(int i, int j) const {
    if (shape.size() != 2 || i < 0 || j < 0 || i >= shape[0] || j >= shape[1]) throw std::out_of_range("an index of an Array");
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(j);
  }
  std::size_t place(int i, int j, int k) const {
    if (shape.size() != 3 || i < 0 || j < 0 || k < 0 || i >= shape[0] || j >= shape[1] || k >= shape[2])
      throw std::out_of_range("an index of an Array");
    return (static_cast<std::size_t>(i) * static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(shape[2]) + static_cast<std::size_t>(k);
  }
};

[[noreturn]] inline void missing() { throw std::logic_error("your code here"); }

using Texts = std::vector<std::string>;

inline std::string hex_of(const std::string& text) {
  std::string hex;
  for (const char letter : text) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    hex += two;
  }
  return hex;
}

// A line of lab.py as a value.
template <class T>
T read(const std::string& line) {
  std::istringstream in(line);
  std::string kind;
  int count = 0;
  in >> kind >> count;
  if constexpr (std::is_same_v<T, Array>) {
    std::vector<int> shape(static_cast<std::size_t>(count));
    for (int& dim : shape) in >> dim;
    Array array(shape);
    std::string word;
    for (double& value : array.data) in >> word, value = std::stod(word);
    return array;
  } else if constexpr (std::is_same_v<T, Texts> || std::is_same_v<T, std::string>) {
    Texts texts;
    for (std::string word; in >> word;) {
      std::string text;
      for (std::size_t i = 1; i + 1 < word.size(); i += 2)
        text += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
      texts.push_back(text);
    }
    if constexpr (std::is_same_v<T, Texts>)
      return texts;
    else
      return texts.at(0);
  } else {
    std::string word;
    in >> word;
    return static_cast<T>(std::stod(word));
  }
}

inline std::string line_of(const Array& array) {
  std::string line = "numbers " + std::to_string(array.shape.size());
  for (const int dim : array.shape) line += " " + std::to_string(dim);
  for (const double value : array.data) {
    char text[40];
    std::snprintf(text, sizeof text, " %.17g", value);
    line += text;
  }
  return line;
}
inline std::string line_of(const Texts& texts) {
  std::string line = "texts " + std::to_string(texts.size());
  for (const std::string& text : texts) line += " %" + hex_of(text);
  return line;
}
inline std::string line_of(double value) {
  Array one;
  one.data = {value};
  return line_of(one);
}

class Program {
 public:
  template <class Result, class... Args>
  Program& add(const std::string& name, Result (*function)(Args...)) {
    functions_[name] = [function](const std::vector<std::string>& lines) {
      return call(function, lines, std::index_sequence_for<Args...>());
    };
    return *this;
  }

  int run() {
    for (std::string header; std::getline(std::cin, header);) {
      std::istringstream words(header);
      std::string name;
      std::size_t count = 0;
      words >> name >> count;
      std::vector<std::string> lines(count);
      for (std::string& line : lines) std::getline(std::cin, line);
      try {
        if (!functions_.count(name)) throw std::logic_error("the program has no function " + name);
        const std::string result = functions_[name](lines);
        std::cout << "\nlab value " << result << std::endl;
      } catch (const std::exception& error) {
        std::cout << "\nlab error " << hex_of(error.what()) << std::endl;
      }
    }
    return 0;
  }

 private:
  template <class Result, class... Args, std::size_t... I>
  static std::string call(Result (*function)(Args...), const std::vector<std::string>& lines, std::index_sequence<I...>) {
    if (lines.size() != sizeof...(Args)) throw std::logic_error("a function has the wrong number of arguments");
    return line_of(function(read<std::remove_cvref_t<Args>>(lines[I])...));
  }
  std::map<std::string, std::function<std::string(const std::vector<std::string>&)>> functions_;
};

}  // namespace lab
