// Hopper, as the kernel of many_rows_kernel.cuh sees it: its threads, barriers in shared memory, copies between
// blocks, messages through memory, tensor cores. The kernel is written against these names alone, so that a test can
// run it on a Hopper of its own, without a GPU (tests/decode/emulated_hopper.h).
#pragma once

#include <cstdint>

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/group_products.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

struct Hopper {
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int block() { return static_cast<int>(blockIdx.x); }
  // The compiler no longer knows where x comes from.
  static __device__ __forceinline__ void hide(int& x) { asm volatile("" : "+r"(x)); }
  static __device__ __forceinline__ void sync() { __syncthreads(); }
  static __device__ __forceinline__ void sync_cluster() { cluster_barrier(); }
  static __device__ __forceinline__ float shuffle_xor(float x, int mask) {
    return __shfl_xor_sync(0xffffffffu, x, mask);
  }
  static __device__ __forceinline__ void wait_for_kernel_before() { cuda::wait_for_kernel_before(); }
  static __device__ __forceinline__ void let_next_kernel_start() { cuda::let_next_kernel_start(); }

  // A gate counts one arrival, and the bytes that it was told to expect.
  static __device__ __forceinline__ void init(std::uint64_t& gate) { barrier_init(shared_address(&gate), 1); }
  static __device__ __forceinline__ void gates_are_ready() { barriers_are_ready(); }
  static __device__ __forceinline__ void expect(std::uint64_t& gate, std::uint32_t bytes) {
    barrier_expect(shared_address(&gate), bytes);
  }
  static __device__ __forceinline__ void wait(std::uint64_t& gate, std::uint32_t parity) {
    barrier_wait(shared_address(&gate), parity);
  }
  // What this thread wrote to shared memory can be read by the copy engine and the tensor cores.
  static __device__ __forceinline__ void show_to_engines() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  // From memory to this block, counted by its gate.
  static __device__ __forceinline__ void fetch(void* to, const void* from, std::uint32_t bytes, std::uint64_t& gate) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(&gate))
                 : "memory");
  }
  static __device__ __forceinline__ void fetch_to_l2(const void* from, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
  }
  // From registers to the same place in a block of the cluster, counted by its gate.
  static __device__ __forceinline__ void send(void* to, std::uint32_t x, std::uint64_t& gate, int rank) {
    asm volatile(
        "{\n.reg .b32 there, gate;\nmapa.shared::cluster.u32 there, %0, %3;\nmapa.shared::cluster.u32 gate, %2, %3;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [there], %1, [gate];\n}\n" ::"r"(shared_address(to)),
        "r"(x), "r"(shared_address(&gate)), "r"(rank)
        : "memory");
  }
  static __device__ __forceinline__ void send(void* to, const Pair& x, std::uint64_t& gate, int rank) {
    asm volatile(
        "{\n.reg .b32 there, gate;\nmapa.shared::cluster.u32 there, %0, %4;\nmapa.shared::cluster.u32 gate, %3, %4;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [there], {%1, %2}, [gate];\n}\n" ::"r"(
            shared_address(to)),
        "r"(x.x), "r"(x.y), "r"(shared_address(&gate)), "r"(rank)
        : "memory");
  }
  static __device__ __forceinline__ void send(void* to, const Words& x, std::uint64_t& gate, int rank) {
    asm volatile(
        "{\n.reg .b32 there, gate;\nmapa.shared::cluster.u32 there, %0, %6;\nmapa.shared::cluster.u32 gate, %5, %6;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [there], {%1, %2, %3, %4}, [gate];\n}\n" ::"r"(
            shared_address(to)),
        "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(shared_address(&gate)), "r"(rank)
        : "memory");
  }

  // The counter of arrivals only grows; its values may wrap around.
  static __device__ __forceinline__ void arrive_at(std::uint32_t* counter) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
  }
  static __device__ __forceinline__ std::uint32_t arrivals_at(const std::uint32_t* counter) {
    std::uint32_t count;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
    return count;
  }
  // What other blocks write meanwhile: each half is read and written as a whole, and never from the L1 cache.
  static __device__ __forceinline__ Words load_message(const void* from) {
    std::uint64_t low, high;
    asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(from) : "memory");
    return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
            static_cast<std::uint32_t>(high >> 32)};
  }
  static __device__ __forceinline__ void store_message(void* to, const Words& x) {
    asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(whole({x.x, x.y})),
                 "l"(whole({x.z, x.w}))
                 : "memory");
  }
  static __device__ __forceinline__ void store_message(void* to, const Pair& x) {
    asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(to), "l"(whole(x)) : "memory");
  }
  // What no block writes during this launch, and is read once.
  static __device__ __forceinline__ Words load_once(const void* from) {
    Words x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from)
                 : "memory");
    return x;
  }

  static __device__ __forceinline__ float power_of_two(float x) { return exp2_fast(x); }
  static __device__ __forceinline__ float root_reciprocal(float x) { return rsqrtf(x); }
  static __device__ __forceinline__ void activate(Activation kind, float (&x)[4]) { cuda::activate(kind, x); }
  static __device__ __forceinline__ std::uint32_t pack(float low, float high) { return pack_bf16(low, high); }

  // c [16, 8] += a b, one warp. a: of a lane's row and of the row 8 behind it; b: of its column.
  static __device__ __forceinline__ void multiply(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                                  std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
    mma(c, {a0, a1, a2, a3}, b0, b1);
  }
  // c [64, N] = or += x w' over 16 columns, four warps. Both lie in swizzled blocks, one behind the other: `half` of
  // the 32 columns of the blocks.
  static __device__ __forceinline__ void begin_group() { GroupProducts::begin(); }
  template <int N>
  static __device__ __forceinline__ void multiply_group(float (&c)[N][4], const void* x, const void* w, int half,
                                                        bool add) {
    wgmma_rows(c, blocks_at(x, half), blocks_at(w, half), add);
  }
  template <int N>
  static __device__ __forceinline__ void end_group(float (&c)[N][4]) {
    GroupProducts::commit();
    GroupProducts::wait<0>(c);
  }

 private:
  static __device__ __forceinline__ std::uint64_t whole(const Pair& x) {
    return x.x | static_cast<std::uint64_t>(x.y) << 32;
  }
  // The descriptor of a matrix in blocks: 512 bytes from 8 rows to the next, 64-byte swizzle.
  static __device__ __forceinline__ std::uint64_t blocks_at(const void* blocks, int half) {
    constexpr std::uint64_t kHigh = (1ull << 16) | (static_cast<std::uint64_t>(512 >> 4) << 32) | (2ull << 62);
    return kHigh | (((shared_address(blocks) & 0x3ffff) >> 4) + static_cast<std::uint32_t>(half * 2));
  }
};

#endif

}  // namespace attend::cuda
