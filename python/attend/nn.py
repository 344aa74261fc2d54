"""Layers, over the same C++ objects as attend/nn.h.

    class Classifier(nn.Module):
        def __init__(self):
            self.tokens = nn.Embedding(1000, 64)
            self.layers = [nn.TransformerEncoderLayer(64, 4) for _ in range(2)]
            self.out = nn.Linear(64, 2)

        def forward(self, ids):                          # [B, T]
            x = self.tokens(ids)                         # [B, T, 64]
            for layer in self.layers:
                x = layer(x)
            return self.out(ops.mean(x, 1))              # [B, 2]

Names of parameters are those of torch.nn: layers.0.self_attn.in_proj_weight.
"""
from __future__ import annotations

import math
from typing import Any, Iterator, Mapping, Optional

import numpy as np
import numpy.typing as npt

from . import _attend, ops
from ._attend import Tensor

_Parameter = _attend.nn.Parameter
Parameters = _attend.nn.Parameters

__all__ = ["Conv2d", "Dropout", "Embedding", "FeedForward", "GRU", "LSTM", "LayerNorm", "Linear", "Module", "MultiHeadAttention",
           "Parameter", "Parameters", "RNN", "TransformerDecoderLayer", "TransformerEncoderLayer"]


class Parameter:
    """A learned tensor of your own layer: Parameter((5, 64), "normal", 0.02). init is zeros, ones, uniform or normal."""

    def __init__(self, shape: tuple[int, ...], init: str = "zeros", spread: float = 0.0) -> None:
        self._parameter = _Parameter(list(shape), init, spread)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of its axes."""
        return self._parameter.shape

    def value(self) -> Tensor:
        """Its numbers, for use in forward()."""
        return self._parameter.value()

    @property
    def grad(self) -> Optional[Tensor]:
        """Its gradient, shaped like it, or None."""
        return self.value().grad


def _children(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Module, Parameter)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _children(item, f"{name}.{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _children(item, f"{name}.{key}")


class Module:
    """Base of layers and models: what is assigned to its attributes (parameters, modules, lists of modules) belongs to it."""

    _store: Optional[Parameters] = None
    _root = False  # whether it made the store

    def forward(self, *args: Any, **options: Any) -> Any:
        """What the module computes; yours overrides it. Call the module itself, not forward()."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._store is None and next(self._named(), None) is not None:
            self.parameters()
        return self.forward(*args, **options)

    def modules(self) -> Iterator[Module]:
        """This module and all inside of it."""
        yield self
        for attribute, value in vars(self).items():
            for _, child in _children(value, attribute):
                if isinstance(child, Module):
                    yield from child.modules()

    def _named(self, prefix: str = "") -> Iterator[tuple[str, _Parameter]]:
        for attribute, value in vars(self).items():
            for name, child in _children(value, attribute):
                path = f"{prefix}.{name}" if prefix else name
                if isinstance(child, Parameter):
                    yield path, child._parameter
                else:
                    yield from child._named(path)

    def parameters(self, device: Optional[_attend.Device] = None, seed: int = 1, dtype: str = "f32") -> Parameters:
        """The parameters, with memory and initial values since the first call. A model of dtype "bf16" computes in bf16 and learns
        in f32. Layers that were added since then are included; an
        optimiser made before raises attend.Error. Those of a layer inside of a model are the parameters of the whole model."""
        store, named = self._store, list(self._named())
        if store is None or (self._root and len(named) != len(store.names())):
            if not named:
                raise _attend.Error(f"{type(self).__name__} has no parameters")
            store = Parameters(device, named, seed, dtype)
            for module in self.modules():
                module._store, module._root = store, module is self
        return store

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Names and parameters, as tensors."""
        self.parameters()
        for name, parameter in self._named():
            yield name, parameter.value()

    def state_dict(self) -> dict[str, npt.NDArray[np.float32]]:
        """Copies of all parameters by name, f32."""
        self.parameters()
        return {name: parameter.values() for name, parameter in self._named()}

    def load_state_dict(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Sets all parameters; a missing or unknown name or another shape raises attend.Error."""
        store, names = self.parameters(), [name for name, _ in self._named()]
        if set(store.names()) != set(names):
            raise _attend.Error("load_state_dict: this is a part of a model; call it on the whole model")
        missing, unknown = sorted(set(names) - set(state)), sorted(set(state) - set(names))
        if missing or unknown:
            raise _attend.Error(f"load_state_dict: missing {missing}, unknown {unknown}")
        for name in names:
            store.set(name, np.asarray(state[name], np.float32))

    def save(self, file: str) -> None:
        """Writes the parameters of the whole model as safetensors."""
        self.parameters().save(str(file))

    def load(self, file: str) -> None:
        """Reads what save() wrote, or torch.nn with the same names; another name or shape raises attend.Error."""
        self.parameters().load(str(file))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name} {list(p.shape)}' for name, p in self._named())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{list(p.shape)}</td><td>{math.prod(p.shape):,}</td></tr>" for name, p in self._named())
        total = sum(math.prod(p.shape) for _, p in self._named())
        return (f"<table><caption>{type(self).__name__}: {total:,} parameters</caption>"
                f"<tr><th>name</th><th>shape</th><th>numbers</th></tr>{rows}</table>")


class _Layer(Module):
    """A layer of the library. Its parameters are attributes, such as weight and bias."""

    def __init__(self, layer: Any) -> None:
        self._layer, self._own = layer, dict(layer.named_parameters())

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("_") or name not in self._own:
            raise AttributeError(f"{type(self).__name__} has no '{name}'")
        self.parameters()
        return self._own[name].value()

    def _named(self, prefix: str = "") -> Iterator[tuple[str, _Parameter]]:
        for name, parameter in self._own.items():
            yield (f"{prefix}.{name}" if prefix else name), parameter


