"""Static quantisation for ONNX Runtime, the form in which its int8 convolutions are fastest: the range of every quantised
tensor is measured once, and the graph says so with pairs of QuantizeLinear and DequantizeLinear, which ONNX Runtime turns
into its integer operators (QLinearConv and others) when it opens the model. Activations are 8 bits without a sign, weights
8 bits with one and a scale for each output, as its own tool writes them for x86-64.
"""
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# What a convolutional network consists of, so that its activations stay 8 bits from one layer to the next; and what is left
# of it in a Transformer, whose norms, softmax and residuals stay f32.
CONVOLUTIONS = ("Conv", "Gemm", "MatMul", "Add", "Relu", "MaxPool", "GlobalAveragePool", "Flatten")
PRODUCTS = ("Conv", "Gemm", "MatMul")


def ranges(model, names, shape, options, folder):
    """{tensor: (least, largest)} of one noise image, by a graph that computes just that."""
    import onnx
    from onnx import helper
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    del asked.graph.output[:]
    for i, name in enumerate(names):
        for kind in ("Min", "Max"):
            asked.graph.node.append(helper.make_node("Reduce" + kind, [name], [f"range.{i}.{kind}"], keepdims=0))
            asked.graph.output.append(helper.make_tensor_value_info(f"range.{i}.{kind}", onnx.TensorProto.FLOAT, []))
    path = str(pathlib.Path(folder) / "ranges.onnx")
    onnx.save(asked, path)
    if options.onnxruntime:
        command = ["node", HERE / "onnxruntime_session.mjs", options.onnxruntime, path, str(options.threads), "values", *map(str, shape)]
        values = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    else:
        import numpy
        import onnxruntime
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        noise = numpy.random.uniform(-1, 1, shape).astype(numpy.float32)
        found = session.run(None, {session.get_inputs()[0].name: noise})
        values = {each.name: float(value) for each, value in zip(session.get_outputs(), found)}
    return {name: (min(0.0, values[f"range.{i}.Min"]), max(0.0, values[f"range.{i}.Max"])) for i, name in enumerate(names)}


def quantise_static(plain, small, shape, options, folder, op_types, integer_ends=False):
    """Writes the model `plain` as `small`. integer_ends: its input and output are 8 bits too, as those of a layer inside a
    network."""
    import numpy
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.load(plain)
    graph = model.graph
    weights = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    for node in graph.node:  # torch's export writes equal weights once
        if node.op_type == "Identity" and node.input[0] in weights:
            weights[node.output[0]] = weights[node.input[0]]
    used = [node for node in graph.node if node.op_type in op_types]
    # A convolution and the ReLU behind it are one operator: only what leaves the pair is rounded.
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node.op_type)
    inside = {node.output[0] for node in used if node.op_type in ("Conv", "Add") and readers.get(node.output[0]) == ["Relu"]}
    rounded = []
    for node in used:
        for name in [*node.input, node.output[0]]:
            if name and name not in weights and name not in inside and name not in rounded:
                rounded.append(name)
    scales, nodes = {}, []

    def constant(name, values):
        graph.initializer.append(numpy_helper.from_array(numpy.array(values, order="C"), name))
        return name

    for i, (name, (least, most)) in enumerate(ranges(model, rounded, shape, options, folder).items()):
        scale = max(most - least, 1e-6) / 255
        scales[name] = (constant(f"q.{i}.scale", numpy.array(scale, numpy.float32)),
                        constant(f"q.{i}.zero", numpy.array(round(-least / scale), numpy.uint8)), scale)

    def pair(name):
        scale, zero, _ = scales[name]
        nodes.append(helper.make_node("QuantizeLinear", [name, scale, zero], [name + ".q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + ".q", scale, zero], [name + ".dq"]))

    def weight(name, axis, suffix):
        """A constant of 8 bits, and the scales of its outputs."""
        values = weights[name]
        others = tuple(i for i in range(values.ndim) if i != axis)
        scale = numpy.maximum(abs(values).max(axis=others), 1e-30).astype(numpy.float32) / 127
        whole = numpy.rint(values / scale.reshape([-1 if i == axis else 1 for i in range(values.ndim)])).astype(numpy.int8)
        parts = [constant(name + suffix + part, value) for part, value in
                 ((".int8", whole), (".scale", scale), (".zero", numpy.zeros(len(scale), numpy.int8)))]
        nodes.append(helper.make_node("DequantizeLinear", parts, [name + suffix + ".dq"], axis=axis))
        return name + suffix + ".dq", scale

    for name in [each.name for each in graph.input]:
        if name in scales:
            pair(name)
    for i, node in enumerate(graph.node):
        inputs = list(node.input)
        if node.op_type in op_types:
            inputs = [name + ".dq" if name in scales else name for name in inputs]
            attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            if node.op_type in PRODUCTS and node.input[1] in weights:
                axis = 0 if node.op_type == "Conv" or attributes.get("transB", 0) else 1
                inputs[1], scale = weight(node.input[1], axis, f".{i}")
                if len(inputs) > 2:
                    both = (scale * scales[node.input[0]][2]).astype(numpy.float32)
                    bias = [constant(f"bias.{i}{part}", value) for part, value in
                            (("", numpy.rint(weights[node.input[2]] / both).astype(numpy.int32)), (".scale", both),
                             (".zero", numpy.zeros(len(both), numpy.int32)))]
                    nodes.append(helper.make_node("DequantizeLinear", bias, [f"bias.{i}.dq"], axis=0))
                    inputs[2] = f"bias.{i}.dq"
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[:] = inputs
        nodes.append(changed)
        if node.output[0] in scales:
            pair(node.output[0])
    result = graph.output[0].name
    if result in scales:
        graph.output[0].name = result + (".q" if integer_ends else ".dq")
    if integer_ends:
        first = graph.input[0].name
        nodes = [node for node in nodes if node.op_type != "QuantizeLinear" or node.input[0] != first]
        nodes = [node for node in nodes if node.op_type != "DequantizeLinear" or node.input[0] != result + ".q"]
        graph.input[0].name = first + ".q"
        for end in (graph.input[0], graph.output[0]):
            end.type.tensor_type.elem_type = onnx.TensorProto.UINT8
    del graph.node[:]
    graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    kept = [each for each in graph.initializer if each.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.save(model, small)
