"""Networks of one's own in Python: attend.Tensor, ops, nn and optim against NumPy and, where it is, torch."""
import concurrent.futures
import re
import sys

import attend
import numpy as np
import pytest
from attend import nn, ops, optim

RNG = np.random.default_rng(1)


class Classifier(nn.Module):
    def __init__(self):
        self.tokens = nn.Embedding(11, 16)
        self.layers = [nn.TransformerEncoderLayer(16, 2, hidden=32, dropout=0.0) for _ in range(2)]
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(16, 2)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.out(ops.mean(self.drop(x), 1))


def test_numpy_in_and_out():
    array = RNG.normal(size=(3, 4)).astype(np.float32)
    x = attend.tensor(array)
    assert x.shape == (3, 4) and x.dtype == "f32" and x.device.startswith("cpu")
    np.testing.assert_array_equal(np.asarray(x), array)
    view = x.numpy()
    assert view.base is not None and not view.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1
    del x
    np.testing.assert_array_equal(view, array)  # the view keeps the memory
    assert attend.tensor([1, 2]).dtype == "i32" and attend.tensor([1.5]).item() == 1.5
    np.testing.assert_array_equal(np.from_dlpack(attend.tensor(array)), array)
    np.testing.assert_allclose((array @ array.T), (attend.tensor(array) @ array.T.copy()).numpy(), rtol=1e-5)
    assert isinstance(array + attend.tensor(array), attend.Tensor)


def test_ops_are_numpys():
    a, b = RNG.normal(size=(2, 3, 8)).astype(np.float32), RNG.normal(size=(8,)).astype(np.float32)
    x = attend.tensor(a)
    np.testing.assert_allclose((x + b).numpy(), a + b, rtol=1e-6)
    np.testing.assert_allclose((b - x).numpy(), b - a, rtol=1e-6)
    np.testing.assert_allclose((-x * 2 / 4).numpy(), -a / 2, rtol=1e-6)
    np.testing.assert_allclose(ops.softmax(x).numpy().sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(ops.transpose(x).numpy(), a.swapaxes(1, 2))
    np.testing.assert_array_equal(ops.argmax(x).numpy(), a.argmax(-1))
    np.testing.assert_allclose(ops.sum(x).item(), a.sum(), rtol=1e-4)
    np.testing.assert_allclose(ops.concat(ops.split(x, 4), -1).numpy(), a)
    weights = ops.attention_weights(x, x, causal=True).numpy()
    assert weights.shape == (2, 1, 3, 3) and weights[0, 0, 0, 1] == 0


def documented(name, value):
    """Names of what is public in a module or class, and lacks a docstring: text besides the signature that pybind11 writes."""
    members = vars(value).items() if isinstance(value, type) else [(each, getattr(value, each)) for each in value.__all__]
    for each, member in members:
        if each.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        text = re.sub(r"^\w+\(.*\) -> .*\n+", "", member.__doc__ or "")
        if not text.strip():
            yield f"{name}.{each}"
        if isinstance(member, type) and not issubclass(member, tuple):
            yield from documented(f"{name}.{each}", member)


def test_everything_public_has_a_docstring():
    assert [name for module in (attend, nn, ops, optim) for name in documented(module.__name__, module)] == []
    shapeless = {"Module", "Parameter", "Parameters", "Dropout"}
    for layer in set(nn.__all__) - shapeless:
        assert "->" in getattr(nn, layer).__doc__, layer


def test_gradients_and_custom_ops():
    tape = attend.Tape()
    x = tape.variable(np.array([3.0, 4.0]))
    ops.sum(x * x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6, 8])

    def cube(value):
        kept = value.numpy().copy()
        return ops.custom_op([value], kept ** 3, lambda dy: [dy.numpy() * 3 * kept ** 2])

    x = tape.variable(np.array([3.0, 4.0]))
    ops.sum(cube(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), [27, 48])


