// A post-norm decoder layer with one head.
#include "blocks.h"

using lab::Array;
using lab::attention;
using lab::matmul;

Array decoder_layer(const Array& x, const Array& memory, const Array& w1q, const Array& w1k, const Array& w1v,
                    const Array& w2q, const Array& w2k, const Array& w2v, const Array& f1, const Array& f2) {
  // hole
  const Array a = lab::norm(lab::add(x, attention(matmul(x, w1q), matmul(x, w1k), matmul(x, w1v), true)));
  const Array b = lab::norm(lab::add(a, attention(matmul(a, w2q), matmul(memory, w2k), matmul(memory, w2v))));
  return lab::norm(lab::add(b, matmul(lab::relu(matmul(b, f1)), f2)));
  // end
}

int main() { return lab::Program().add("decoder_layer", decoder_layer).run(); }
