// A walk through one head (trace.h) as a figure: each step with its formula, its line of code and its numbers as cells.
#pragma once

#include <string>

#include "attend/view/figure.h"
#include "attend/view/trace.h"

namespace attend::view {

// Blue is below zero, orange above; each step has a scale of its own. Steps with a number a row also say it.
Figure trace_figure(const Trace& trace, const std::string& title);

}  // namespace attend::view
