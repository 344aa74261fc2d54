#include "attend/tensor/counting_backend.h"

#include <algorithm>

namespace attend {

namespace {

constexpr std::size_t kFirstAddress = std::size_t{1} << 20, kAddressStep = 256;

double size_of(const Tensor& x) { return static_cast<double>(x.shape().size()); }

// Pairs of a query and a key that see each other, over all sequences; packed ones count as long as the longest.
double pairs_of(const Attention& args) {
  const AttentionMask& mask = args.mask;
  const bool packed = mask.query_offsets.defined();
  const Shape &q = args.q.shape(), &k = args.k.shape();
  const bool by_heads = k.rank() == 4;  // a cache, [B, 2·H, S, D]
  const std::int64_t queries = packed ? mask.max_queries : q[-2], keys = packed ? mask.max_keys : k[-2],
                     sequences = packed     ? mask.query_offsets.shape()[0] - 1
                                 : by_heads ? k[0]
                                            : args.q.shape().size() / (q[-1] * queries);
  if (!mask.causal && !mask.windowed()) return static_cast<double>(sequences * queries) * static_cast<double>(keys);
  const WindowView<std::int64_t> window(mask.causal, mask.window, keys, queries, keys);
  double pairs = 0;
  for (std::int64_t t = 0; t < queries; ++t) {
    const std::int64_t from = window.from(t), end = window.end(t);
    pairs += static_cast<double>(std::max<std::int64_t>(0, end - from) + std::min(from, std::min(window.globals, end)));
  }
  return static_cast<double>(sequences) * pairs;
}

double attention_products(const Attention& args) {
  return pairs_of(args) * static_cast<double>(args.q.shape()[-1]);  // q·k of all heads; as much again for weights · v
}

}  // namespace

double CountingBackend::multiply_adds() const {
  double sum = 0;
  for (const Work& work : work_) sum += work.multiply_adds;
  return sum;
}

void* CountingBackend::allocate(std::size_t bytes) {
  next_ = std::max(next_, kFirstAddress);
  void* address = reinterpret_cast<void*>(next_);
  next_ += (bytes / kAddressStep + 1) * kAddressStep;
  return address;
}

void CountingBackend::add(double multiply_adds, const Tensor* first, const Tensor* second) {
  const auto address = [](const Tensor* x) { return x ? static_cast<const std::byte*>(x->raw()) : nullptr; };
  work_.push_back({multiply_adds, address(first), address(second)});
}

void CountingBackend::matmul(const MatMul& product, const Grad& c) {
  const Shape& a = product.a.shape();
  const std::int64_t inner = product.transpose_a ? a[-2] : a[-1];
  add(size_of(c.into) * static_cast<double>(inner), &product.b, &product.a);
}

void CountingBackend::convolution(const Convolution&, const Tensor&, const Tensor& weight, const Tensor&, Activation,
                                  const Grad& y) {
  add(size_of(y.into) * size_of(weight) / static_cast<double>(weight.shape()[0]), &weight);
}
void CountingBackend::convolution_input(const Convolution&, const Tensor& dy, const Tensor& weight, const Grad&) {
  add(size_of(dy) * size_of(weight) / static_cast<double>(weight.shape()[0]), &weight);
}
void CountingBackend::convolution_weight(const Convolution&, const Tensor&, const Tensor& dy, const Grad& dweight) {
  add(size_of(dy) * size_of(dweight.into) / static_cast<double>(dweight.into.shape()[0]));
}

void CountingBackend::attention(const Attention& args, const Tensor&, const Tensor&) {
  add(2 * attention_products(args));
}
bool CountingBackend::attention_backward(const Attention& args, const Tensor&, const Tensor&, const Tensor&,
                                         const Grad&, const Grad&, const Grad&, const Grad&, const AttentionSums&) {
  add(5 * attention_products(args));  // the scores again, and the gradients of weights, q, k and v
  return true;
}

void CountingBackend::additive_scores(const Tensor&, const Tensor&, const Tensor& v, const Tensor& scores) {
  add(size_of(scores) * size_of(v), &v);
}
void CountingBackend::additive_scores_backward(const Tensor& dscores, const Tensor&, const Tensor&, const Tensor& v,
                                               const Grad&, const Grad&, const Grad&) {
  add(2 * size_of(dscores) * size_of(v), &v);
}

}  // namespace attend
