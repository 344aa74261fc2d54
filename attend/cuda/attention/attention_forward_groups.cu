// Flash attention forward by warpgroups (Hopper): as in attention_forward.cu, with the products of two tiles under way
// at once (Shah et al. 2024, section 3.2): while the scores of tile n become weights, the tensor cores multiply the
// weights of tile n + 1 with its values.
#include "attend/cuda/attention/attention_forward.cuh"
#include "attend/cuda/group_products.cuh"

namespace attend::cuda {
namespace {

// As GroupProducts read them, tiles begin at multiples of 1024 bytes.
template <int kWidth, int kWarps, int kKeys, int kBlocks>
struct GroupConfig : ForwardConfig<kWidth, kWarps, kKeys, kBlocks> {
  static constexpr int kSharedBytes = ForwardConfig<kWidth, kWarps, kKeys, kBlocks>::kSharedBytes + 1024;
};

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks) attention_forward_groups(const AttentionParams p) {
  using Products = GroupProducts;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  if constexpr (kHasWgmma) {
    extern __shared__ unsigned char raw_shared[];
    unsigned char* shared = raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023);
    const std::uint32_t base = shared_address(shared);
    const std::uint32_t k_tiles = base + QueryTile::kBytes, v_tiles = k_tiles + 2 * KeyTile::kBytes;  // two of each
    const int lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);

    const ForwardBlock<Config> block(p);
    if (block.queries <= 0) return;
    const auto [b, h, first, queries, tiles, span, q_rows, k_rows, v_rows] = block;
    const TileCopier<KeyTile, Config::kThreads> copy_keys(k_rows, p.k_stride, p.width),
        copy_values(v_rows, p.v_stride, p.width);
    const auto load_keys = [&](int n) {
      const int row = n * Config::kKeys;
      copy_keys(k_tiles + (n & 1) * KeyTile::kBytes, row, span.visible - row);
    };
    const auto load_values = [&](int n) {
      const int row = n * Config::kKeys;
      copy_values(v_tiles + (n & 1) * KeyTile::kBytes, row, span.visible - row);
    };

    std::uint32_t q[Config::kWidth / 16][4];
    float o[Config::kWidth / 8][4];
    clear(o);
    RowState rows;
    if (tiles > 0) {
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
    const int all = key_limit(span, together);
    const int none = key_limit(span, together + 63);
    const int top = min(tiles - 1, none > 0 ? ceil_div(none, Config::kKeys) - 1 : -1);
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
    store_rows<QueryTile>(o, factors, shared, 16 * warp, 0, block.window(p));
  }
}

template <class Config>
void launch(const AttentionParams& p, cudaStream_t stream) {
  launch_forward<Config>(attention_forward_groups<Config>, p, stream);
}

}  // namespace

void launch_attention_forward_groups(const AttentionParams& p, cudaStream_t stream) {
  if (p.width > 64)
    launch<GroupConfig<128, 4, 64, 2>>(p, stream);
  else if (p.queries <= 64)
    launch<GroupConfig<64, 4, 64, 4>>(p, stream);
  else
    launch<GroupConfig<64, 8, 64, 2>>(p, stream);
}

}  // namespace attend::cuda
