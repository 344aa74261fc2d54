#include "attend/tasks/embedder.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "attend/base/error.h"

namespace attend::tasks {

Embedder::~Embedder() = default;

Embedder::Embedder(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : encoder_(folder, "embed", catalogue::Task::embed, backend, format), modules_(folder, encoder_.config().width) {
  encoder_.reader().limit(modules_.longest());
}

std::vector<std::vector<float>> Embedder::embed(std::span<const std::string> lines, const EmbedOptions& options) const {
  const EncoderReader& reader = encoder_.reader();
  modules_.check(options.overrides());
  const std::string prompt = options.prompt.value_or(modules_.prompt({}));
  const std::size_t skipped = modules_.skipped_tokens(reader, prompt);
  std::vector<EncoderText> texts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = options.batching.first_line + static_cast<std::int64_t>(i);
    texts.push_back(reader.read(modules_.prepared(lines[i], prompt), number, options.batching));
    check(!texts.back().ids.empty(), "embed: line {} has no tokens", number);
  }
  std::vector<std::vector<float>> vectors(lines.size());
  in_batches(texts, options.batching.batch, [&](EncoderBatch batch, std::span<const std::size_t> indices) {
    const std::vector<std::vector<float>> states = states_of(encoder_, batch);
    for (std::size_t i = 0; i < batch.size(); ++i)
      vectors[indices[i]] = modules_(states[i], options.overrides(), skipped);
  });
  return vectors;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  check(a.size() == b.size(), "cosine: of {} and {} numbers", a.size(), b.size());
  double product = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    left += static_cast<double>(a[i]) * a[i], right += static_cast<double>(b[i]) * b[i];
  }
  return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

std::string npy_of(std::span<const std::vector<float>> rows, std::int64_t columns) {
  static_assert(std::endian::native == std::endian::little);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows.size(), columns);
  header.append(64 - (10 + header.size() + 1) % 64, ' ')
      .push_back('\n');  // what comes behind it is aligned to 64 bytes
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  for (const std::vector<float>& row : rows) {
    check(static_cast<std::int64_t>(row.size()) == columns, "npy: a row of {} numbers among {}", row.size(), columns);
    file.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  }
  return file;
}

}  // namespace attend::tasks
