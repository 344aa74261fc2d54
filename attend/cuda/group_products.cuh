// Products of bf16 tiles by warpgroups: wgmma of Hopper (sm_90a). Four warps multiply 64 rows together, 16 each, with
// the right operand, and where there is no other way the left, read from shared memory by the tensor cores themselves.
// It has about 1.6 times the rate of mma.sync there and leaves shared-memory bandwidth to the copies. The calls are
// those of WarpProducts; between issue and wait<..>() the registers belong to the tensor cores.
#pragma once

#include <cstdint>

#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kHasWgmma = true;
#else
inline constexpr bool kHasWgmma = false;  // the kernels for warpgroups are empty then, and never launched
#endif

// Where a tile lies, for the tensor cores: address, stride between panels of 64 columns (only the column-wise reading
// needs it), 1024 bytes between groups of 8 rows, 128-byte swizzle; all in units of 16 bytes. Steps inside the tile are
// added to the low word, one instruction each.
struct TileDescriptor {
  std::uint32_t low;

  template <class Tile>
  static __device__ __forceinline__ TileDescriptor of(std::uint32_t address) {
    static_assert(Tile::kPanel == 64);
    return {((address & 0x3ffff) >> 4) | (static_cast<std::uint32_t>(Tile::kPanelBytes >> 4) << 16)};
  }
  __device__ __forceinline__ std::uint64_t at(std::uint32_t bytes) const {
    constexpr std::uint64_t kHigh = (static_cast<std::uint64_t>(1024 >> 4) << 32) | (1ull << 62);
    return kHigh | (low + (bytes >> 4));
  }
};

// c [64, 32]: adds to c. The left operand is in registers; kByColumns: B is stored [K, N] and read down its columns,
// else [N, K].
template <bool kByColumns>
__device__ __forceinline__ void wgmma_add(float (&c)[4][4], const std::uint32_t (&a)[4], std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, {%16, %17, %18, %19}, %20, p, 1, 1, %21;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kByColumns ? 1 : 0));
#endif
}

// c [64, 32] += Aᵀ · B, both in shared memory and read down their columns.
__device__ __forceinline__ void wgmma_add_columns(float (&c)[4][4], std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, %16, %17, p, 1, 1, 1, 1;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3])
      : "l"(a), "l"(b));
#endif
}

// What c held is not needed any more. No instruction: it tells the compiler that the registers of c are free until a
// product sets them. Without it attention_forward_stream spills.
template <int N>
__device__ __forceinline__ void forget(float (&c)[N][4]) {
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "=f"(c[j][e]));
}

// c [64, 48] = or += A · Bᵀ, both in shared memory and read along their rows. add: a constant once loops are unrolled.
__device__ __forceinline__ void wgmma_rows(float (&c)[6][4], std::uint64_t a, std::uint64_t b, bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (!add) forget(c);
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %26, 0;\nwgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23"
      "}, %24, %25, p, 1, 1, 0, 0;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
#endif
}

// c [64, 64]: adds to c. The left operand is in registers; kByColumns: B is stored [K, N] and read down its columns,
// else [N, K].
template <bool kByColumns>
__device__ __forceinline__ void wgmma_add(float (&c)[8][4], const std::uint32_t (&a)[4], std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, %37;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kByColumns ? 1 : 0));
#endif
}

// c [64, 64]: sets c. The left operand is in registers; kByColumns: B is stored [K, N] and read down its columns, else
// [N, K].
template <bool kByColumns>
__device__ __forceinline__ void wgmma_set(float (&c)[8][4], const std::uint32_t (&a)[4], std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, %37;\n}\n"
      : "=f"(c[0][0]), "=f"(c[0][1]), "=f"(c[0][2]), "=f"(c[0][3]), "=f"(c[1][0]), "=f"(c[1][1]), "=f"(c[1][2]),
        "=f"(c[1][3]), "=f"(c[2][0]), "=f"(c[2][1]), "=f"(c[2][2]), "=f"(c[2][3]), "=f"(c[3][0]), "=f"(c[3][1]),
        "=f"(c[3][2]), "=f"(c[3][3]), "=f"(c[4][0]), "=f"(c[4][1]), "=f"(c[4][2]), "=f"(c[4][3]), "=f"(c[5][0]),
        "=f"(c[5][1]), "=f"(c[5][2]), "=f"(c[5][3]), "=f"(c[6][0]), "=f"(c[6][1]), "=f"(c[6][2]), "=f"(c[6][3]),
        "=f"(c[7][0]), "=f"(c[7][1]), "=f"(c[7][2]), "=f"(c[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kByColumns ? 1 : 0));
