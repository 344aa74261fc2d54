// Elements on the device: conversion to and from f32, and packs of 16 bytes that load and store in one instruction.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace attend::cuda {

using bf16 = __nv_bfloat16;

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }

template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

// How many elements 16 bytes hold: 4 f32 or 8 bf16.
template <class T>
inline constexpr int kPack = 16 / static_cast<int>(sizeof(T));

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int N, class T>
__device__ __forceinline__ void load(const T* from, float (&x)[N]) {
  const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(from);
#pragma unroll
  for (int j = 0; j < N; ++j) x[j] = to_float(pack.at[j]);
}

// Loads what is read once and not needed again: it should not push other data out of the caches.
template <int N, class T>
__device__ __forceinline__ void load_once(const T* from, float (&x)[N]) {
  if constexpr (sizeof(T) * N == 16) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(from));
    const T* at = reinterpret_cast<const T*>(&bits);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = to_float(at[j]);
  } else {
    load<N>(from, x);
  }
}

template <int N, class T>
__device__ __forceinline__ void store(T* to, const float (&x)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int j = 0; j < N; ++j) pack.at[j] = from_float<T>(x[j]);
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// Stores what nobody will read before it has left the cache.
template <int N, class T>
__device__ __forceinline__ void store_once(T* to, const float (&x)[N]) {
  static_assert(sizeof(T) * N == 16);
  uint4 bits;
  T* at = reinterpret_cast<T*>(&bits);
#pragma unroll
  for (int j = 0; j < N; ++j) at[j] = from_float<T>(x[j]);
  __stcs(reinterpret_cast<uint4*>(to), bits);
}

// The value as it will be read back from memory of type T.
template <class T>
__device__ __forceinline__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

}  // namespace attend::cuda
