#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/features.h"
namespace attend::cpu::detail {
KernelSet avx2_kernels() { return {}; }
}