#endif
}

// c [64, 64] = or += A · Bᵀ, both in shared memory and read along their rows.
__device__ __forceinline__ void wgmma_rows(float (&c)[8][4], std::uint64_t a, std::uint64_t b, bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (!add) forget(c);
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
#endif
}

// c [64, 64] += Aᵀ · B, both in shared memory and read down their columns.
__device__ __forceinline__ void wgmma_add_columns(float (&c)[8][4], std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p, 1, 1, 1, 1;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3])
      : "l"(a), "l"(b));
#endif
}

// c [64, 128]: adds to c. The left operand is in registers; kByColumns: B is stored [K, N] and read down its columns,
// else [N, K].
template <bool kByColumns>
__device__ __forceinline__ void wgmma_add(float (&c)[16][4], const std::uint32_t (&a)[4], std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, %69;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3]), "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]),
        "+f"(c[8][3]), "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]), "+f"(c[10][0]), "+f"(c[10][1]),
        "+f"(c[10][2]), "+f"(c[10][3]), "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]), "+f"(c[12][0]),
        "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]), "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]),
        "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]), "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]),
        "+f"(c[15][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kByColumns ? 1 : 0));
#endif
}

// c [64, 128]: sets c. The left operand is in registers; kByColumns: B is stored [K, N] and read down its columns, else
// [N, K].
template <bool kByColumns>
__device__ __forceinline__ void wgmma_set(float (&c)[16][4], const std::uint32_t (&a)[4], std::uint64_t b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, %69;\n}\n"
      : "=f"(c[0][0]), "=f"(c[0][1]), "=f"(c[0][2]), "=f"(c[0][3]), "=f"(c[1][0]), "=f"(c[1][1]), "=f"(c[1][2]),
        "=f"(c[1][3]), "=f"(c[2][0]), "=f"(c[2][1]), "=f"(c[2][2]), "=f"(c[2][3]), "=f"(c[3][0]), "=f"(c[3][1]),
        "=f"(c[3][2]), "=f"(c[3][3]), "=f"(c[4][0]), "=f"(c[4][1]), "=f"(c[4][2]), "=f"(c[4][3]), "=f"(c[5][0]),
        "=f"(c[5][1]), "=f"(c[5][2]), "=f"(c[5][3]), "=f"(c[6][0]), "=f"(c[6][1]), "=f"(c[6][2]), "=f"(c[6][3]),
        "=f"(c[7][0]), "=f"(c[7][1]), "=f"(c[7][2]), "=f"(c[7][3]), "=f"(c[8][0]), "=f"(c[8][1]), "=f"(c[8][2]),
        "=f"(c[8][3]), "=f"(c[9][0]), "=f"(c[9][1]), "=f"(c[9][2]), "=f"(c[9][3]), "=f"(c[10][0]), "=f"(c[10][1]),
        "=f"(c[10][2]), "=f"(c[10][3]), "=f"(c[11][0]), "=f"(c[11][1]), "=f"(c[11][2]), "=f"(c[11][3]), "=f"(c[12][0]),
        "=f"(c[12][1]), "=f"(c[12][2]), "=f"(c[12][3]), "=f"(c[13][0]), "=f"(c[13][1]), "=f"(c[13][2]), "=f"(c[13][3]),
        "=f"(c[14][0]), "=f"(c[14][1]), "=f"(c[14][2]), "=f"(c[14][3]), "=f"(c[15][0]), "=f"(c[15][1]), "=f"(c[15][2]),
        "=f"(c[15][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kByColumns ? 1 : 0));
#endif
}

