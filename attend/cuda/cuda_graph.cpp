// A step recorded once and launched as one unit: about 1,000 kernels of a training step cost one launch.
#include <cuda_runtime_api.h>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"

namespace attend {
namespace {

class CudaGraph final : public Graph {
 public:
  CudaGraph(const CudaBackend& backend, cudaGraph_t graph) : backend_(backend) {
    backend.stream();
    cuda_check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
    // The first launch would otherwise pay for moving the graph to the device.
    cuda_check(cudaGraphUpload(executable_, backend.stream()), "cudaGraphUpload");
  }
  ~CudaGraph() override {
    cudaStreamSynchronize(backend_.stream());
    cudaGraphExecDestroy(executable_);
  }
  void launch() override { cuda_check(cudaGraphLaunch(executable_, backend_.stream()), "cudaGraphLaunch"); }

 private:
  const CudaBackend& backend_;
  cudaGraphExec_t executable_ = nullptr;
};

// Destroys the recorded graph whatever happens next.
struct GraphHandle {
  cudaGraph_t graph = nullptr;
  ~GraphHandle() {
    if (graph) cudaGraphDestroy(graph);
  }
};

}  // namespace

std::unique_ptr<Graph> CudaBackend::capture(const std::function<void()>& body) {
  check(!capturing_, "{}: capture inside a capture", name());
  GraphHandle recorded;
  // Thread-local: other threads may go on allocating, this one may not do what a replay would leave out.
  cuda_check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  capturing_ = true;
  try {
    body();
  } catch (...) {
    capturing_ = false;
    cudaStreamEndCapture(stream_, &recorded.graph);
    cudaGetLastError();
    throw;
  }
  capturing_ = false;
  cuda_check(cudaStreamEndCapture(stream_, &recorded.graph), "cudaStreamEndCapture");
  return std::make_unique<CudaGraph>(*this, recorded.graph);
}

}  // namespace attend
