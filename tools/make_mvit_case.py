#!/usr/bin/env python3
"""Writes tests/fixtures/data/mvit_v1: a small MViT of the first version by torchvision, for images, and its outputs.

    tools/make_mvit_case.py FOLDER

Needs torch, torchvision and safetensors. torchvision's model is for videos; one of a single frame with kernels and strides of 1 along
time is the model for images, and its table of time is one more vector on every patch.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torchvision.models.video.mvit import MSBlockConfig, MViT

SIZE, LABELS = 32, 5
BLOCKS = [MSBlockConfig(num_heads=1, input_channels=16, output_channels=16, kernel_q=[], kernel_kv=[1, 3, 3], stride_q=[], stride_kv=[1, 2, 2]),
          MSBlockConfig(num_heads=1, input_channels=16, output_channels=32, kernel_q=[], kernel_kv=[1, 3, 3], stride_q=[], stride_kv=[1, 2, 2]),
          MSBlockConfig(num_heads=2, input_channels=32, output_channels=32, kernel_q=[1, 3, 3], kernel_kv=[1, 3, 3], stride_q=[1, 2, 2],
                        stride_kv=[1, 1, 1]),
          MSBlockConfig(num_heads=2, input_channels=32, output_channels=32, kernel_q=[], kernel_kv=[1, 3, 3], stride_q=[], stride_kv=[1, 1, 1])]
PLACES = [(0, 0), (0, 1), (1, 0), (1, 1)]  # stage and layer of each block
CONFIG = {"model_type": "mvit", "architectures": ["MViTForImageClassification"], "image_size": SIZE, "depths": [2, 2], "embed_dim": [16, 32],
          "num_heads": [1, 2], "stride_q": [1, 2], "stride_kv_adaptive": 2, "expand_attn": False, "residual_pooling": False,
          "use_cls_token": True, "use_abs_pos": True, "rel_pos_type": "none", "pool_q": "strided", "num_classes": LABELS}
PARTS = {"norm1": "norm1", "norm2": "norm2", "attn.qkv": "attn.qkv", "attn.project.0": "attn.proj", "mlp.0": "mlp.fc1", "mlp.3": "mlp.fc2",
         "project": "shortcut_proj_mlp"}


def renamed(state):
    """The tensors under the names of timm's MultiScaleVit, without the axis of time."""
    tensors = {}
    spatial = state["pos_encoding.spatial_pos"] + state["pos_encoding.temporal_pos"]
    tensors["pos_embed"] = torch.cat([state["pos_encoding.class_pos"][None], spatial])[None]
    tensors["cls_token"] = state["pos_encoding.class_token"].reshape(1, 1, -1)
    for name, value in state.items():
        part, last = name.rsplit(".", 1)
        if name.startswith("pos_encoding."):
            continue
        if name.startswith("conv_proj."):
            tensors["patch_embed.proj." + last] = value[:, :, 0] if last == "weight" else value
        elif part in ("norm", "head.1"):
            tensors[("norm." if part == "norm" else "head.fc.") + last] = value
        else:
            _, number, rest = part.split(".", 2)
            block = "stages.{}.blocks.{}.".format(*PLACES[int(number)])
            for pool in "qkv":
                if rest == f"attn.pool_{pool}.pool":
                    tensors[f"{block}attn.pool_{pool}.weight"] = value[:, :, 0]
                if rest == f"attn.pool_{pool}.norm_act.0":
                    tensors[f"{block}attn.norm_{pool}.{last}"] = value
            if rest in PARTS:
                tensors[f"{block}{PARTS[rest]}.{last}"] = value
    # Norms of torchvision have their weights in one place only, and nothing is left out.
    count = sum(value.numel() for value in state.values())
    kept = sum(value.numel() for value in tensors.values()) + state["pos_encoding.temporal_pos"].numel()
    assert count == kept, (count, kept, sorted(state), sorted(tensors))
    return {name: value.detach().contiguous().clone() for name, value in tensors.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    model = MViT(spatial_size=(SIZE, SIZE), temporal_size=1, block_setting=BLOCKS, residual_pool=False, residual_with_cls_embed=True,
                 rel_pos_embed=False, proj_after_attn=False, dropout=0.0, attention_dropout=0.0, stochastic_depth_prob=0.0,
                 num_classes=LABELS, patch_embed_kernel=(1, 7, 7), patch_embed_stride=(1, 4, 4), patch_embed_padding=(0, 3, 3)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms shall count, too
            parameter.add_(0.2 * torch.randn_like(parameter))
    images = torch.randn(2, 3, SIZE, SIZE, dtype=torch.float64)
    labels = torch.tensor([1, 4])
    logits = model(images[:, :, None])
    loss = torch.nn.functional.cross_entropy(logits, labels)
    save_file({name: value.float() for name, value in renamed(model.state_dict()).items()}, folder / "model.safetensors")
    save_file({"pixel_values": images.float(), "labels": labels.int(), "logits": logits.float().detach().contiguous(),
               "loss": loss.float().detach().reshape(1)}, folder / "expected.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    print(logits, loss)


if __name__ == "__main__":
    main()
