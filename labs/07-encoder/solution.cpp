// A post-norm encoder layer with one head.
#include "blocks.h"

using lab::Array;

Array encoder_layer(const Array& x, const Array& wq, const Array& wk, const Array& wv, const Array& wo, const Array& w1,
                    const Array& w2) {
  // hole
  const Array mixed = lab::attention(lab::matmul(x, wq), lab::matmul(x, wk), lab::matmul(x, wv));
  const Array h = lab::norm(lab::add(x, lab::matmul(mixed, wo)));
  return lab::norm(lab::add(h, lab::matmul(lab::relu(lab::matmul(h, w1)), w2)));
  // end
}

int main() { return lab::Program().add("encoder_layer", encoder_layer).run(); }
