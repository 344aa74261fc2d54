"""What attend.Tensor has besides its C++ part: NumPy, DLPack, notebooks."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ._attend import Device, Tensor

_SHOWN = 8  # rows and columns of a tensor in a notebook


def tensor(values: Any, device: Optional[Device] = None) -> Tensor:
    """A copy of an array, a list, or anything with __array__ or __dlpack__, on a device. Floats become f32, integers i32."""
    if isinstance(values, Tensor):
        return values
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        values = np.from_dlpack(values)
    array = np.asarray(values)
    return Tensor(array) if device is None else Tensor(array, device)


def _array(self: Tensor, dtype: npt.DTypeLike = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
    view = self.numpy()
    return view.astype(dtype) if dtype is not None and view.dtype != dtype else np.array(view) if copy else view


def _dlpack(self: Tensor, **_: Any) -> Any:
    return np.array(self.numpy()).__dlpack__()  # a copy: a tensor does not change, and DLPack has no read-only memory


def _html(self: Tensor) -> str:
    values, title = self.numpy(), f"Tensor {list(self.shape)} {self.dtype} on {self.device}"
    if values.ndim == 0 or values.ndim > 2 or values.size == 0:
        return f"<pre>{title}\n{np.array2string(values, precision=4, threshold=64)}</pre>"
    rows = np.atleast_2d(values)
    top = float(np.abs(rows).max()) or 1.0
    cells = "".join("<tr>" + "".join(
        f'<td style="background:rgba(66,133,244,{abs(float(value)) / top * 0.6:.2f})">{float(value):.4g}</td>'
        for value in row[:_SHOWN]) + ("<td>…</td>" if rows.shape[1] > _SHOWN else "") + "</tr>" for row in rows[:_SHOWN])
    more = f"<tr><td>… {rows.shape[0] - _SHOWN} rows</td></tr>" if rows.shape[0] > _SHOWN else ""
    return f"<table><caption>{title}</caption>{cells}{more}</table>"


def _repr(self: Tensor) -> str:
    return f"Tensor({np.array2string(self.numpy(), precision=4, threshold=64)}, {list(self.shape)} {self.dtype})"


for _name, _value in {
    "__array__": _array,
    "__array_priority__": 100,  # NumPy leaves array + tensor to the tensor
    "__array_ufunc__": None,
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0),
    "__len__": lambda self: self.shape[0] if self.shape else 0,
    "__repr__": _repr,
    "_repr_html_": _html,
    "__doc__": "Numbers on a device: f32, bf16 or i32. tensor(values) makes one; numpy() is a view of it without a copy on the CPU.",
}.items():
    setattr(Tensor, _name, _value)