// c [64, 128] = or += A · Bᵀ, both in shared memory and read along their rows.
__device__ __forceinline__ void wgmma_rows(float (&c)[16][4], std::uint64_t a, std::uint64_t b, bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (!add) forget(c);
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]), "+f"(c[1][2]),
        "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]),
        "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]),
        "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]),
        "+f"(c[7][0]), "+f"(c[7][1]), "+f"(c[7][2]), "+f"(c[7][3]), "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]),
        "+f"(c[8][3]), "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]), "+f"(c[10][0]), "+f"(c[10][1]),
        "+f"(c[10][2]), "+f"(c[10][3]), "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]), "+f"(c[12][0]),
        "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]), "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]),
        "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]), "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]),
        "+f"(c[15][3])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
#endif
}

struct GroupProducts {
  static constexpr bool kGroups = true;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static __device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  static __device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
  template <int kPending, class... C>
  static __device__ __forceinline__ void wait(C&... c) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
    (hold(c), ...);
  }
  static __device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
  static __device__ __forceinline__ void begin() {}
  static __device__ __forceinline__ void commit() {}
  template <int kPending, class... C>
  static __device__ __forceinline__ void wait(C&...) {}
  static __device__ __forceinline__ void publish() {}
#endif

  // What makes c stays above this, and what reads it below: arithmetic otherwise drifts across waits.
  template <int N>
  static __device__ __forceinline__ void hold(float (&c)[N][4]) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(c[j][e])::"memory");
  }

  template <int K>
  static __device__ __forceinline__ void hold(std::uint32_t (&a)[K][4]) {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int e = 0; e < 4; ++e) asm volatile("" : "+r"(a[k][e])::"memory");
  }

  // Step k of 16 along the columns of a tile, and along its rows.
  template <class Tile>
  static __device__ __forceinline__ std::uint32_t along_columns(int k) {
    return (k / 4) * Tile::kPanelBytes + (k % 4) * 32;
  }
  static __device__ __forceinline__ std::uint32_t along_rows(int k) { return k * 16 * 128; }
  template <class Tile>
  static __device__ __forceinline__ std::uint32_t at_column(int column) {
    return (column / 64) * Tile::kPanelBytes + (column % 64) * 2;
  }

  template <class Tile, int N, int K>
  static __device__ __forceinline__ void times_rows(float (&c)[N][4], const std::uint32_t (&a)[K][4],
                                                    std::uint32_t tile) {
    const TileDescriptor b = TileDescriptor::of<Tile>(tile);
    wgmma_set<false>(c, a[0], b.at(0));
#pragma unroll
    for (int k = 1; k < K; ++k) wgmma_add<false>(c, a[k], b.at(along_columns<Tile>(k)));
  }

  template <class TileA, class TileB, int N>
  static __device__ __forceinline__ void rows_times_rows(float (&c)[N][4], std::uint32_t a_tile, int row,
                                                         std::uint32_t b_tile) {
    const TileDescriptor a = TileDescriptor::of<TileA>(a_tile + (row & ~63) * 128);
    const TileDescriptor b = TileDescriptor::of<TileB>(b_tile);
#pragma unroll
    for (int k = 0; k < TileA::kColumns / 16; ++k)
      wgmma_rows(c, a.at(along_columns<TileA>(k)), b.at(along_columns<TileB>(k)), k > 0);
  }

  template <class Tile, int N, int K>
  static __device__ __forceinline__ void add_times_columns(float (&c)[N][4], const std::uint32_t (&a)[K][4],
                                                           std::uint32_t tile, int column) {
    const TileDescriptor b = TileDescriptor::of<Tile>(tile + at_column<Tile>(column));
#pragma unroll
    for (int k = 0; k < K; ++k) wgmma_add<true>(c, a[k], b.at(along_rows(k)));
  }

  template <class TileA, class TileB, int N>
  static __device__ __forceinline__ void add_columns_times_columns(float (&c)[N][4], std::uint32_t a_tile, int a_column,
                                                                   std::uint32_t b_tile, int b_column) {
    const TileDescriptor a = TileDescriptor::of<TileA>(a_tile + at_column<TileA>(a_column & ~63));
    const TileDescriptor b = TileDescriptor::of<TileB>(b_tile + at_column<TileB>(b_column));
#pragma unroll
    for (int k = 0; k < TileA::kRows / 16; ++k) wgmma_add_columns(c, a.at(along_rows(k)), b.at(along_rows(k)));
  }
};

}  // namespace attend::cuda
