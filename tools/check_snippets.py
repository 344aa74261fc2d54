"""Runs the programs of docs/layers.md as printed, a few steps of each, for tools/check-docs: findings(PAGE, ROOT, BUILD) gives
lines and what is wrong."""
import os
import pathlib
import re
import subprocess
import tempfile

# What the page leaves out: batches of two rows.
PYTHON = "import numpy as np\nbatches = [(np.array([[1, 2, 3], [4, 5, 6]]), np.array([0, 1]))] * 3\n"
CPP = """#include <vector>
{above}
int main() {{
  {device}
  const nn::Tensor ids = nn::Tensor::ids(device, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}), labels = nn::Tensor::ids(device, {{2}}, {{0, 1}});
  {below}
}}
"""


def command_of(root, build, folder, language, text):
    """The command that runs a program, or None where this build has not what it needs."""
    if language == "python":
        (folder / "program.py").write_text(PYTHON + text)
        package = build / "python"
        return ["/usr/bin/python3", "program.py"] if any(package.glob("attend/_attend*.so")) else None
    above, device, below = re.split(r"^(const attend::Device .*)$", text.replace("step < 1000", "step < 3"), flags=re.M)
    (folder / "program.cpp").write_text(CPP.format(above=above, device=device, below=below))
    if not (build / "libattend.so").exists():
        return None
    return ["sh", "-c", f"c++ -std=c++20 -I{root} program.cpp -L{build} -lattend -lfmt -Wl,-rpath,{build} -o program && ./program"]


def findings(page, root, build):
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```(python|cpp)\n(.*?)^```", text, re.M | re.S):
        language, program = block.groups()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command = command_of(root, build, folder, language, program)
            if command is None:
                print(f"SKIPPED: the {language} program of {page.name}: this build has no library for it")
                continue
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": str(build / "python")})
            if done.returncode or not (folder / "classifier.safetensors").exists():
                said = done.stderr.strip().splitlines()
                yield text.count("\n", 0, block.start()) + 1, f"the program fails: {said[-1] if said else done.returncode}"
