#include "emu.h"
#define __CUDA_ARCH_FEAT_SM90_ALL
#include "attend/cuda/conv/window_rows.cuh"
#include "attend/cuda/conv/window_weight.cuh"
namespace attend::cuda { alignas(1024) unsigned char memory[232448]; }
using namespace attend; using namespace attend::cuda; using images::WindowWalk;
using Bits = std::vector<unsigned short>;
struct L { int B, H, W, C, O, kh, kw, sh, sw, ph, pw, dh, dw; int oh() const { return (H + 2*ph - dh*(kh-1) - 1)/sh + 1; } int ow() const { return (W + 2*pw - dw*(kw-1) - 1)/sw + 1; } };
static unsigned seed = 1; static float rnd() { seed = seed*1664525+1013904223; return float(int(seed >> 29)) - 3.5f; }
static Bits make(size_t n) { Bits b(n); for (auto& x : b) x = bfl(rnd()).bits; return b; }
static float val(const Bits& b, size_t i) { return fl({b[i]}); }
CUtensorMap heads(Bits& w, int rows, int taps, int width, int tile) { CUtensorMap m{}; m.data = w.data(); m.d[0] = width; m.d[1] = taps; m.d[2] = rows; m.s[0] = width; m.s[1] = long(taps)*width; m.rows = tile; return m; }
CUtensorMap matrix(Bits& w, int rows, int columns) { CUtensorMap m{}; m.data = w.data(); m.d[0] = columns; m.d[1] = rows; m.s[0] = columns; m.rows = 64; return m; }
CUtensorMap windows(Bits& x, int C, long pixel, long line, long image, const WindowWalk& k, int tile) { CUtensorMap m{}; m.data = x.data(); m.d[0] = C; m.d[1] = k.w.walk.size; m.d[2] = k.h.walk.size; m.d[3] = k.images; m.s[0] = pixel; m.s[1] = line; m.s[2] = image;
  m.lower[0] = k.w.walk.lower(); m.lower[1] = k.h.walk.lower(); m.upper[0] = k.w.walk.upper(); m.upper[1] = k.h.walk.upper(); m.step[0] = k.w.walk.step; m.step[1] = k.h.walk.step; m.rows = tile; return m; }
