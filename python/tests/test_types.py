"""The type stubs, read by mypy, where it is: the package itself, and a program that uses it."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import attend
import numpy as np
from attend import nn, ops, optim

class Classifier(nn.Module):
    def __init__(self) -> None:
        self.tokens = nn.Embedding(1000, 64)
        self.layers = [nn.TransformerEncoderLayer(64, 4) for _ in range(2)]
        self.out = nn.Linear(64, 2)

    def forward(self, ids: attend.Tensor) -> attend.Tensor:
        x = self.tokens(ids) + self.tokens.weight
        for layer in self.layers:
            x = layer(x)
        return self.out(ops.mean(x, 1))

model, tape = Classifier(), attend.Tape()
optimizer = optim.AdamW(model.parameters(dtype="bf16"), rate=optim.cosine(1e-3, 100, 1000), clip_norm=1)
loss = ops.cross_entropy(model(tape.input(np.zeros((2, 3), np.int32))), np.array([0, 1]))
loss.backward()
optimizer.step()
values: float = (loss * 2 + 1.5 * loss).item()
"""


def mypy(folder, *words):
    pytest.importorskip("mypy", reason="there is no mypy here (tools/setup installs it)")
    environment = os.environ | {"MYPYPATH": os.environ["PYTHONPATH"]}
    return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), *map(str, words)], capture_output=True,
                          text=True, check=False, cwd=folder, env=environment).stdout


def test_the_package_and_a_program_are_checked(tmp_path):
    assert "Success" in (said := mypy(tmp_path, "-p", "attend")), said
    strict = "--strict", "--no-warn-return-any", "program.py"  # calls of modules return Any, as those of torch.nn do
    (tmp_path / "program.py").write_text(PROGRAM)
    assert "Success" in (said := mypy(tmp_path, *strict)), said
    (tmp_path / "program.py").write_text(PROGRAM + "nn.Linear('64', 2)\nops.softmax(3)\noptim.AdamW(model)\nloss.shape.sort()\n")
    assert mypy(tmp_path, *strict).count("error:") == 4