def test_a_model_learns_and_its_state_returns(tmp_path):
    ids = RNG.integers(0, 11, size=(64, 6))
    labels = (ids == 3).any(1)
    model = Classifier()
    assert "layers.1.self_attn.in_proj_weight" in dict(model.named_parameters())
    optimizer = optim.AdamW(model.parameters(), rate=optim.cosine(5e-3, 5, 60), clip_norm=1)
    tape, losses = attend.Tape(), []
    for _ in range(60):
        loss = ops.cross_entropy(model(tape.input(ids)), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3 and optimizer.steps == 60
    state = model.state_dict()
    other = Classifier()
    assert not np.array_equal(other(ids).numpy(), model(ids).numpy())
    other.load_state_dict(state)
    np.testing.assert_array_equal(other(ids).numpy(), model(ids).numpy())
    model.save(tmp_path / "model.safetensors")
    third = Classifier()
    third.parameters(seed=5)
    third.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(third(ids).numpy(), model(ids).numpy())
    with pytest.raises(attend.Error, match="missing"):
        other.load_state_dict({})
    assert "<table>" in model._repr_html_() and "<table>" in attend.tensor(np.eye(3))._repr_html_()
    assert "Tensor(" in repr(attend.tensor([1.0]))


def test_a_bf16_model_keeps_f32_numbers():
    model = Classifier()
    model.parameters(dtype="bf16")
    assert model(np.zeros((1, 3), int)).dtype == "bf16" and model.out.weight.dtype == "bf16"
    state = model.state_dict()
    state["out.bias"] = np.full(2, 1 + 1e-4, np.float32)
    model.load_state_dict(state)
    np.testing.assert_array_equal(model.state_dict()["out.bias"], state["out.bias"])
    np.testing.assert_array_equal(model.out.bias.numpy(), [1, 1])
    with pytest.raises(AttributeError, match="bais"):
        model.out.bais
    with pytest.raises(attend.Error, match="f16"):
        Classifier().parameters(dtype="f16")


def test_own_parameters_and_recurrent_layers():
    class Own(nn.Module):
        def __init__(self):
            self.scale = nn.Parameter((4,), "ones")
            self.rnn = nn.LSTM(4, 3)

        def forward(self, x):
            return self.rnn(x * self.scale.value())

    model = Own()
    states, hidden, cell = model(np.ones((2, 5, 4), np.float32))
    assert states.shape == (2, 5, 3) and hidden.shape == (2, 3) and cell.shape == (2, 3)
    np.testing.assert_allclose(states.numpy()[:, -1], hidden.numpy(), rtol=1e-6)
    tape = attend.Tape()
    ops.sum(model(tape.input(np.ones((2, 5, 4))))[0]).backward()
    assert model.scale.grad.shape == (4,)
    assert nn.GRU(4, 3)(np.ones((1, 2, 4)))[2] is None
    optimizer = optim.SGD(model.parameters(), rate=0.1)
    optimizer.step()
    kept = model.state_dict()
    model.extra = nn.Linear(3, 2)  # a layer that is added later belongs to the model, and what was learned stays
    assert "extra.weight" in model.state_dict() and np.array_equal(model.state_dict()["scale"], kept["scale"])
    ops.sum(model(tape.input(np.ones((2, 5, 4))))[0]).backward()
    with pytest.raises(attend.Error, match="another nn::Parameters"):
        optimizer.step()
    with pytest.raises(attend.Error, match="part of a model"):
        model.extra.load_state_dict({})

    class Plain(nn.Module):
        def forward(self, x):
            return ops.relu(x)

    assert Plain()(np.ones((2,))).shape == (2,)
    attention = nn.MultiHeadAttention(16, 2)
    assert attention.weights(np.ones((1, 3, 16))).shape == (1, 2, 3, 3)


def lab_cases(name, function):
    """Arguments and right answers of a lab, from its reference."""
    sys.path.insert(0, "labs")
    try:
        import lab
        cases, _ = lab.reference(lab.find_lab(name), 4)
    finally:
        sys.path.remove("labs")
    return [([np.array(value) if isinstance(value, list) else value for value in case["arguments"]], np.array(case["right"]))
            for case in cases if case["function"] == function]


def test_the_labs_references_are_ours():
    """What labs compare answers with is what the library computes, forward and backward."""
    tape = attend.Tape()

    def gradient(f, x, dy):
        leaf = tape.variable(x)
        ops.sum(f(leaf) * dy).backward()
        return leaf.grad.numpy()

    def attention(q, k, v):
        return ops.softmax(q @ ops.transpose(attend.tensor(k)) / np.sqrt(k.shape[1])) @ v

    for (x,), right in lab_cases("softmax", "softmax"):
        np.testing.assert_allclose(ops.softmax(x).numpy(), right, atol=1e-5)
    for (y, dy), right in lab_cases("softmax", "softmax_backward"):
        np.testing.assert_allclose(gradient(ops.softmax, np.log(y), dy), right, atol=1e-5)
    for (x, weight, bias, eps), right in lab_cases("layer-norm", "layer_norm"):
        np.testing.assert_allclose(ops.layer_norm(x, weight, bias, eps).numpy(), right, atol=1e-4)
    for (x, weight, eps, dy), right in lab_cases("layer-norm", "layer_norm_backward"):
        found = gradient(lambda leaf: ops.layer_norm(leaf, weight, np.zeros_like(weight), eps), x, dy)
        np.testing.assert_allclose(found, right, atol=1e-4)
    for (q, k, v), right in lab_cases("attention", "attention"):
        np.testing.assert_allclose(attention(attend.tensor(q), k, v).numpy(), right, atol=1e-5)
    for (q, k, v, dy), right in lab_cases("attention", "attention_gradient"):
        np.testing.assert_allclose(gradient(lambda leaf: attention(leaf, k, v), q, dy), right, atol=1e-4)
    for (length, width), right in lab_cases("sinusoids", "positions"):
        np.testing.assert_allclose(ops.sinusoids(length, width).numpy(), right, atol=1e-5)


def test_misuse_is_an_error_that_names_shapes():
    x, w = np.zeros((2, 3)), np.zeros((4, 5))
    for call in (lambda: ops.linear(x, w), lambda: ops.matmul(x, w), lambda: attend.tensor(x) + w, lambda: ops.mean_squared_error(x, w)):
        with pytest.raises(attend.Error, match=r"\[2, 3\].*\[4, 5\]|\[4, 5\].*\[2, 3\]"):
            call()
    with pytest.raises(attend.Error, match=r"9.*\[0, 4\)"):
        ops.embedding(np.array([9]), w)
    with pytest.raises(attend.Error):
        attend.tensor(np.array(["a"]))
    with pytest.raises(attend.Error, match="32 bits"):
        attend.tensor(np.array([2 ** 40]))
    with pytest.raises(attend.Error, match="axes"):
        attend.tensor(np.zeros((1,) * 8))
    with pytest.raises(TypeError):
        ops.relu("x")
    tape = attend.Tape()
    loss = ops.sum(tape.variable(x))
    loss.backward()
    with pytest.raises(attend.Error, match="has ended"):
        loss.backward()
    del tape
    with pytest.raises(attend.Error):
        loss.backward()
    with pytest.raises(attend.Error, match=r"\[4, 3\].*\[2, 5\]"):
        nn.Linear(3, 4)(np.zeros((2, 5)))


def test_misuse_of_formats_devices_and_sizes():
    x = attend.tensor(np.zeros((2, 4)))
    model = nn.Linear(4, 3)
    model.parameters(dtype="bf16")
    with pytest.raises(attend.Error, match="f32.*bf16|bf16.*f32"):
        model(x)
    with pytest.raises(attend.Error, match="i32"):
        ops.relu(np.array([1, 2]))
    with pytest.raises(attend.Error, match="tpu"):
        attend.Device("tpu")
    with pytest.raises(attend.Error, match="lies on"):
        x + attend.tensor(np.zeros((2, 4)), attend.Device("cpu", 1))
    with pytest.raises(attend.Error, match="too large"):
        ops.sinusoids(2, 2 ** 62)
    with pytest.raises(attend.Error, match=r"\[2, 4\].*\[3, 3\]"):
        x.reshape([3, 3])
    with pytest.raises(TypeError, match="rate is 'x'"):
        optim.AdamW(model.parameters(), rate="x")
    with pytest.raises(attend.Error, match="backward"):
        optim.SGD(nn.Linear(2, 2).parameters()).step()
    with pytest.raises(attend.Error, match=r"weight.*\[3, 4\].*\[4, 3\]"):
        model.load_state_dict({"weight": np.zeros((4, 3)), "bias": np.zeros(3)})
    with pytest.raises(attend.Error, match=r"custom_op.*\[2, 4\].*\[3\]|custom_op.*\[3\].*\[2, 4\]"):
        tape = attend.Tape()
        ops.sum(ops.custom_op([tape.variable(x)], np.zeros((2, 4)), lambda dy: [np.zeros(3)])).backward()


    with pytest.raises(attend.Error, match="backward.*3"):
        ops.sum(ops.custom_op([tape.variable(x)], np.zeros((2, 4)), lambda dy: 3)).backward()


def test_an_exception_in_a_backward_function_arrives():
    tape = attend.Tape()

    def fails(dy):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ops.sum(ops.custom_op([tape.variable(np.ones(3))], np.ones(3), fails)).backward()
    x = tape.variable(np.ones(3))  # and the tape can be used again
    ops.sum(x * x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])


