// conv2d and conv_transpose2d: strides, paddings, dilations, groups, depthwise, windows larger than a tile's row.
#include <fmt/core.h>

#include "attend/ops/convolution.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

Array conv_reference(const Array& x, const Array& weight, const Array* bias, const Convolution& args, Shape shape) {
  Array y(shape);
  const std::int64_t inputs = weight.dim(3), outputs = weight.dim(0) / args.groups;
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t oh = 0; oh < shape[1]; ++oh)
      for (std::int64_t ow = 0; ow < shape[2]; ++ow)
        for (std::int64_t o = 0; o < shape[3]; ++o) {
          double sum = bias ? (*bias)(o) : 0;
          for (std::int64_t i = 0; i < weight.dim(1); ++i)
            for (std::int64_t j = 0; j < weight.dim(2); ++j) {
              const std::int64_t h = oh * args.stride.h - args.padding.h + i * args.dilation.h;
              const std::int64_t w = ow * args.stride.w - args.padding.w + j * args.dilation.w;
              if (h < 0 || w < 0 || h >= x.dim(1) || w >= x.dim(2)) continue;
              for (std::int64_t c = 0; c < inputs; ++c)
                sum += x(b, h, w, o / outputs * inputs + c) * weight(o, i, j, c);
            }
          y(b, oh, ow, o) = sum;
        }
  return y;
}

// Each place of x adds its share to the window it stands for.
Array transpose_reference(const Array& x, const Array& weight, const Array* bias, const Convolution& args,
                          Shape shape) {
  Array y(shape);
  const std::int64_t outputs = weight.dim(3), inputs = weight.dim(0) / args.groups;
  for (std::int64_t i = 0; bias && i < y.size(); ++i) y[i] = (*bias)(i % shape[3]);
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t h = 0; h < x.dim(1); ++h)
      for (std::int64_t w = 0; w < x.dim(2); ++w)
        for (std::int64_t c = 0; c < x.dim(3); ++c)
          for (std::int64_t i = 0; i < weight.dim(1); ++i)
            for (std::int64_t j = 0; j < weight.dim(2); ++j) {
              const std::int64_t oh = h * args.stride.h - args.padding.h + i * args.dilation.h;
              const std::int64_t ow = w * args.stride.w - args.padding.w + j * args.dilation.w;
              if (oh < 0 || ow < 0 || oh >= shape[1] || ow >= shape[2]) continue;
              for (std::int64_t o = 0; o < outputs; ++o)
                y(b, oh, ow, c / inputs * outputs + o) += x(b, h, w, c) * weight(c, i, j, o);
            }
  return y;
}

std::string name_of_window(const char* op, const Shape& x, const Shape& weight, const Convolution& args, bool bias) {
  std::string name = op;
  for (const Shape& shape : {x, weight}) {
    for (std::int64_t dim : shape) name += fmt::format("_{}", dim);
    name += "_x";
  }
  for (const auto& [word, of] : {std::pair{"s", args.stride}, {"p", args.padding}, {"d", args.dilation}})
    name += fmt::format("_{}{}{}", word, of.h, of.w);
  return name + fmt::format("_g{}", args.groups) + (bias ? "_bias" : "");
}

Case conv_case(const Shape& x, const Shape& weight, const Convolution& args, bool bias,
               Activation activation = Activation::none) {
  const Shape shape{x[0], images::windows(x[1], weight[1], args.stride.h, args.padding.h, args.dilation.h),
                    images::windows(x[2], weight[2], args.stride.w, args.padding.w, args.dilation.w), weight[0]};
  Case one{
      .name = name_of_window("conv2d", x, weight, args, bias),
      .inputs = {reals(x), weights(weight)},
      .run = [args, bias, activation](std::span<const Tensor> in) -> Tensors {
        return {ops::conv2d(in[0], in[1], bias ? in[2] : Tensor(), args, activation)};
      },
      .reference =
          [args, bias, shape, activation](std::span<const Array> in) {
            Array y = conv_reference(in[0], in[1], bias ? &in[2] : nullptr, args, shape);
            for (double& value : y.values) value = activate(value, activation);
            return Arrays{y};
          },
  };
  if (bias) one.inputs.push_back(weights({weight[0]}));
  if (activation != Activation::none) one.name += fmt::format("_{}", name_of(activation)), one.slack = 2;
  const double flops = 2.0 * static_cast<double>(shape.size() * weight[1] * weight[2] * weight[3]);
  one.forward.flops = flops, one.backward.flops = 2 * flops;
  return one;
}

