// What the processor this process runs on can do, asked once at run time: one binary serves every machine.
#pragma once

#include <string>

namespace attend::cpu {

struct Features {
  bool avx2 = false;  // with FMA: no processor has had one without the other
  bool fma = false;
  bool avx512 = false;       // F, BW, VL, DQ: every server part since 2017
  bool avx512_bf16 = false;  // VDPBF16PS
  bool avx512_vnni = false;  // VPDPBUSD
  bool amx_bf16 = false;     // tiles, granted to this process by the kernel
  bool amx_int8 = false;
  bool neon = false;
  bool neon_dot = false;   // SDOT
  bool neon_bf16 = false;  // BFMMLA
  bool neon_i8mm = false;  // SMMLA
};

// Detected on the first call. The environment variable ATTEND_CPU caps it, for tests and for comparing kernels:
// generic, avx2, avx512 (no bf16, no VNNI), avx512_bf16 (all but AMX), amx, neon (plain), neon_dot, neon_bf16,
// neon_i8mm.
const Features& features();

// The same cap applied to given features. Throws Error on a word that is not in the list above.
Features capped(const Features& features, const std::string& cap);

// "avx2 fma avx512 ..." or "generic".
std::string describe(const Features& features);

}  // namespace attend::cpu
