"""llm.c as a peer of gpt2_training.py: its program, with our weights and ids in the files that it reads.

It is given as the program `train_gpt2cu` or as the folder where that was built, for bf16, best with cuDNN:
    git clone https://github.com/karpathy/llm.c && cd llm.c
    git clone --depth 1 --branch v1.16.1 https://github.com/NVIDIA/cudnn-frontend
    make train_gpt2cu USE_CUDNN=1 NO_MULTI_GPU=1 GPU_COMPUTE_CAPABILITY=90
CUDA 13 wants cudaMemLocation{cudaMemLocationTypeHost, 0} where llmc/cuda_utils.cuh calls cudaMemAdvise with cudaCpuDeviceId,
and a frontend no older than that. Flash attention is what cuDNN does for it. Without USE_CUDNN=1 neither cuDNN nor its
frontend is needed, but every score of the attention is written to memory and kept: 19 GB more with 64 x 1,024 tokens.

Its AdamW has our betas and epsilon, decays matrices only, keeps f32 masters, and clips at 1. Where a text ends, it
predicts the next text's first id; ours and torch leave that label out, one in 1,024, so that first losses differ a little.
"""
import array
import pathlib
import re
import subprocess

from side_by_side import bytes_of, read_safetensors

STEP = re.compile(r"^step +\d+/\d+ \| loss +([\d.]+) .*\| +([\d.]+) ms \|", re.MULTILINE)
UNCOUNTED = 4  # first steps, which load kernels and choose products
PARTS = ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
         "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias")


def header(*numbers):
    return array.array("i", [*numbers, *[0] * (256 - len(numbers))]).tobytes()


def write_model(weights, heads, path):
    """weights: name -> tensor, as in the files of transformers. Of every part, those of all layers stand together."""
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("transformer.h."))
    (vocabulary, width), length = weights["transformer.wte.weight"].shape, len(weights["transformer.wpe.weight"])
    names = ["wte.weight", "wpe.weight", *(f"h.{i}.{part}" for part in PARTS for i in range(layers)), "ln_f.weight", "ln_f.bias"]
    with open(path, "wb") as file:
        file.write(header(20240326, 5, length, vocabulary, layers, heads, width, vocabulary))  # 5: bf16
        for name in names:
            tensor = weights["transformer." + name].bfloat16()
            file.write(bytes_of(tensor.t() if name.startswith("h.") and tensor.ndim == 2 else tensor))


def write_ids(ids, path):
    """One batch, and the id after it, which is read as the last label."""
    values = ids.flatten().tolist()
    values.append(values[0])
    path.write_bytes(header(20240520, 1, len(values)) + array.array("H", values).tobytes())


class LLMC:
    name = "llm.c"

    def __init__(self, options, folder, ids, heads=12):
        program, folder = options.llmc.resolve(), pathlib.Path(folder)
        if program.is_dir():
            program /= "train_gpt2cu"
        if not program.exists():
            raise SystemExit(f"--llmc {options.llmc}: no {program}\n{__doc__}")
        write_model(read_safetensors(folder / "model.safetensors"), heads, folder / "llmc_model.bin")
        write_ids(ids, folder / "llmc_ids.bin")
        self.folder = folder
        self.command = [program, "-e", "llmc_model.bin", "-i", "llmc_ids.bin", "-j", "llmc_ids.bin", "-a", "1",
                        "-b", str(options.batch), "-t", str(options.length), "-l", "1e-4", "-c", "0.1", "-m", "1", "-s", "0",
                        *options.llmc_flags]

    def run(self, steps):
        """Loss of the first step, and the milliseconds of `steps` later ones."""
        command = [*self.command, "-x", str(UNCOUNTED + steps)]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        found = STEP.findall(result.stdout)
        if result.returncode != 0 or len(found) != UNCOUNTED + steps:
            raise SystemExit(f"{command[0]} ended with {result.returncode}:\n{result.stdout[-2000:]}{result.stderr}")
        return float(found[0][0]), [float(time) for _, time in found[UNCOUNTED:]]