Case transpose_case(const Shape& x, const Shape& weight, const Convolution& args, const Extent2& more, bool bias) {
  const auto size = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       std::int64_t dilation, std::int64_t extra) {
    return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1;
  };
  const Shape shape{x[0], size(x[1], weight[1], args.stride.h, args.padding.h, args.dilation.h, more.h),
                    size(x[2], weight[2], args.stride.w, args.padding.w, args.dilation.w, more.w),
                    weight[3] * args.groups};
  Case one{
      .name = name_of_window("conv_transpose2d", x, weight, args, bias),
      .inputs = {reals(x), weights(weight)},
      .run = [args, more, bias](std::span<const Tensor> in) -> Tensors {
        return {ops::conv_transpose2d(in[0], in[1], bias ? in[2] : Tensor(), {args, more})};
      },
      .reference =
          [args, bias, shape](std::span<const Array> in) {
            return Arrays{transpose_reference(in[0], in[1], bias ? &in[2] : nullptr, args, shape)};
          },
      .slack = bias ? 2.0 : 1.0,  // the sum before the bias is rounded too
  };
  if (bias) one.inputs.push_back(weights({shape[3]}));
  return one;
}

// ResNet's middle and a depthwise layer of the same size, for time.
void add_conv_bench(std::vector<Case>& cases, std::int64_t batch, Case::Size size) {
  for (Case one : {conv_case({batch, 28, 28, 128}, {128, 3, 3, 128}, {.padding = {1, 1}}, false),
                   conv_case({batch, 28, 28, 128}, {128, 3, 3, 1}, {.padding = {1, 1}, .groups = 128}, false)}) {
    one.size = size;
    cases.push_back(one);
  }
}

}  // namespace

