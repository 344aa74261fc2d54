"""Differentiable functions of attend.Tensor. Letters: B batch, T and S positions, C width, H heads, V classes.

Arguments may also be NumPy arrays. Shapes that do not fit raise attend.Error, which names both. help(ops.attention) has the shapes of
an op.
"""
from __future__ import annotations

from . import _attend

__all__ = ["activation", "add", "additive_scores", "argmax", "attention", "attention_weights", "avg_pool2d", "beside", "concat",
           "conv2d", "cross_entropy", "custom_op", "dropout", "embedding", "gelu", "layer_norm", "linear", "matmul",
           "max", "max_pool2d", "mean", "mean_squared_error", "multiply", "permute", "relu", "sigmoid", "silu",
           "sinusoids", "slice", "softmax", "split", "sum", "tanh", "transpose"]

globals().update({name: getattr(_attend.ops, name) for name in __all__})