template <class F> void launch(int blocks, F&& kernel) {
  gridDim.x = blocks;
  for (int b = 0; b < blocks; ++b) {
    blockIdx.x = b; bars.clear(); for (auto& x : memory) x = 0xff;  // NaN
    std::barrier<> all(384), g0(128), g1(128); block_barrier = &all; group_barriers[0] = &g0; group_barriers[1] = &g1;
    std::vector<std::unique_ptr<std::barrier<>>> w; for (int i = 0; i < 12; ++i) { w.push_back(std::make_unique<std::barrier<>>(32)); warp_barriers[i] = w.back().get(); }
    Engine e; engine = &e; std::vector<std::thread> t;
    for (unsigned i = 0; i < 384; ++i) t.emplace_back([&, i] { threadIdx.x = i; kernel(); if (!groups.empty() || !stores.empty()) { std::puts("left over"); std::abort(); } });
    for (auto& x : t) x.join();
  }
}
template <class T> void rows(const WindowWalk& walk, const CUtensorMap& a, Bits& w, int O, int taps, int wc, int kw, int channels, WindowResult r, Bits& y, int blocks) {
  WindowProblem p; p.walk = walk; p.result = r; p.rows = walk.rows(); p.row_tiles = (p.rows + T::kRows-1)/T::kRows; p.column_tiles = (r.columns + T::kColumns-1)/T::kColumns; p.kernel_w = kw; p.blocks = (channels+63)/64; p.steps = walk.taps()*p.blocks;
  WindowMaps m; m.a = a; m.b = heads(w, O, taps, wc, T::kByColumns ? 64 : T::kColumns); m.c = matrix(y, p.rows, r.columns);
  launch(std::min(blocks, p.row_tiles*p.column_tiles), [&] { window_rows_kernel<T>(m, p); });
}
static double worst(const Bits& y, const std::vector<double>& e) { double w = 0; for (size_t i = 0; i < e.size(); ++i) { double d = std::abs(val(y, i) - e[i])/(1 + std::abs(e[i])); if (!(d <= w)) w = d; if (d != d) return 1e9; } return w; }
static int bad = 0;
static void say(const char* what, double w, double limit) { std::printf("%-28s %.2e %s\n", what, w, w <= limit ? "ok" : "WRONG"); std::fflush(stdout); bad += !(w <= limit); }
template <int GR, int N, bool Turns> void both(const char* name, const L& l, int blocks, bool accumulate, Activation act) {
  Bits x = make(size_t(l.B)*l.H*l.W*l.C), w = make(size_t(l.O)*l.kh*l.kw*l.C), dy = make(size_t(l.B)*l.oh()*l.ow()*l.O), bias = make(l.O);
  Bits y(dy.size(), 0xffff), dx(x.size(), 0xffff); std::vector<double> ey(y.size()), ex(x.size());
  if (accumulate) { y = make(y.size()), dx = make(dx.size()); for (size_t i = 0; i < y.size(); ++i) ey[i] = val(y, i); for (size_t i = 0; i < dx.size(); ++i) ex[i] = val(dx, i); }
  for (size_t i = 0; i < ey.size(); ++i) if (!accumulate) ey[i] += val(bias, i % l.O);
  for (int n = 0; n < l.B; ++n) for (int a = 0; a < l.oh(); ++a) for (int b = 0; b < l.ow(); ++b) for (int i = 0; i < l.kh; ++i) for (int j = 0; j < l.kw; ++j) {
    int h = a*l.sh - l.ph + i*l.dh, v = b*l.sw - l.pw + j*l.dw; if (h < 0 || v < 0 || h >= l.H || v >= l.W) continue;
    size_t py = ((size_t(n)*l.oh() + a)*l.ow() + b)*l.O, px = ((size_t(n)*l.H + h)*l.W + v)*l.C;
    for (int o = 0; o < l.O; ++o) for (int c = 0; c < l.C; ++c) { float q = val(w, ((size_t(o)*l.kh + i)*l.kw + j)*l.C + c); ey[py+o] += val(x, px+c)*q; ex[px+c] += val(dy, py+o)*q; } }
  if (act == Activation::relu) for (auto& e : ey) e = std::max(e, 0.0);
  WindowWalk f{l.B, images::forward_walk(l.H, l.oh(), l.kh, l.sh, l.ph, l.dh), images::forward_walk(l.W, l.ow(), l.kw, l.sw, l.pw, l.dw)};
  using F = WindowTile<GR, N, Turns, false>; using I = WindowTile<GR, N, Turns, true>;
  rows<F>(f, windows(x, l.C, l.C, long(l.W)*l.C, long(l.H)*l.W*l.C, f, F::kRows), w, l.O, l.kh*l.kw, l.C, l.kw, l.C,
    {.y = (bf16*)y.data(), .bias = accumulate ? nullptr : (bf16*)bias.data(), .height = l.oh(), .width = l.ow(), .columns = l.O, .activation = act, .accumulate = accumulate, .whole = !accumulate}, y, blocks);
  char t[64]; std::snprintf(t, 64, "%s forward", name); say(t, worst(y, ey), 1e-2);
  for (int rh = 0; rh < l.sh; ++rh) for (int rw = 0; rw < l.sw; ++rw) {
    WindowWalk k{l.B, images::input_walk(l.H, l.oh(), l.kh, l.sh, l.ph, l.dh, rh), images::input_walk(l.W, l.ow(), l.kw, l.sw, l.pw, l.dw, rw)};
    if (!k.rows()) continue;
    if (!k.taps()) { if (!accumulate) for (int r = 0; r < k.rows(); ++r) for (int c = 0; c < l.C; ++c) dx[size_t(k.place_of(r, l.H, l.W))*l.C + c] = 0; continue; }
    rows<I>(k, windows(dy, l.O, l.O, long(l.ow())*l.O, long(l.oh())*l.ow()*l.O, k, I::kRows), w, l.O, l.kh*l.kw, l.C, l.kw, l.O,
      {.y = (bf16*)dx.data(), .height = l.H, .width = l.W, .columns = l.C, .accumulate = accumulate, .whole = !accumulate && l.sh == 1 && l.sw == 1}, dx, blocks); }
  std::snprintf(t, 64, "%s input", name); say(t, worst(dx, ex), 1e-2);
}
template <bool Share, int N> void weight(const char* name, const L& l, int parts) {
  using T = WindowWeightTile<Share, N>;
  Bits x = make(size_t(l.B)*l.H*l.W*l.C), dy = make(size_t(l.B)*l.oh()*l.ow()*l.O); int row = l.kh*l.kw*l.C;
  std::vector<double> e(size_t(l.O)*row); std::vector<float> partial(e.size()*parts, NAN);
  for (int n = 0; n < l.B; ++n) for (int a = 0; a < l.oh(); ++a) for (int b = 0; b < l.ow(); ++b) for (int i = 0; i < l.kh; ++i) for (int j = 0; j < l.kw; ++j) {
    int h = a*l.sh - l.ph + i*l.dh, v = b*l.sw - l.pw + j*l.dw; if (h < 0 || v < 0 || h >= l.H || v >= l.W) continue;
    for (int o = 0; o < l.O; ++o) for (int c = 0; c < l.C; ++c) e[(size_t(o)*l.kh*l.kw + i*l.kw + j)*l.C + c] += double(val(dy, ((size_t(n)*l.oh() + a)*l.ow() + b)*l.O + o))*val(x, ((size_t(n)*l.H + h)*l.W + v)*l.C + c); }
  WindowWalk f{l.B, images::forward_walk(l.H, l.oh(), l.kh, l.sh, l.ph, l.dh), images::forward_walk(l.W, l.ow(), l.kw, l.sw, l.pw, l.dw)};
  WindowWeightProblem p; p.walk = f; p.parts = {(f.rows()+63)/64, parts}; p.results = l.O; p.channels = l.C; p.kernel_w = l.kw; p.blocks = (l.C+63)/64; p.partial = partial.data();
  p.row_tiles = (l.O + 64*T::kRowPanels - 1)/(64*T::kRowPanels); p.column_tiles = (f.taps()*p.blocks + T::kColumnPanels - 1)/T::kColumnPanels;
  WindowWeightMaps m; m.dy = matrix(dy, f.rows(), l.O); m.x = windows(x, l.C, l.C, long(l.W)*l.C, long(l.H)*l.W*l.C, f, 64);
  launch(p.row_tiles*p.column_tiles*parts, [&] { window_weight_kernel<T>(m, p); });
  double w = 0; for (size_t i = 0; i < e.size(); ++i) { double s = 0; for (int q = 0; q < parts; ++q) s += partial[q*e.size() + i]; double d = std::abs(s - e[i])/(1 + std::abs(e[i])); if (!(d <= w)) w = d != d ? 1e9 : d; }
  char t[64]; std::snprintf(t, 64, "%s weight", name); say(t, w, 1e-4);
}
int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0); int which = argc > 1 ? std::atoi(argv[1]) : 0;
  L odd{2, 9, 11, 72, 136, 3, 3, 1, 1, 1, 1, 1, 1}, two{1, 17, 15, 24, 72, 3, 3, 2, 2, 1, 1, 1, 1}, wide{1, 9, 8, 136, 264, 1, 3, 1, 2, 0, 1, 1, 2}, small{3, 8, 9, 8, 16, 3, 2, 1, 1, 2, 1, 2, 1};
  if (which == 0 || which == 1) { both<128, 64, true>("turns-128x64 odd", odd, 2, false, Activation::relu); both<128, 64, true>("turns-128x64 two +", two, 1, true, Activation::none); both<128, 64, true>("turns-128x64 small", small, 1, false, Activation::none); }
  if (which == 0 || which == 2) { both<128, 128, true>("turns-128x128 odd", odd, 1, false, Activation::none); both<128, 128, true>("turns-128x128 two", two, 1, false, Activation::none); }
  if (which == 0 || which == 3) { both<128, 64, false>("share-256x64 odd", odd, 1, false, Activation::none); both<128, 128, false>("share-256x128 two", two, 1, false, Activation::relu); both<128, 128, false>("share-256x128 odd +", odd, 1, true, Activation::none); }
  if (which == 0 || which == 4) { both<64, 256, false>("share-128x256 odd", odd, 1, false, Activation::none); both<64, 256, false>("share-128x256 wide", wide, 1, false, Activation::none); }
  if (which == 0 || which == 5) { weight<true, 128>("share-128x128 odd", odd, 2); weight<true, 192>("share-128x192 two", two, 1); weight<true, 256>("share-128x256 odd", odd, 1); weight<false, 128>("apart-64x256 small", small, 2); weight<false, 192>("apart-64x384 two", two, 1); weight<true, 256>("share-128x256 wide", wide, 1); }
  std::printf("%d wrong\n", bad); return bad;
}
