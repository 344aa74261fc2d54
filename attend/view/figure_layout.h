// Several figures as one.
#pragma once

#include <vector>

#include "attend/view/figure.h"

namespace attend::view {

// Below each other, and beside each other.
Figure stacked(const std::vector<Figure>& figures);
Figure beside(const std::vector<Figure>& figures);

}  // namespace attend::view
