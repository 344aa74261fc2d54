"""A post-norm encoder layer with one head."""
from blocks import add, attention, matmul, norm, relu


def encoder_layer(x, wq, wk, wv, wo, w1, w2):
    # hole
    h = norm(add(x, matmul(attention(matmul(x, wq), matmul(x, wk), matmul(x, wv)), wo)))
    return norm(add(h, matmul(relu(matmul(h, w1)), w2)))
    # end
