#include "attend/cli/commands/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/model_flag.h"
#include "attend/verify/verify.h"

namespace attend::cli {

namespace {

struct VerifyCommand {
  std::string folder;
  DeviceFlags device = {.batch_invariant = false};  // gradients, as in training
  std::optional<double> tolerance = {};
};

// bf16 keeps three digits of a number, and a gradient is a sum of many.
constexpr double kTolerance = 1e-4, kTolerance16x3 = 1e-3, kTolerance16 = 0.2;

constexpr const char* kVerifyExamples = R"(
  attend verify my-model
  attend verify my-model --device cuda --tolerance 1e-3
  attend verify my-model --dtype bf16 # the default tolerance is then 0.2)";

constexpr const char* kVerdicts[] = {"ok", "BEYOND", "NOT PRODUCED"};

void print(const verify::VerifyReport& report, std::ostream& out) {
  std::size_t names = 4, shapes = 5;
  for (const auto& tensor : report.tensors) {
    names = std::max(names, printable(tensor.name).size());
    shapes = std::max(shapes, tensor.shape.to_string().size());
  }
  out << fmt::format("{:<{}}  {:<{}}  {:>9}  {:>9}  verdict\n", "name", names, "shape", shapes, "error", "relative");
  for (const auto& tensor : report.tensors) {
    const bool known = tensor.verdict != verify::VerifiedTensor::not_produced;
    out << fmt::format("{:<{}}  {:<{}}  {:>9}  {:>9}  {}{}{}\n", printable(tensor.name), names,
                       tensor.shape.to_string(), shapes, known ? fmt::format("{:.2g}", tensor.error) : "-",
                       known ? fmt::format("{:.2g}", tensor.relative) : "-", kVerdicts[tensor.verdict],
                       tensor.note.empty() ? "" : "  ", tensor.note);
  }
}

void run_verify(const VerifyCommand& options, const Streams& streams) {
  const auto backend = options.device.open();
  verify::VerifyOptions verify{.dtype = options.device.type()};
  verify.tolerance = options.tolerance.value_or(verify.dtype == DType::bf16        ? kTolerance16
                                                : options.device.dtype == "bf16x3" ? kTolerance16x3
                                                                                   : kTolerance);
  if (!options.device.weights.empty()) verify.weights = options.device.format().weights;
  const verify::VerifyReport report = verify::verify(options.folder, *backend, verify);
  print(report, streams.out);
  const std::string summary =
      fmt::format("{}: {} of {} within {:g}", printable(report.architecture),
                  report.count(verify::VerifiedTensor::same), report.tensors.size(), verify.tolerance);
  const std::size_t beyond = report.count(verify::VerifiedTensor::beyond),
                    missing = report.count(verify::VerifiedTensor::not_produced);
  streams.out << fmt::format("{}, {} beyond, {} not produced\n", summary, beyond, missing) << std::flush;
  check(report.passed(), "verify: {} does not compute what it should: {} of {} tensors beyond {:g}, {} not produced",
        options.folder, beyond, report.tensors.size(), verify.tolerance, missing);
}

}  // namespace

void add_verify_command(Flags& program, const Streams& streams) {
  add_command<VerifyCommand>(
      program, streams,
      {.name = "verify",
       .help = "Compare a model's outputs with stored results of another library.",
       .examples = kVerifyExamples,
       .notes = {"The folder holds config.json (or case.json with a \"config\"), the weights and expected.safetensors. "
                 "That file has inputs (input_ids, attention_mask, token_type_ids, decoder_input_ids, labels, "
                 "start_positions, end_positions, prompt, ...) and the results of another library (logits, loss, "
                 "hidden.N, attention.N, grad.PARAMETER, greedy, beam4, embeddings, ...).",
                 "A name may end in a slice (hidden.12[:, :, ::16]). NAME.1 belongs to input 1, run alone. If "
                 "case.json lists \"texts\", token ids are compared too.",
                 "The exit code is 1 if a result exceeds the tolerance or is missing."}},
      [](Flags& flags, VerifyCommand& options) {
        add_model_file_flag(flags, "folder", options.folder, "Model folder with expected.safetensors").required();
        flags
            .add("--tolerance", options.tolerance,
                 "Tolerance, relative to the largest value of each tensor. Decoded tokens must be equal, except with "
                 "bf16 or int8, where this share may differ.")
            .shown_as("0.0001");
        add_device_flags(flags, options.device);
        add_weights_flag(flags, options.device);
      },
      run_verify);
}

}  // namespace attend::cli
