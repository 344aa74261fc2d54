#include "attend/verify/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/catalogue/catalogue.h"
#include "attend/verify/case.h"

namespace attend::verify {

namespace {

// A gradient below this share of the largest one is what rounding leaves of 0. Such are the biases of attention keys,
// which add the same to all scores of a query (softmax does not see it): their digits are not to be expected again.
constexpr double kRounding = 1e-6;

using catalogue::Family;

// The families that other libraries compute, too.
struct FamilyCase {
  Family family;
  void (*run)(VerifyCase& verified, const catalogue::ModelConfig& model) = nullptr;
};
constexpr catalogue::FamilyTable<FamilyCase> kFamilyCases({{Family::bert, run_bert_case},
                                                           {Family::gpt2, run_gpt2_case},
                                                           {Family::text_rnn},
                                                           {Family::marian, run_marian_case},
                                                           {Family::seq2seq},
                                                           {Family::images, run_image_case},
                                                           {Family::detr, run_detr_case},
                                                           {Family::captions, run_caption_case},
                                                           {Family::sagan}});

void run_case(VerifyCase& verified, const catalogue::ModelConfig& model) {
  const auto run = kFamilyCases[model.entry->family].run;
  check(run != nullptr, "verify: {} is attend's own {}; there is no other library to hold it against", model.path,
        model.entry->type);
  run(verified, model);
}

// An op that refuses its input names shapes; the file that they are from is named here.
void run_named(VerifyCase& verified, const catalogue::ModelConfig& model) {
  try {
    run_case(verified, model);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find(verified.folder.string()) != std::string::npos) throw;
    fail("{}: {}", verified.expected.source(), message);
  }
}

double largest_of(std::span<const float> values) {
  double largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

double largest_gradient(const checkpoint::Safetensors& expected) {
  double largest = 0;
  for (const checkpoint::StoredTensor& tensor : expected.tensors())
    if (tensor.name.starts_with("grad.")) largest = std::max(largest, largest_of(expected.floats(tensor.name)));
  return largest;
}

void compare_floats(const std::vector<float>& want, const std::vector<float>& got, double scale, double tolerance,
                    VerifiedTensor& row) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = want[i] == got[i] ? 0 : std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (std::isnan(error)) {
      row.error = row.relative = std::numeric_limits<double>::infinity();
      row.note = "not a number";
      row.verdict = VerifiedTensor::beyond;
      return;
    }
    row.error = std::max(row.error, error);
  }
  row.relative = row.error == 0 ? 0 : row.error / scale;  // infinite when all should be 0
  if (!(row.relative <= tolerance)) row.verdict = VerifiedTensor::beyond;
}

// What a search found; `differing` is the share of its tokens that may be others.
void compare_ints(const std::vector<std::int64_t>& want, const std::vector<std::int64_t>& got, double differing,
                  VerifiedTensor& row) {
  std::size_t different = 0, first = want.size();
  for (std::size_t i = want.size(); i-- > 0;)
    if (want[i] != got[i]) ++different, first = i;
  row.error = static_cast<double>(different);
  row.relative = want.empty() ? 0 : row.error / static_cast<double>(want.size());
  if (different == 0) return;
  if (row.relative > differing) row.verdict = VerifiedTensor::beyond;
  row.note = fmt::format("{} of {} differ, the first at {}: {} instead of {}", different, want.size(), first,
                         got[first], want[first]);
}

VerifiedTensor compare(const VerifyCase& verified, const checkpoint::StoredTensor& tensor, double gradient,
                       const VerifyOptions& options) {
  const bool exact = options.dtype == DType::f32 && options.weights == nn::WeightForm::plain;
  VerifiedTensor row{.name = tensor.name, .shape = tensor.shape};
  const auto found = verified.produced.find(tensor.name);
  if (found == verified.produced.end()) {
    row.verdict = VerifiedTensor::not_produced;
    return row;
  }
  const ProducedTensor& got = found->second;
  if (got.first_rows && got.shape.rank() == 2 && tensor.shape.rank() == 2 && got.shape[1] == tensor.shape[1] &&
      got.shape[0] > 0 && got.shape[0] < tensor.shape[0]) {
    std::vector<float> want = verified.expected.floats(tensor.name);
    want.resize(got.floats.size());
    row.note =
        fmt::format("{} of {} rows: case.json with the texts is not in the folder", got.shape[0], tensor.shape[0]);
    compare_floats(want, got.floats, largest_of(want), options.tolerance, row);
    return row;
  }
  if (got.shape != tensor.shape) {
    row.verdict = VerifiedTensor::beyond;
    row.error = row.relative = std::numeric_limits<double>::infinity();
    row.note = "its shape here is " + got.shape.to_string();
    return row;
  }
  if (!is_float(tensor.type)) {
    check(got.ints.size() == static_cast<std::size_t>(tensor.shape.size()),
          "{}: '{}' holds integers; a model computes floats", verified.expected.source(), tensor.name);
    compare_ints(verified.expected.ints(tensor.name), got.ints, exact ? 0 : options.tolerance, row);
    return row;
  }
  check(got.floats.size() == static_cast<std::size_t>(tensor.shape.size()),
        "{}: '{}' holds floats; a search finds integers", verified.expected.source(), tensor.name);
  const std::vector<float> want = verified.expected.floats(tensor.name);
  double scale = largest_of(want);
  if (tensor.name.starts_with("grad.") && scale <= kRounding * gradient) {
    scale = gradient;
    row.note = "truly 0: against the largest gradient";
  }
  compare_floats(want, got.floats, scale, options.tolerance, row);
  return row;
}

}  // namespace

std::size_t VerifyReport::count(VerifiedTensor::Verdict verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tensors, [&](const VerifiedTensor& tensor) { return tensor.verdict == verdict; }));
}

VerifyReport verify(const std::filesystem::path& folder, Backend& backend, const VerifyOptions& options) {
  check(options.tolerance >= 0, "verify: a tolerance of {}", options.tolerance);
  check(path_exists(folder), "verify: there is no folder '{}'", folder.string());
  VerifyCase verified(folder, backend, {options.dtype, options.weights});
  const catalogue::ModelConfig model = catalogue::describe(verified.config, verified.config_name());
  VerifyReport report{.architecture = model.architecture, .tensors = {}};
  for (const std::optional<std::size_t>& text : verified.runs()) {
    verified.select(text);
    run_named(verified, model);
  }
  verified.select({});
  run_embeddings(verified, {options.dtype, options.weights});

  const double gradient = largest_gradient(verified.expected);
  for (const checkpoint::StoredTensor& tensor : verified.expected.tensors())
    if (!verified.is_input(tensor.name) && !verified.left_out(tensor.name))
      report.tensors.push_back(compare(verified, tensor, gradient, options));
  if (const std::optional<VerifiedTensor> tokens = check_tokens(verified, model)) report.tensors.push_back(*tokens);
  check(!report.tensors.empty(), "verify: {} names inputs, but nothing to compare", verified.expected.source());
  return report;
}

}  // namespace attend::verify
