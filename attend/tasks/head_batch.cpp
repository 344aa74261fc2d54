#include "attend/tasks/head_batch.h"

#include <vector>

namespace attend::tasks {

HeadBatch pack_once(const EncoderReader& reader, std::span<const EncoderText* const> texts, Backend& backend) {
  HeadBatch batch{.input = reader.pack(texts, backend)};
  std::vector<std::int32_t> last;
  for (const EncoderText* text : texts)
    last.push_back((last.empty() ? -1 : last.back()) + static_cast<std::int32_t>(text->ids.size()));
  batch.last = make_tensor(backend, {static_cast<std::int64_t>(last.size())}, DType::i32);
  upload(batch.last, last);
  return batch;
}

}  // namespace attend::tasks
