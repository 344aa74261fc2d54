// The CUDA device: one GPU, one stream. Each kernel of the page (attend/tensor/backend.h) is defined in a .cu file of
// its own in this folder; attention in attention*.cu.
//
// All work goes to one stream in order, so kernels share one scratch area and nothing waits for anything else. This
// header needs no CUDA headers: anyone may include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attend/cuda/mailbox.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/block_cache.h"

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace attend {

class GemmPlanner;
class StagedUpload;
class WayPlanner;

// What `attend devices` shows of a GPU.
struct CudaDevice {
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

// The GPUs of this machine; empty, and no error, where there is no GPU or no driver.
std::vector<CudaDevice> cuda_devices();

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device = 0);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // Every launch asks for the stream, so this is also where the calling thread is pointed at the device.
  cudaStream_t stream() const;
  int device() const { return device_; }
  int multiprocessors() const { return multiprocessors_; }
  bool capturing() const { return capturing_; }
  // At least this many bytes, 256-byte aligned, until the next kernel method asks: a method asks once and cuts the
  // memory up itself. Grows only, and never while capturing: the warm-up step before a capture has sized it.
  void* scratch(std::size_t bytes);

  std::string name() const override;
  bool on_host() const override { return false; }
  int device_number() const override { return device_; }
  void* native_stream() const override { return stream(); }

  void* allocate(std::size_t bytes) override;
  void free(void* data, std::size_t bytes) override;
  void to_device(void* to, const void* from, std::size_t bytes) override;
  void to_host(void* to, const void* from, std::size_t bytes) override;
  void to_device_async(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<AsyncReadback> readback(std::size_t bytes) override;
  void synchronize() override;
  void set_tuning(bool tunes) override { tunes_ = tunes; }
  bool tuning() const override { return tunes_; }
  bool tunes() const { return tunes_ && !capturing_; }
  std::unique_ptr<Graph> capture(const std::function<void()>& body) override;

#define ATTEND_KERNEL
#define ATTEND_DEFINED override
#include "attend/tensor/kernels.inc"

  bool norm_linear(const NormLinear& args, const Tensor& y) override;
  bool matmul_slope(const MatMul& product, const Tensor& c, const Grad& sums) override;
  bool has_products8() const override;
  void cast8(const Tensor& x, const Units8& units, const Tensor& y, const Tensor& transposed) override;
  void next_units8(const Tensor& scales) override;
  void follow_rows(const Tensor& table, const Tensor& from, const Tensor& lengths, std::int64_t group) override;
  std::unique_ptr<CausalStep> causal_step(const DecoderWeights& weights, std::int64_t rows) override;
  bool likeliest(const Likeliest& args) override;

 private:
  int device_ = 0;
  int multiprocessors_ = 1;
  cudaStream_t stream_ = nullptr;
  bool capturing_ = false, tunes_ = true;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  std::vector<void*> outgrown_;  // smaller scratch areas and memory freed in a capture: graphs may still use them
  std::mutex freeing_;           // any thread may drop the last reference to a tensor
  BlockCache kept_;              // memory that was freed, for what comes next on the stream
  Mailboxes mailboxes_;
  std::unique_ptr<GemmPlanner> gemm_;
  std::unique_ptr<WayPlanner> convolutions_;
  std::unique_ptr<StagedUpload> staged_;  // once it is needed
};

}  // namespace attend
