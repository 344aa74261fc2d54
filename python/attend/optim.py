"""Optimisers and schedules. A rate is a number, or a function of the step, counted from 1:

    optimizer = optim.AdamW(model.parameters(), rate=optim.cosine(1e-3, warmup=100, steps=1000), clip_norm=1)
"""
from __future__ import annotations

from typing import Callable, Union

from . import _attend

Optimizer = _attend.nn.Optimizer
Parameters = _attend.nn.Parameters

__all__ = ["AdamW", "Optimizer", "SGD", "cosine", "inverse_square_root", "linear_decay"]

Rate = Union[float, Callable[[int], float]]


def _rate(rate: Rate) -> Rate:
    if callable(rate):
        return rate
    try:
        return float(rate)
    except (TypeError, ValueError):
        raise TypeError(f"rate is {rate!r}, neither a number nor a function of the step") from None


def AdamW(parameters: Parameters, rate: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
          weight_decay: float = 0.0, clip_norm: float = 0.0) -> Optimizer:
    """AdamW (Loshchilov & Hutter 2019); without weight decay it is Adam."""
    return Optimizer(parameters, "adamw", _rate(rate), betas[0], betas[1], eps, weight_decay, 0.0, False,
                     clip_norm)


def SGD(parameters: Parameters, rate: Rate = 1e-2, momentum: float = 0.0, weight_decay: float = 0.0,
        clip_norm: float = 0.0, nesterov: bool = False) -> Optimizer:
    """Stochastic gradient descent with momentum; `nesterov` as in torch."""
    return Optimizer(parameters, "sgd", _rate(rate), 0.9, 0.999, 1e-8, weight_decay, momentum, nesterov,
                     clip_norm)


def cosine(peak: float, warmup: int, steps: int, floor: float = 0.0) -> Callable[[int], float]:
    """Up linearly for `warmup` steps, then half a cosine down to `floor` at `steps`."""
    return _attend.nn.cosine(peak, warmup, steps, floor)


def linear_decay(peak: float, warmup: int, steps: int) -> Callable[[int], float]:
    """Up linearly, then down linearly to 0 at `steps`."""
    return _attend.nn.linear_decay(peak, warmup, steps)


def inverse_square_root(peak: float, warmup: int) -> Callable[[int], float]:
    """Up linearly, then down with the inverse square root."""
    return _attend.nn.inverse_square_root(peak, warmup)
