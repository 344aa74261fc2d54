from typing import Any, Callable, Optional, Sequence, Union

import numpy.typing as npt

from ._attend import Tensor

Array = Union[Tensor, npt.NDArray[Any]]

__all__: list[str]

def activation(x: Array, kind: str) -> Tensor: ...  # x [..] -> [..]; kind is relu, gelu, gelu_tanh, silu, tanh, sigmoid or leaky_relu
def add(a: Array, b: Array) -> Tensor: ...  # a [..], b: the same shape or its last axes -> [..]
def additive_scores(q: Array, k: Array, v: Array) -> Tensor: ...  # v · tanh(q + k).   q [B, T, C], k [B, S, C], v [C] -> [B, T, S]
def argmax(x: Array, axis: int = ...) -> Tensor: ...  # x [.., N, ..] -> int32 without that axis
def attention(q: Array, k: Array, v: Array, heads: int = ..., causal: bool = ..., key_lengths: Optional[Array] = ..., dropout: float = ...) -> Tensor: ...  # softmax(q kᵀ / √D) v for each head.   q [B, T, C], k and v [B, S, C] -> [B, T, C]
def attention_weights(q: Array, k: Array, heads: int = ..., causal: bool = ..., key_lengths: Optional[Array] = ...) -> Tensor: ...  # q [B, T, C], k [B, S, C] -> [B, H, T, S]; not recorded
def avg_pool2d(x: Array, size: int, stride: int, padding: int = ...) -> Tensor: ...  # x [B, height, width, C] -> [B, height', width', C]
def beside(x: Array, value: Array) -> Tensor: ...  # value, recorded by the tape of x if x has one
def concat(parts: Sequence[Array], axis: int) -> Tensor: ...  # joins tensors along an axis
def conv2d(x: Array, weight: Array, bias: Optional[Array] = ..., stride: int = ..., padding: int = ...) -> Tensor: ...  # x [B, height, width, C], weight [O, kh, kw, C] -> [B, height', width', O]
def cross_entropy(logits: Array, targets: Array, smoothing: float = ..., ignore: int = ...) -> Tensor: ...  # logits [.., V], targets int [..] -> [1], the mean
def custom_op(inputs: Sequence[Array], y: Array, backward: Callable[[Tensor], Sequence[Optional[Array]]]) -> Tensor: ...  # y, computed from inputs in any way; backward(dy) returns a gradient or None for each input
def dropout(x: Array, rate: float) -> Tensor: ...  # x [..] -> [..]; x itself where nothing is recorded
def embedding(ids: Array, table: Array) -> Tensor: ...  # ids int [..], table [V, C] -> [.., C]
def gelu(x: Array) -> Tensor: ...  # x [..] -> [..]
def layer_norm(x: Array, weight: Array, bias: Array, eps: float = ...) -> Tensor: ...  # x [.., C], weight and bias [C] -> [.., C]
def linear(x: Array, weight: Array, bias: Optional[Array] = ...) -> Tensor: ...  # x Wᵀ + b.   x [.., in], weight [out, in], bias [out] -> [.., out]
def matmul(a: Array, b: Array) -> Tensor: ...  # a [.., M, K], b [.., K, N] -> [.., M, N]
def max(x: Array, axis: int) -> Tensor: ...  # x [.., N, ..] -> without that axis
def max_pool2d(x: Array, size: int, stride: int, padding: int = ...) -> Tensor: ...  # x [B, height, width, C] -> [B, height', width', C]
def mean(x: Array, axis: Optional[int] = ...) -> Tensor: ...  # x [.., N, ..] -> without that axis; without an axis [1]
def mean_squared_error(x: Array, target: Array) -> Tensor: ...  # x [..], target [..] -> [1]
def multiply(a: Array, b: Array) -> Tensor: ...  # a [..], b: the same shape or its last axes -> [..]
def permute(x: Array, order: Sequence[int]) -> Tensor: ...  # axis i of the result is axis order[i] of x
def relu(x: Array) -> Tensor: ...  # x [..] -> [..]
def sigmoid(x: Array) -> Tensor: ...  # x [..] -> [..]
def silu(x: Array) -> Tensor: ...  # x [..] -> [..]
def sinusoids(length: int, width: int) -> Tensor: ...  # sinusoidal positions (Vaswani et al. 2017, section 3.5), [length, width]
def slice(x: Array, axis: int, begin: int, count: int) -> Tensor: ...  # entries [begin, begin + count) of an axis
def softmax(x: Array, axis: int = ...) -> Tensor: ...  # x [..] -> [..], over one axis
def split(x: Array, parts: int) -> list[Tensor]: ...  # equal parts of the last axis, as a list
def sum(x: Array, axis: Optional[int] = ...) -> Tensor: ...  # x [.., N, ..] -> without that axis; without an axis [1]
def tanh(x: Array) -> Tensor: ...  # x [..] -> [..]
def transpose(x: Array, a: int = ..., b: int = ...) -> Tensor: ...  # exchanges two axes
