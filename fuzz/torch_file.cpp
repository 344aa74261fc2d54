// Any bytes as a file that torch.save wrote: every tensor it lists can be read, or the file is refused with an Error.
// An input of parts is a pickle with the bytes of its storages, and is put into a file of both formats, so that changes
// reach the pickle and are not lost on the archive around it.
#include "attend/checkpoint/torch/torch_file.h"

#include "fuzz/shared/target.h"
#include "tests/checkpoint/torch_writer.h"

namespace attend::fuzz {

const Target kTarget = {.file = "pytorch_model.bin"};

namespace {

void check_tensors(const checkpoint::TensorFile& file) {
  constexpr std::size_t kSmall = 1 << 20;  // larger ones are views of few numbers, and would only take time
  for (const checkpoint::StoredTensor& tensor : file.tensors()) {
    must(file.find(tensor.name) == &tensor, "a tensor is found by its name");
    if (tensor.size_in_bytes() > kSmall) continue;
    must(file.contents(tensor.name).view().size() == tensor.size_in_bytes(), "a tensor is as long as its shape says");
    attempt([&] { file.floats(tensor.name); });
    attempt([&] { file.ints(tensor.name); });
  }
}

void read(const std::string& bytes) {
  check_tensors(checkpoint::torch::view_torch_file(std::as_bytes(std::span(bytes)), "input").tensors);
  // From a file the same, which may be let go of.
  checkpoint::TensorFile mapped = checkpoint::torch::open_torch_file(write("input.bin", bytes)).tensors;
  for (const checkpoint::StoredTensor& tensor : mapped.tensors()) mapped.forget(tensor.name);
  mapped.drop_prefix("module.");
  check_tensors(mapped);
}

}  // namespace

void enter(const Input& input) {
  if (!input.has("pickle")) return read(input.first().bytes);
  test::Storages storages;
  for (const Part& part : input.parts())
    if (part.name != "pickle") storages.push_back({part.name, part.bytes});
  const std::string pickle(input["pickle"]);
  attempt([&] { read(test::torch_stream_of(pickle, storages)); });
  read(test::torch_zip_of(pickle, storages));
}

}  // namespace attend::fuzz