class Linear(_Layer):
    """x Wᵀ + b.   [.., inputs] -> [.., outputs]"""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(_attend.nn.Linear(inputs, outputs, bias))

    def forward(self, x: Tensor) -> Tensor:
        """x [.., inputs] -> [.., outputs]"""
        return self._layer(x)


class Embedding(_Layer):
    """Rows of a table.   int [..] -> [.., width]; logits() is an output layer that shares the table."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__(_attend.nn.Embedding(count, width))

    def forward(self, ids: Tensor) -> Tensor:
        """ids int [..] -> [.., width]"""
        return self._layer(ids)

    def logits(self, x: Tensor) -> Tensor:
        """[.., width] -> [.., count]"""
        return self._layer.logits(x)


class LayerNorm(_Layer):
    """Layer normalisation over the last axis.   [.., width] -> [.., width]"""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__(_attend.nn.LayerNorm(width, eps))

    def forward(self, x: Tensor) -> Tensor:
        """x [.., width] -> [.., width]"""
        return self._layer(x)


class Conv2d(_Layer):
    """[B, height, width, inputs] -> [B, height', width', outputs], channels last"""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, padding: int = 0, bias: bool = True) -> None:
        super().__init__(_attend.nn.Conv2d(inputs, outputs, kernel, stride, padding, bias))

    def forward(self, x: Tensor) -> Tensor:
        """x [B, height, width, inputs] -> [B, height', width', outputs]"""
        return self._layer(x)


class Dropout(Module):
    """Dropout for what a Tape records; otherwise x itself."""

    def __init__(self, rate: float = 0.1) -> None:
        self.rate = rate

    def __call__(self, x: Tensor) -> Tensor:  # it has no parameters to make
        return ops.dropout(x, self.rate)


class MultiHeadAttention(_Layer):
    """x [B, T, width] to itself, or to memory [B, S, width] -> [B, T, width]; key_lengths int [B] hides padding"""

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(_attend.nn.MultiHeadAttention(width, heads, dropout))

    def forward(self, x: Tensor, memory: Optional[Tensor] = None, causal: bool = False,
                key_lengths: Optional[Tensor] = None) -> Tensor:
        """x [B, T, width], memory [B, S, width], key_lengths int [B] -> [B, T, width]"""
        return self._layer(x, memory, causal, key_lengths)

    def weights(self, x: Tensor, memory: Optional[Tensor] = None, causal: bool = False,
                key_lengths: Optional[Tensor] = None) -> Tensor:
        """The attention weights, [B, heads, T, S]."""
        self.parameters()
        return self._layer.weights(x, memory, causal, key_lengths)


class FeedForward(_Layer):
    """[.., width] -> [.., hidden] -> [.., width]"""

    def __init__(self, width: int, hidden: int, activation: str = "relu") -> None:
        super().__init__(_attend.nn.FeedForward(width, hidden, activation))

    def forward(self, x: Tensor) -> Tensor:
        """x [.., width] -> [.., width]"""
        return self._layer(x)


class TransformerEncoderLayer(_Layer):
    """[B, T, width] -> [B, T, width]; hidden 0 means 4·width; causal makes the layer of a GPT"""

    def __init__(self, width: int, heads: int, hidden: int = 0, dropout: float = 0.1, activation: str = "relu",
                 pre_norm: bool = False) -> None:
        super().__init__(_attend.nn.TransformerEncoderLayer(width, heads, hidden, dropout, activation, pre_norm))

    def forward(self, x: Tensor, causal: bool = False, key_lengths: Optional[Tensor] = None) -> Tensor:
        """x [B, T, width], key_lengths int [B] -> [B, T, width]"""
        return self._layer(x, causal, key_lengths)


class TransformerDecoderLayer(_Layer):
    """x [B, T, width], memory [B, S, width] -> [B, T, width]; self-attention is causal"""

    def __init__(self, width: int, heads: int, hidden: int = 0, dropout: float = 0.1, activation: str = "relu",
                 pre_norm: bool = False) -> None:
        super().__init__(_attend.nn.TransformerDecoderLayer(width, heads, hidden, dropout, activation, pre_norm))

    def forward(self, x: Tensor, memory: Tensor, key_lengths: Optional[Tensor] = None,
                memory_lengths: Optional[Tensor] = None) -> Tensor:
        """x [B, T, width], memory [B, S, width], lengths int [B] -> [B, T, width]"""
        return self._layer(x, memory, key_lengths, memory_lengths)


class _Recurrent(_Layer):
    _kind = 0

    def __init__(self, inputs: int, width: int, layers: int = 1) -> None:
        super().__init__(_attend.nn.Recurrent(self._kind, inputs, width, layers))

    def forward(self, x: Tensor, hidden: Optional[Tensor] = None, cell: Optional[Tensor] = None,
                lengths: Optional[Tensor] = None) -> tuple[Tensor, Tensor, Optional[Tensor]]:
        """x [B, T, inputs], hidden and cell [B, width], lengths int [B] -> states [B, T, width], hidden, cell"""
        return self._layer(x, hidden, cell, lengths)


class RNN(_Recurrent):
    """[B, T, inputs] -> (states [B, T, width], last hidden [B, width], None)"""


class GRU(_Recurrent):
    """[B, T, inputs] -> (states [B, T, width], last hidden [B, width], None)"""
    _kind = 1


class LSTM(_Recurrent):
    """[B, T, inputs] -> (states [B, T, width], last hidden [B, width], last cell [B, width])"""
    _kind = 2
