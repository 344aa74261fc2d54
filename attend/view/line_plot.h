// A plot of lines: one or more series over the same axis, with a legend. The axis of x may be logarithmic.
#pragma once

#include <string>
#include <vector>

#include "attend/view/figure.h"
#include "attend/view/figure_layout.h"

namespace attend::view {

struct LineSeries {
  std::string name;
  std::vector<double> y;  // one for each x
};

struct LinePlot {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<double> x = {};
  std::vector<LineSeries> series = {};
  bool log_x = false;
};

// Throws Error where a series has another length than x, or a number is not finite.
Figure line_figure(const LinePlot& plot);

}  // namespace attend::view
