#!/usr/bin/env python3
"""The convolutions of ResNet-50, layer by layer on the CPU, beside ONNX Runtime's in the same run.

    bench/convolution.py build/bench/convolution [--threads 2] [--rounds 5] [--forms f32 int8]

Prints milliseconds of ours and of ONNX Runtime (medians over the rounds) and the ratio. ONNX Runtime gets one Conv node as
f32, and as int8 what static quantisation makes of it inside a network: QLinearConv from 8 bits to 8 bits. Ours begins and
ends in f32, so its time includes quantising the image. Without its Python package, --onnxruntime names the
folder of the npm package (peers/onnxruntime_sessions.py); without both the script prints ours alone.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

from peers import onnxruntime_sessions, onnxruntime_static


def ours(program, forms, threads):
    """{layer: (times in the network, [ms of each form])}"""
    command = [program, "--threads", str(threads), "--forms", *forms]
    layers = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.match(r"(\d+)x\d+/(\d+) (\d+)>(\d+) @(\d+) +(\d+) (.*)", line)
        if found:
            kernel, stride, inputs, outputs, size, count = map(int, found.groups()[:6])
            layers[kernel, stride, inputs, outputs, size] = count, [float(word) for word in found[7].split()[::2]]
    return layers


def sessions(layer, options, folder):
    """ONNX Runtime's session of one convolution in each form."""
    import numpy
    import onnx
    import onnx.numpy_helper
    kernel, stride, inputs, outputs, size = layer
    weight = numpy.random.randn(outputs, inputs, kernel, kernel).astype(numpy.float32)
    bias = numpy.random.randn(outputs).astype(numpy.float32)
    node = onnx.helper.make_node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                                 pads=[kernel // 2] * 4)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "layer", [value("x", 1, [1, inputs, size, size])], [value("y", 1, None)],
                                   [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 16)], ir_version=8)
    plain, small = os.path.join(folder, "layer.onnx"), os.path.join(folder, "layer-int8.onnx")
    onnx.save(model, plain)
    shape = (1, inputs, size, size)
    onnxruntime_static.quantise_static(plain, small, shape, options, folder, ("Conv",), integer_ends=True)
    return {form: onnxruntime_sessions.Session(path, shape, options) for form, path in (("f32", plain), ("int8", small))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forms", nargs="+", default=["f32", "int8"], choices=["f32", "int8"])
    parser.add_argument("--reps", type=int, default=40, help="of ONNX Runtime, in a round")
    onnxruntime_sessions.add_option(parser)
    options = parser.parse_args()
    beside = onnxruntime_sessions.is_there(options)
    mine, theirs = {}, {}
    for _ in range(options.rounds):
        for layer, (count, times) in ours(options.program, options.forms, options.threads).items():
            for form, ms in zip(options.forms, times):
                mine.setdefault((layer, count, form), []).append(ms)
        for layer, count, form in list(mine) if beside else []:
            with tempfile.TemporaryDirectory() as folder:
                # The least, as ours is.
                least = min(sessions(layer, options, folder)[form].milliseconds(options.reps))
                theirs.setdefault((layer, count, form), []).append(least)
    print(f"{'layer':24}{'times':>6}{'form':>6}{'ours ms':>10}{'ORT ms':>10}{'ratio':>8}")
    sums = {}
    for key, times in mine.items():
        (kernel, stride, inputs, outputs, size), count, form = key
        a, b = statistics.median(times), statistics.median(theirs.get(key, [float("nan")]))
        total = sums.setdefault(form, [0, 0])
        total[0] += count * a
        total[1] += count * b
        name = f"{kernel}x{kernel}/{stride} {inputs}>{outputs} @{size}"
        print(f"{name:24}{count:6}{form:>6}{a:10.3f}{b:10.3f}{b / a:8.2f}")
    for form, (a, b) in sums.items():
        print(f"{'all convolutions':30}{form:>6}{a:10.2f}{b:10.2f}{b / a:8.2f}")


main()
