"""Sessions of ONNX Runtime that are timed on noise: of its Python package where that is installed, else of the npm package
onnxruntime-node, which needs node alone:

    npm install --prefix FOLDER --ignore-scripts onnxruntime-node

int8 is dynamic quantisation: every product rounds its input to 8 bits as it runs, with one scale, and the weights have one
scale each. The Python package's own tool does that; without it the same graph is made here.
"""
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent


def add_option(parser):
    parser.add_argument("--onnxruntime", metavar="FOLDER", help="where npm installed onnxruntime-node; else its Python package")


def is_there(options):
    if options.onnxruntime:
        return True
    try:
        import onnxruntime  # noqa: F401
        return True
    except ImportError:
        return False


class Session:
    def __init__(self, path, shape, options):
        self.path, self.shape, self.options = path, shape, options
        if not options.onnxruntime:
            import numpy
            import onnxruntime
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = options.threads
            self.session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
            self.inputs = {self.session.get_inputs()[0].name: numpy.random.randn(*shape).astype(numpy.float32)}

    def milliseconds(self, reps):
        """Of each repetition, after two that are not timed."""
        if self.options.onnxruntime:
            command = ["node", HERE / "onnxruntime_session.mjs", self.options.onnxruntime, self.path, str(self.options.threads),
                       str(reps), *map(str, self.shape)]
            return [float(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]
        times = []
        for rep in range(reps + 2):
            start = time.perf_counter()
            self.session.run(None, self.inputs)
            times.append(1e3 * (time.perf_counter() - start))
        return times[2:]


def quantise(plain, small, op_types=("MatMul", "Gemm", "Conv")):
    """Writes the model `plain` with int8 weights to `small`."""
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError:
        return quantise_here(plain, small, op_types)
    unsigned = op_types == ("Conv",)  # its convolutions take no others
    quantize_dynamic(plain, small, weight_type=QuantType.QUInt8 if unsigned else QuantType.QInt8, op_types_to_quantize=list(op_types))


def quantise_here(plain, small, op_types):
    import numpy
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.load(plain)
    weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:  # torch's export writes equal weights once
        if node.op_type == "Identity" and node.input[0] in weights:
            weights[node.output[0]] = weights[node.input[0]]
    nodes, rounded = [], {}

    def constant(name, values):
        model.graph.initializer.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def kind_of(weight):
        """Products are faster with signed weights; convolutions take unsigned ones only."""
        return (numpy.int8, 0) if weight.ndim == 2 else (numpy.uint8, 128)

    def int8(name, transposed):
        weight = weights[name].T if transposed else weights[name]
        scale = max(float(abs(weight).max()), 1e-30) / 127
        if (name, transposed) not in rounded:
            base = f"{name}.{'turned' if transposed else 'int8'}"
            kind, zero = kind_of(weight)
            whole = (numpy.rint(weight / scale) + zero).astype(kind)
            rounded[name, transposed] = (constant(base, whole), constant(base + ".zero", numpy.array(zero, kind)),
                                         constant(base + ".scale", numpy.array(scale, numpy.float32)))
        return rounded[name, transposed]

    for i, node in enumerate(model.graph.node):
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if node.op_type not in op_types or len(node.input) < 2 or node.input[1] not in weights:
            nodes.append(node)
            continue
        whole, zero, scale = int8(node.input[1], bool(attributes.get("transB", 0)))
        x, x_scale, x_zero, sums, in_f32, factor, product = (f"int8.{i}.{part}" for part in range(7))
        nodes.append(helper.make_node("DynamicQuantizeLinear", [node.input[0]], [x, x_scale, x_zero]))
        if node.op_type == "Conv":
            nodes.append(helper.make_node("ConvInteger", [x, whole, x_zero, zero], [sums], **attributes))
        else:
            nodes.append(helper.make_node("MatMulInteger", [x, whole, x_zero, zero], [sums]))
        has_bias = len(node.input) > 2
        nodes.append(helper.make_node("Cast", [sums], [in_f32], to=onnx.TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [x_scale, scale], [factor]))
        nodes.append(helper.make_node("Mul", [in_f32, factor], [product if has_bias else node.output[0]]))
        if has_bias:
            bias = node.input[2]
            if node.op_type == "Conv":
                bias = constant(f"int8.{i}.bias", weights[bias].reshape(1, -1, *[1] * (weights[node.input[1]].ndim - 2)))
            nodes.append(helper.make_node("Add", [product, bias], [node.output[0]]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [each for each in model.graph.initializer if each.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, small)
