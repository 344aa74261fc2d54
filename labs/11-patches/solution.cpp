// An image [H, W, C] as rows of patches, [N, P·P·C].
#include "lab.h"

lab::Array patches(const lab::Array& image, int size) {
  // hole
  const int H = image.shape[0] / size, W = image.shape[1] / size, C = image.shape[2];
  lab::Array rows({H * W, size * size * C});
  for (int n = 0; n < H * W; ++n)
    for (int i = 0; i < size * size * C; ++i)
      rows(n, i) = image(n / W * size + i / C / size, n % W * size + i / C % size, i % C);
  return rows;
  // end
}

int main() { return lab::Program().add("patches", patches).run(); }
