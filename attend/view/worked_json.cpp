#include "attend/view/worked_json.h"

#include <array>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::view {

namespace {

// The first has Alammar's numbers, "The Illustrated Transformer" (2018): d_k = 64, so that √d_k = 8.
constexpr std::array<WorkedExample, 2> kWorkedExamples = {
    {{"slide", "Thinking 1*64", "Thinking 1.75*64; Machines 1.5*64", "Thinking 1 0 5; Machines 0 1 5"},
     {"dictionary", "student 4 0 0; I 0 4 0; painting 0 0 4; artist 3 0 3", "student 2 0 0; I 0 2 0; painting 0 0 2",
      "étudiant je tableau; 1 0 0; 0 1 0; 0 0 1"}}};

Json rows_json(const NamedMatrix& matrix) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < matrix.rows; ++i)
    rows.push_back(std::vector<double>(matrix.values.begin() + static_cast<std::ptrdiff_t>(i * matrix.columns),
                                       matrix.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * matrix.columns)));
  return rows;
}

Json matrix_json(const NamedMatrix& matrix) {
  return {{"values", rows_json(matrix)}, {"rows", matrix.row_names}, {"columns", matrix.column_names}};
}

}  // namespace

std::span<const WorkedExample> worked_examples() { return kWorkedExamples; }

const WorkedExample& worked_example(std::string_view name) {
  std::string all;
  for (const WorkedExample& one : kWorkedExamples) {
    if (one.name == name) return one;
    all += (all.empty() ? "" : ", ") + std::string(one.name);
  }
  fail("attention: there is no example '{}'; there are {}", name, all);
}

Score score_named(std::string_view name) {
  if (name == "dot") return Score::dot;
  if (name == "additive") return Score::additive;
  if (name == "general") return Score::general;
  check(name == "cosine", "attention: there is no score '{}'; choose dot, additive, general or cosine", name);
  return Score::cosine;
}

Json to_json(const WorkedAttention& worked) {
  return {{"queries", worked.q.row_names},      {"keys", worked.k.row_names},
          {"columns", worked.v.column_names},   {"scores", rows_json(worked.scores)},
          {"scaled", rows_json(worked.scaled)}, {"weights", rows_json(worked.weights)},
          {"output", rows_json(worked.output)}};
}

Json page_json(const WorkedAttention& worked) {
  Json json = to_json(worked);
  json.update({{"q", matrix_json(worked.q)}, {"k", matrix_json(worked.k)}, {"v", matrix_json(worked.v)}});
  Json steps = Json::array();
  for (const WorkedStep& step : steps_of(worked)) {
    const char* matrix = step.matrix == &worked.scores    ? "scores"
                         : step.matrix == &worked.scaled  ? "scaled"
                         : step.matrix == &worked.weights ? "weights"
                                                          : "output";
    steps.push_back({{"formula", step.formula}, {"matrix", matrix}, {"hides", step.hides}});
  }
  Json visible = Json::array();
  for (std::size_t i = 0; i < worked.q.rows; ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < worked.k.rows; ++j) row.push_back(worked.visible(i, j));
    visible.push_back(std::move(row));
  }
  json.update({{"steps", std::move(steps)}, {"visible", std::move(visible)}});
  return json;
}

}  // namespace attend::view
