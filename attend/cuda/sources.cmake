# The files of CudaBackend: one idea each.
set(ATTEND_CUDA_SOURCES
  attend/cuda/activation.cu
  attend/cuda/add_norm.cu
  attend/cuda/add_norm_backward.cu
  attend/cuda/additive_scores.cu
  attend/cuda/best.cu
  attend/cuda/column_sums.cu
  attend/cuda/cast8.cu
  attend/cuda/consistency.cu
  attend/cuda/cross_entropy.cu
  attend/cuda/cross_entropy_gradient.cu
  attend/cuda/cuda_backend.cpp
  attend/cuda/cuda_devices.cpp
  attend/cuda/cuda_graph.cpp
  attend/cuda/dropout.cu
  attend/cuda/elementwise.cu
  attend/cuda/embedding.cu
  attend/cuda/embedding_backward.cu
  attend/cuda/fill.cu
  attend/cuda/fused_product.cu
  attend/cuda/gemm_cache.cpp
  attend/cuda/gemm_planner.cpp
  attend/cuda/gemv.cu
  attend/cuda/matmul.cu
  attend/cuda/optimizer.cu
  attend/cuda/reduce.cu
  attend/cuda/rnn_step.cu
  attend/cuda/scale.cu
  attend/cuda/softmax.cu
  attend/cuda/strided_copy.cu
  attend/cuda/tensor_map.cpp)
# Attention is a family of files of its own.
file(GLOB attention CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/cuda/attention*.cu
                                      ${PROJECT_SOURCE_DIR}/attend/cuda/attention*.cpp)
list(APPEND ATTEND_CUDA_SOURCES ${attention})