def test_threads_take_turns():
    """Each thread trains its own model on the same device; the results are those of one thread."""
    def losses(seed):
        model, tape = Classifier(), attend.Tape(seed=seed)
        optimizer = optim.AdamW(model.parameters(seed=seed), rate=1e-2)
        ids, found = np.arange(12).reshape(2, 6) % 11, []
        for _ in range(20):
            loss = ops.cross_entropy(model(tape.input(ids)), np.array([0, 1]))
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    alone = [losses(seed) for seed in range(4)]
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet inside of calls
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert list(pool.map(losses, range(4))) == alone
    finally:
        sys.setswitchinterval(often)


def test_the_same_losses_as_torch():
    torch = pytest.importorskip("torch")
    ids, labels = RNG.integers(0, 11, size=(16, 6)), RNG.integers(0, 2, size=(16,))
    model = Classifier()
    model.drop.rate = 0.0
    model.parameters()
    theirs = torch.nn.ModuleDict({
        "tokens": torch.nn.Embedding(11, 16), "out": torch.nn.Linear(16, 2),
        "layers": torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True) for _ in range(2))})
    theirs.load_state_dict({name: torch.tensor(value) for name, value in model.state_dict().items()})
    adam = torch.optim.AdamW(theirs.parameters(), lr=1e-3, weight_decay=0.0)
    optimizer, tape = optim.AdamW(model.parameters(), rate=1e-3), attend.Tape()
    for _ in range(20):
        loss = ops.cross_entropy(model(tape.input(ids)), labels)
        loss.backward()
        optimizer.step()
        x = theirs["tokens"](torch.tensor(ids))
        for layer in theirs["layers"]:
            x = layer(x)
        other = torch.nn.functional.cross_entropy(theirs["out"](x.mean(1)), torch.tensor(labels))
        adam.zero_grad()
        other.backward()
        adam.step()
        assert abs(loss.item() - other.item()) < 1e-4
