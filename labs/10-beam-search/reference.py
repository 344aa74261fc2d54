import math

from blocks import softmax_row
from lab import mistake, MISTAKES, telling, vector
from values import same


def logs(rng, count, end):
    row = vector(rng, count, 1.2)
    row[0] = end + rng.gauss(0, 0.5)
    return [math.log(p) for p in softmax_row(row)]


def cases(rng):
    return telling("beam_search", beam_search, (tables(rng) for _ in iter(int, 1)), 16)


def tables(rng):
    """Arguments without ties: changes of 1e-7 change no result, neither the right one nor that of a mistake."""
    while True:
        V, end = rng.randint(4, 5), rng.choice([-1.0, 0.3, 0.8])
        first, following = logs(rng, V, end - 1), [logs(rng, V, end) for _ in range(V)]
        rest = [rng.randint(2, 3), rng.randint(3, 5), rng.choice([0.7, 1.0, 1.3])]
        changed = [[value + rng.uniform(-1e-7, 1e-7) for value in row] for row in following]
        computes = [beam_search] + [known["compute"] for known in MISTAKES]
        if all(same(compute(first, following, *rest), compute(first, changed, *rest)) for compute in computes):
            return [first, following, *rest]


def search(first, following, beams, length, alpha, value=None, step=None, per_row=False, go_on=False, first_only=False,
           unfinished=True, row_of=None):
    value = value or (lambda tokens, score: score / len(tokens) ** alpha)
    step = step or (lambda score, log: score + log)
    row_of = row_of or (lambda tokens: following[tokens[-1]] if tokens else first)
    alive, finished = [([], 0.0)], []
    for _ in range(length):
        candidates = []
        for tokens, score in alive:
            row = row_of(tokens)
            own = sorted(((tokens + [v], step(score, row[v])) for v in range(len(first))), key=lambda one: -one[1])
            candidates += own[:beams] if per_row else own
        candidates.sort(key=lambda one: -one[1])
        best = candidates if per_row else candidates[:beams]
        finished += [one for one in best if one[0][-1] == 0]
        alive = best if go_on else [one for one in best if one[0][-1] != 0]
        if not alive or (first_only and finished):
            break
    ends = finished + (alive if unfinished or not finished else [])
    tokens, score = finished[0] if first_only and finished else max(ends, key=lambda one: value(*one))
    return tokens + [value(tokens, score)]


def beam_search(*a):
    return search(*a)


@mistake("beam_search", "greedy: only one hypothesis is kept", "Keep the `beams` best hypotheses at each step, not only the best.")
def greedy(first, following, beams, length, alpha):
    return search(first, following, 1, length, alpha)


@mistake("beam_search", "the length is not normalised", "Divide the score by n^alpha; otherwise short texts win.")
def no_length(*a):
    return search(*a, value=lambda tokens, score: score)


@mistake("beam_search", "the length is counted without token 0", "n counts all tokens, the end token included.")
def without_end(*a):
    alpha = a[4]
    return search(*a, value=lambda tokens, score: score / max(1, len(tokens) - (tokens[-1] == 0)) ** alpha)


@mistake("beam_search", "alpha is not used", "Divide by n^alpha, not by n.")
def by_length(*a):
    return search(*a, value=lambda tokens, score: score / len(tokens))


@mistake("beam_search", "finished hypotheses are extended", "A hypothesis that ends in token 0 leaves the beam.")
def extended(*a):
    return search(*a, go_on=True)


@mistake("beam_search", "the first finished hypothesis is returned", "Search on: a later one may have a better divided score.")
def first_finished(*a):
    return search(*a, first_only=True)


@mistake("beam_search", "the best of each hypothesis instead of all together", "Of the candidates of all hypotheses together, keep `beams`.")
def each_row(*a):
    return search(*a, per_row=True)


@mistake("beam_search", "unfinished hypotheses are dropped at the end", "After the last step they count as finished, too.")
def dropped(*a):
    return search(*a, unfinished=False)


@mistake("beam_search", "probabilities are added", "log p is added; you add p.")
def probabilities(*a):
    return search(*a, step=lambda score, log: score + math.exp(log))


@mistake("beam_search", "log probabilities are multiplied", "The probability of a text is a product, so its logarithm is a sum.")
def multiplied(*a):
    return search(*a, step=lambda score, log: log if score == 0.0 else score * log)


@mistake("beam_search", "rows and columns of `following` are exchanged", "The row is the token before, the column is the next one.")
def exchanged(*a):
    first, following = a[0], a[1]
    return search(*a, row_of=lambda tokens: [row[tokens[-1]] for row in following] if tokens else first)
