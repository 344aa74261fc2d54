// Feature detection: CPUID and XGETBV on x86-64, the kernel's auxiliary vector on arm64.
#include "attend/cpu/features.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "attend/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace attend::cpu {

namespace {

#if defined(__x86_64__)

bool bit(unsigned word, int index) { return (word >> index) & 1u; }

std::uint64_t enabled_states() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// Linux hands out the 8 KB of tile registers on request only (5.16 and later).
bool tiles_granted() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Features detect() {
  Features f;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27)) return f;  // OSXSAVE
  const bool fma = bit(c, 12);
  const std::uint64_t states = enabled_states();
  const bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xe6) == 0xe6, tiles = (states & 0x60000) == 0x60000;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  const unsigned subleaves = a;
  f.avx2 = ymm && fma && bit(b, 5);
  f.fma = f.avx2;
  f.avx512 = f.avx2 && zmm && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  f.avx512_vnni = f.avx512 && bit(c, 11);
  if (f.avx512 && tiles && bit(d, 24) && tiles_granted()) {
    f.amx_bf16 = bit(d, 22);
    f.amx_int8 = bit(d, 25);
  }
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx512_bf16 = f.avx512 && bit(a, 5);
  f.amx_bf16 = f.amx_bf16 && f.avx512_bf16;  // the tile kernels pack with the AVX-512 conversions
  f.amx_int8 = f.amx_int8 && f.avx512_vnni;
  return f;
}

#elif defined(__aarch64__)

Features detect() {
  constexpr unsigned long kDot = 1ul << 20;                      // HWCAP_ASIMDDP
  constexpr unsigned long kI8mm = 1ul << 13, kBf16 = 1ul << 14;  // HWCAP2_I8MM, HWCAP2_BF16
  const unsigned long words = getauxval(AT_HWCAP2);
  Features f;
  f.neon = true;
  f.neon_dot = (getauxval(AT_HWCAP) & kDot) != 0;
  f.neon_i8mm = (words & kI8mm) != 0;
  f.neon_bf16 = (words & kBf16) != 0;
  return f;
}

#else

Features detect() { return {}; }

#endif

using Flag = bool Features::*;
constexpr std::array<std::pair<const char*, Flag>, 11> kFlags{{{"avx2", &Features::avx2},
                                                               {"fma", &Features::fma},
                                                               {"avx512", &Features::avx512},
                                                               {"avx512_bf16", &Features::avx512_bf16},
                                                               {"avx512_vnni", &Features::avx512_vnni},
                                                               {"amx_bf16", &Features::amx_bf16},
                                                               {"amx_int8", &Features::amx_int8},
                                                               {"neon", &Features::neon},
                                                               {"neon_dot", &Features::neon_dot},
                                                               {"neon_bf16", &Features::neon_bf16},
                                                               {"neon_i8mm", &Features::neon_i8mm}}};

}  // namespace

Features capped(const Features& features, const std::string& cap) {
  Features keep;
  if (cap == "avx2") {
    keep = {.avx2 = true, .fma = true};
  } else if (cap == "avx512") {
    keep = {.avx2 = true, .fma = true, .avx512 = true};
  } else if (cap == "avx512_bf16") {
    keep = {.avx2 = true, .fma = true, .avx512 = true, .avx512_bf16 = true, .avx512_vnni = true};
  } else if (cap == "amx") {
    return features;
  } else if (cap == "neon") {
    keep = {.neon = true};
  } else if (cap == "neon_dot") {
    keep = {.neon = true, .neon_dot = true};
  } else if (cap == "neon_bf16") {
    keep = {.neon = true, .neon_dot = true, .neon_bf16 = true};
  } else if (cap == "neon_i8mm") {
    return features;
  } else {
    check(cap == "generic",
          "ATTEND_CPU is '{}', which is none of generic, avx2, avx512, avx512_bf16, amx, neon, neon_dot, neon_bf16, "
          "neon_i8mm",
          cap);
  }
  Features out;
  for (const auto& [name, flag] : kFlags) out.*flag = features.*flag && keep.*flag;
  return out;
}

const Features& features() {
  static const Features found = [] {
    const char* cap = std::getenv("ATTEND_CPU");
    return cap != nullptr && *cap != '\0' ? capped(detect(), cap) : detect();
  }();
  return found;
}

std::string describe(const Features& features) {
  std::string text;
  for (const auto& [name, flag] : kFlags) {
    if (!(features.*flag)) continue;
    if (!text.empty()) text += ' ';
    text += name;
  }
  return text.empty() ? "generic" : text;
}

}  // namespace attend::cpu
