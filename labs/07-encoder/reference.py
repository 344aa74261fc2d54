import math

from blocks import add, matmul, norm, relu as positive, scaled, softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for i in range(8):
        T, C, F = rng.randint(3, 5), rng.randint(4, 6), rng.randint(7, 9)
        spread = 1.0 if i else 0.004  # eps matters where x is small
        yield "encoder_layer", [matrix(rng, T, C, spread)] + [matrix(rng, C, C, 0.6) for _ in range(4)] + [matrix(rng, C, F, 0.6), matrix(rng, F, C, 0.6)]


def attend(x, wq, wk, wv, wo, scale=True):
    q, k, v = matmul(x, wq), matmul(x, wk), matmul(x, wv)
    return matmul(matmul(softmax(scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(wq)) if scale else 1)), v), wo)


def forward(x, w1, w2, relu=True):
    hidden = matmul(x, w1)
    return matmul(positive(hidden) if relu else hidden, w2)


def encoder_layer(x, wq, wk, wv, wo, w1, w2):
    h = norm(add(x, attend(x, wq, wk, wv, wo)))
    return norm(add(h, forward(h, w1, w2)))


@mistake("encoder_layer", "the norm before the sublayer", "That is a pre-norm layer, x + f(norm(x)). The paper computes norm(x + f(x)).")
def pre_norm(x, *w):
    h = add(x, attend(norm(x), *w[:4]))
    return add(h, forward(norm(h), *w[4:]))


@mistake("encoder_layer", "the first residual is missing", "Add x to the result of attention before the first norm.")
def no_first(x, *w):
    h = norm(attend(x, *w[:4]))
    return norm(add(h, forward(h, *w[4:])))


@mistake("encoder_layer", "the second residual is missing", "Add h to the result of the feed-forward network before the second norm.")
def no_second(x, *w):
    return norm(forward(norm(add(x, attend(x, *w[:4]))), *w[4:]))


@mistake("encoder_layer", "no residuals", "Both sublayers are added to their inputs.")
def none(x, *w):
    return norm(forward(norm(attend(x, *w[:4])), *w[4:]))


@mistake("encoder_layer", "the second residual adds x", "The second sum adds h, the input of the feed-forward network, not x.")
def adds_x(x, *w):
    h = norm(add(x, attend(x, *w[:4])))
    return norm(add(x, forward(h, *w[4:])))


@mistake("encoder_layer", "the feed-forward network reads x", "Its input is h, the result of the first sublayer.")
def reads_x(x, *w):
    h = norm(add(x, attend(x, *w[:4])))
    return norm(add(h, forward(x, *w[4:])))


@mistake("encoder_layer", "relu is missing", "Without relu the two products are one linear map.")
def no_relu(x, *w):
    h = norm(add(x, attend(x, *w[:4])))
    return norm(add(h, forward(h, *w[4:], relu=False)))


@mistake("encoder_layer", "the first norm is missing", "Normalise x + attention before the feed-forward network reads it.")
def no_norm1(x, *w):
    h = add(x, attend(x, *w[:4]))
    return norm(add(h, forward(h, *w[4:])))


@mistake("encoder_layer", "the last norm is missing", "The second sum is normalised, too.")
def no_norm2(x, *w):
    h = norm(add(x, attend(x, *w[:4])))
    return add(h, forward(h, *w[4:]))


@mistake("encoder_layer", "the output projection is missing", "Multiply the result of attention by Wo.")
def no_out(x, wq, wk, wv, wo, w1, w2):
    same = [[float(i == j) for j in range(len(wq))] for i in range(len(wq))]
    return encoder_layer(x, wq, wk, wv, same, w1, w2)


@mistake("encoder_layer", "the scale of attention is missing", "Divide the scores by √C.")
def no_scale(x, *w):
    h = norm(add(x, attend(x, *w[:4], scale=False)))
    return norm(add(h, forward(h, *w[4:])))


@mistake("encoder_layer", "feed-forward before attention", "Attention is the first sublayer.")
def order(x, *w):
    h = norm(add(x, forward(x, *w[4:])))
    return norm(add(h, attend(h, *w[:4])))
