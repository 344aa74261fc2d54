#pragma once
#include <cstdint>
#include <cstddef>
struct alignas(64) CUtensorMap { int kind; unsigned short* data; long d[4]; long s[4]; int lower[2], upper[2], step[2]; int rows; };
