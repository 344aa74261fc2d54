// Sinusoidal positions, [length, width].
#include <cmath>

#include "lab.h"

lab::Array positions(int length, int width) {
  // hole
  lab::Array table({length, width});
  for (int p = 0; p < length; ++p)
    for (int i = 0; i < width; i += 2) {
      const double angle = p / std::pow(10000.0, static_cast<double>(i) / width);
      table(p, i) = std::sin(angle), table(p, i + 1) = std::cos(angle);
    }
  return table;
  // end
}

int main() { return lab::Program().add("positions", positions).run(); }
