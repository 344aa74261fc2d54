"""A post-norm decoder layer with one head."""
from blocks import add, attention, matmul, norm, relu


def decoder_layer(x, memory, w1q, w1k, w1v, w2q, w2k, w2v, f1, f2):
    # hole
    a = norm(add(x, attention(matmul(x, w1q), matmul(x, w1k), matmul(x, w1v), causal=True)))
    b = norm(add(a, attention(matmul(a, w2q), matmul(memory, w2k), matmul(memory, w2v))))
    return norm(add(b, matmul(relu(matmul(b, f1)), f2)))
    # end
