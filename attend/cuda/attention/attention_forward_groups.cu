// Flash attention forward by warpgroups (Hopper): as in attention_forward.cu, with the products of two tiles under way
// at once (Shah et al. 2024, section 3.2): while the scores of tile n become weights, the tensor cores multiply the
// weights of tile n + 1 with its values.
#include "attend/cuda/attention/attention_softmax.cuh"
#include "attend/cuda/group_products.cuh"

namespace attend::cuda {
namespace {

template <int kWidth_, int kWarps_, int kKeys_, int kBlocks_>
struct ForwardConfig {
  using Products = GroupProducts;
  static constexpr int kWidth = kWidth_;                           // D, padded
  static constexpr int kWarps = kWarps_, kThreads = 32 * kWarps_;  // one warp for 16 queries
  static constexpr int kQueries = 16 * kWarps, kKeys = kKeys_;
  static constexpr int kBlocks = kBlocks_;  // of this kernel on a multiprocessor, for the register limit
  using QueryTile = SharedTile<kQueries, kWidth>;
  using KeyTile = SharedTile<kKeys, kWidth>;
  static constexpr int kSharedBytes = QueryTile::kBytes + 4 * KeyTile::kBytes + 1024;  // + room to align
};

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks) attention_forward_groups(const AttentionParams p) {
  using Products = typename Config::Products;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  if constexpr (kHasWgmma) {
    extern __shared__ unsigned char raw_shared[];
    unsigned char* shared = raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023);
    const std::uint32_t base = shared_address(shared);
    const std::uint32_t k_tiles = base + QueryTile::kBytes, v_tiles = k_tiles + 2 * KeyTile::kBytes;  // two of each
    const int lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);

    const int query_blocks = ceil_div(p.queries, Config::kQueries);
    const int head = blockIdx.x / query_blocks, b = head / p.heads, h = head % p.heads;
    const int first = (query_blocks - 1 - static_cast<int>(blockIdx.x) % query_blocks) * Config::kQueries;
    const AttentionSpan span = span_of(p, b);
    if (first >= span.queries) return;
    const int queries = min(Config::kQueries, span.queries - first);
    const int seen = key_limit(span, first + queries - 1);  // by the last query
    const int tiles = seen > 0 ? ceil_div(seen, Config::kKeys) : 0;
    const auto* k = static_cast<const __nv_bfloat16*>(p.k) + span.key_row * p.k_stride + h * p.width;
    const auto* v = static_cast<const __nv_bfloat16*>(p.v) + span.key_row * p.v_stride + h * p.width;

    const TileCopier<KeyTile, Config::kThreads> copy_keys(k, p.k_stride, p.width), copy_values(v, p.v_stride, p.width);
    const auto load_keys = [&](int n) {
      copy_keys(k_tiles + (n & 1) * KeyTile::kBytes, n * Config::kKeys, span.visible - n * Config::kKeys);
    };
    const auto load_values = [&](int n) {
      copy_values(v_tiles + (n & 1) * KeyTile::kBytes, n * Config::kKeys, span.visible - n * Config::kKeys);
    };

    std::uint32_t q[Config::kWidth / 16][4];
    float o[Config::kWidth / 8][4];
    clear(o);
    RowState rows;
    if (tiles > 0) {
      const auto* q_rows = static_cast<const __nv_bfloat16*>(p.q) + span.query_row * p.q_stride + h * p.width;
      TileCopier<QueryTile, Config::kThreads>(q_rows, p.q_stride, p.width)(base, first, queries);
      load_keys(tiles - 1);
      copy_async_commit();
      copy_async_wait();
      __syncthreads();
      load_operand<QueryTile>(q, base, 16 * warp);
    }

    const int query = first + 16 * warp + lane / 4;  // this thread's rows: query, query + 8
    const int limits[2] = {key_limit(span, query), key_limit(span, query + 8)};
    // The keys seen by the first and the last of the group's rows: below `all` needs no mask, tiles after `top` are
    // not for this group.
    const int together = first + (warp & ~3) * 16;
    const int all = key_limit(span, together), none = key_limit(span, together + 63);
    const int top = none > 0 ? min(tiles, ceil_div(none, Config::kKeys)) - 1 : -1;
    const float factor = p.scale * kLog2E;
    float rescale[2];
    std::uint32_t weights[Config::kKeys / 16][4];
    float s[Config::kKeys / 8][4];
    const auto weigh = [&](int n) {
      const int key = n * Config::kKeys;
      if (key + Config::kKeys > all) mask_scores(s, key, limits);
      softmax_step(s, rows, factor, rescale);
    };

    for (int n = tiles - 1; n >= 0; --n) {
      copy_async_wait();
      Products::publish();
      __syncthreads();
      if (n > 0) load_keys(n - 1);
      load_values(n);
      copy_async_commit();
      const std::uint32_t k_tile = k_tiles + (n & 1) * KeyTile::kBytes, v_tile = v_tiles + (~n & 1) * KeyTile::kBytes;
      if (n == top) {
        Products::begin();
        Products::template times_rows<KeyTile>(s, q, k_tile);
        Products::commit();
        Products::template wait<0>(s);
        weigh(n);
        to_operand(s, weights);
      } else if (n < top) {
        Products::begin();
        Products::template times_rows<KeyTile>(s, q, k_tile);
        Products::commit();
        Products::template add_times_columns<KeyTile>(o, weights, v_tile, 0);  // of tile n + 1
        Products::commit();
        Products::template wait<1>(s);
        weigh(n);
        Products::hold(s);  // the softmax comes before the wait, under the product
        Products::template wait<0>(o);
        if (!__all_sync(0xffffffffu, rescale[0] == 1.0f && rescale[1] == 1.0f)) scale_rows(o, rescale);
        to_operand(s, weights);
      }
    }
    if (tiles > 0) {
      copy_async_wait();
      Products::publish();
      __syncthreads();
    }
    if (top >= 0) {
      Products::begin();
      Products::template add_times_columns<KeyTile>(o, weights, v_tiles, 0);
      Products::commit();
      Products::template wait<0>(o);
    }

    float factors[2];
    finish_rows(rows, factor, 1.0f, p, span, h, query, factors);
    const std::int64_t y_stride = static_cast<std::int64_t>(p.heads) * p.width;
    const RowWindow window{.data = static_cast<__nv_bfloat16*>(p.y) + (span.query_row + first) * y_stride + h * p.width,
                           .stride = y_stride,
                           .rows = queries,
                           .width = p.width};
    store_rows<QueryTile>(o, factors, shared, 16 * warp, 0, window);
  }
}

template <class Config>
void launch(const AttentionParams& p, cudaStream_t stream) {
  const auto kernel = attention_forward_groups<Config>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  const int blocks = ceil_div(p.queries, Config::kQueries) * p.heads * p.batch;
  kernel<<<blocks, Config::kThreads, Config::kSharedBytes, stream>>>(p);
}

template <int kWidth, int kKeys, int kBlocks>
void launch_width(const AttentionParams& p, cudaStream_t stream) {
  if (p.queries <= 64)
    launch<ForwardConfig<kWidth, 4, kKeys, 2 * kBlocks>>(p, stream);
  else
    launch<ForwardConfig<kWidth, 8, kKeys, kBlocks>>(p, stream);
}

}  // namespace

void launch_attention_forward_groups(const AttentionParams& p, cudaStream_t stream) {
  if (p.width <= 64)
    launch_width<64, 64, 2>(p, stream);
  else
    launch_width<128, 64, 1>(p, stream);
}

}  // namespace attend::cuda
