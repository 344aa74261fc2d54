// Networks of one's own (attend/nn.h) in the Python module.
#pragma once

#include <pybind11/pybind11.h>

namespace attend::python {

void add_layers(pybind11::module_& module);

}  // namespace attend::python