static void add_conv_cases(std::vector<Case>& cases) {
  for (bool bias : {false, true}) cases.push_back(conv_case({2, 5, 6, 3}, {4, 3, 3, 3}, {.padding = {1, 1}}, bias));
  cases.push_back(conv_case({2, 6, 5, 3}, {4, 3, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}, true));
  cases.push_back(conv_case({1, 7, 8, 2}, {3, 2, 3, 2}, {.stride = {2, 1}, .padding = {1, 0}}, false));
  cases.push_back(
      conv_case({2, 7, 7, 2}, {3, 3, 3, 2}, {.stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 2}}, true));
  cases.push_back(conv_case({1, 6, 7, 2}, {3, 3, 2, 2}, {.padding = {2, 1}, .dilation = {2, 1}}, false));
  cases.push_back(conv_case({2, 8, 9, 3}, {5, 4, 4, 3}, {.stride = {4, 4}}, true));  // patches
  cases.push_back(conv_case({2, 5, 5, 4}, {6, 3, 3, 2}, {.padding = {1, 1}, .groups = 2}, true));
  cases.push_back(conv_case({2, 5, 5, 6}, {6, 3, 3, 2}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 3}, false));
  cases.push_back(conv_case({2, 4, 5, 3}, {7, 1, 1, 3}, {}, true));  // a product
  cases.push_back(conv_case({2, 4, 5, 3}, {7, 1, 1, 3}, {.stride = {2, 2}}, false));
  cases.push_back(conv_case({1, 3, 3, 2}, {3, 1, 1, 2}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({1, 9, 9, 2}, {2, 7, 7, 2}, {.stride = {2, 2}, .padding = {3, 3}}, true));
  cases.push_back(conv_case({1, 1, 1, 3}, {2, 3, 3, 3}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({2, 3, 4, 33}, {35, 3, 3, 33}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({0, 4, 4, 2}, {3, 3, 3, 2}, {.padding = {1, 1}}, true));

  // Channels in multiples of eight, and colours: tiles of the tensor cores.
  cases.push_back(conv_case({2, 6, 5, 16}, {24, 3, 3, 16}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({1, 9, 8, 72}, {8, 3, 3, 72}, {.stride = {2, 2}, .padding = {1, 1}}, true));
  cases.push_back(conv_case({2, 5, 6, 32}, {16, 3, 3, 16}, {.padding = {1, 1}, .groups = 2}, true));
  cases.push_back(conv_case({3, 8, 8, 8}, {72, 1, 1, 8}, {.stride = {2, 2}}, false));
  cases.push_back(conv_case({1, 7, 7, 8}, {8, 3, 3, 8}, {.padding = {2, 2}, .dilation = {2, 2}}, false));
  cases.push_back(conv_case({2, 9, 9, 3}, {16, 7, 7, 3}, {.stride = {2, 2}, .padding = {3, 3}}, true));
  // Several tiles of rows and columns, with edges: channels in more than a block of 64, rows and images that begin
  // inside of a tile, classes of places that no window reads, padding alone.
  cases.push_back(conv_case({3, 9, 7, 72}, {136, 3, 3, 72}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({2, 11, 10, 136}, {72, 3, 3, 136}, {.stride = {2, 2}, .padding = {1, 1}}, false));
  cases.push_back(conv_case({2, 10, 13, 64}, {264, 1, 1, 64}, {.stride = {2, 2}}, false));
  cases.push_back(conv_case({1, 5, 5, 16}, {16, 1, 1, 16}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({2, 11, 13, 8}, {16, 5, 3, 8}, {.stride = {3, 2}, .padding = {2, 1}}, true));
  cases.push_back(
      conv_case({2, 12, 11, 24}, {8, 3, 3, 24}, {.stride = {2, 1}, .padding = {2, 2}, .dilation = {2, 2}}, false));
  cases.push_back(conv_case({1, 9, 8, 3}, {72, 3, 3, 3}, {.padding = {1, 1}}, true));
  cases.push_back(conv_case({1, 11, 13, 1}, {8, 5, 3, 1}, {.stride = {3, 2}, .padding = {2, 0}}, false));
  for (const Activation kind : {Activation::relu, Activation::silu, Activation::gelu})
    cases.push_back(conv_case({2, 6, 5, 16}, {24, 3, 3, 16}, {.stride = {1, 2}, .padding = {1, 1}}, true, kind));

  for (const Activation kind : {Activation::silu, Activation::leaky_relu}) {
    cases.push_back(conv_case({2, 6, 5, 3}, {4, 3, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}, true, kind));
    cases.push_back(conv_case({2, 4, 5, 3}, {7, 1, 1, 3}, {}, false, kind));
    cases.push_back(conv_case({2, 8, 8, 3}, {5, 4, 4, 3}, {.stride = {4, 4}}, true, kind));
    cases.push_back(conv_case({1, 5, 6, 5}, {5, 3, 3, 1}, {.padding = {1, 1}, .groups = 5}, true, kind));
  }

  const Convolution same{.padding = {1, 1}, .groups = 5};
  for (bool bias : {false, true}) cases.push_back(conv_case({2, 5, 6, 5}, {5, 3, 3, 1}, same, bias));
  cases.push_back(conv_case({2, 6, 5, 3}, {3, 5, 5, 1}, {.stride = {2, 2}, .padding = {2, 2}, .groups = 3}, false));
  cases.push_back(conv_case({2, 5, 4, 3}, {6, 3, 3, 1}, {.padding = {1, 1}, .groups = 3}, true));
  cases.push_back(conv_case({1, 6, 6, 3}, {3, 3, 3, 1}, {.padding = {2, 2}, .dilation = {2, 2}, .groups = 3}, true));
  cases.push_back(conv_case({0, 5, 4, 3}, {3, 3, 3, 1}, {.padding = {1, 1}, .groups = 3}, true));
  // The same in packs of channels: one pack, a slice that leaves threads idle, two slices, more pixels than a block has
  // at once.
  cases.push_back(conv_case({2, 5, 6, 8}, {8, 3, 3, 1}, {.padding = {1, 1}, .groups = 8}, true));
  cases.push_back(conv_case({2, 7, 6, 24}, {24, 3, 3, 1}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 24}, false));
  cases.push_back(
      conv_case({1, 9, 7, 264}, {264, 3, 3, 1}, {.stride = {1, 2}, .padding = {1, 1}, .groups = 264}, true));
  cases.push_back(conv_case({3, 40, 30, 16}, {16, 3, 3, 1}, {.padding = {1, 1}, .groups = 16}, false));
  cases.push_back(conv_case({1, 8, 9, 16}, {16, 3, 3, 1},
                            {.stride = {3, 3}, .padding = {2, 2}, .dilation = {2, 2}, .groups = 16}, true));

  cases.push_back(transpose_case({2, 3, 4, 3}, {3, 4, 4, 2}, {.stride = {2, 2}, .padding = {1, 1}}, {0, 0}, true));
  cases.push_back(transpose_case({1, 3, 2, 4}, {4, 3, 3, 2}, {.stride = {2, 2}, .padding = {1, 1}}, {1, 1}, false));
  cases.push_back(transpose_case({1, 3, 4, 4}, {4, 2, 3, 3}, {.stride = {1, 2}, .groups = 2}, {0, 0}, true));

  add_conv_bench(cases, 4, Case::Size::base);
  add_conv_bench(cases, 64, Case::Size::large);
}

const CaseList kConvCases("conv", add_conv_cases);

}  // namespace attend::test
