import math
from itertools import permutations

from blocks import softmax_row
from lab import mistake, telling, vector


def box(rng, spread):
    return [0.5 + rng.uniform(-spread, spread), 0.5 + rng.uniform(-spread, spread), rng.uniform(0.1, 0.4), rng.uniform(0.1, 0.4)]


def cases(rng):
    for i in range(5):
        yield "giou", [[box(rng, 0.3) for _ in range(rng.randint(3, 5))], [box(rng, 0.3) for _ in range(rng.randint(6, 8))]]
    yield from telling("match", match, (scene(rng) for _ in iter(int, 1)), 16, rivals=NEARLY)


def scene(rng):
    Q, M, K, spread = rng.randint(5, 6), rng.randint(3, 4), 4, rng.choice([0.05, 0.1, 0.2])
    return [[softmax_row(vector(rng, K, 2.0)) for _ in range(Q)], [box(rng, spread) for _ in range(Q)],
            [rng.randrange(K - 1) for _ in range(M)], [box(rng, spread) for _ in range(M)]]


def corners(p):
    return p[0] - p[2] / 2, p[1] - p[3] / 2, p[0] + p[2] / 2, p[1] + p[3] / 2


def areas(p, q, ends=corners, clamp=True):
    """Intersection, union, smallest box around both."""
    (al, at, ar, ab), (bl, bt, br, bb) = ends(p), ends(q)
    w, h = min(ar, br) - max(al, bl), min(ab, bb) - max(at, bt)
    inner = max(0.0, w) * max(0.0, h) if clamp else w * h
    union = (ar - al) * (ab - at) + (br - bl) * (bb - bt) - inner
    return inner, union, (max(ar, br) - min(al, bl)) * (max(ab, bb) - min(at, bt))


def pairs(a, b, value, **more):
    return [[value(*areas(p, q, **more)) for q in b] for p in a]


def generalized(inner, union, hull):
    return inner / union - (hull - union) / hull


def giou(a, b):
    return pairs(a, b, generalized)


def costs(probabilities, boxes, labels, targets, class_part=None, l1=5.0, overlap=2.0, overlaps=None):
    class_part = class_part or (lambda p: -p)
    table = overlaps or giou(boxes, targets)
    return [[class_part(probabilities[q][int(labels[m])]) + l1 * sum(abs(a - b) for a, b in zip(boxes[q], targets[m])) - overlap * table[q][m]
             for m in range(len(targets))] for q in range(len(boxes))]


def cheapest(cost, choose=min):
    ways = permutations(range(len(cost)), len(cost[0]))
    return list(choose(ways, key=lambda way: sum(cost[q][m] for m, q in enumerate(way))))


def match(*a):
    return cheapest(costs(*a))


# Weights that are almost right.
NEARLY = [lambda *a, weights=weights: cheapest(costs(*a, **weights)) for weights in ({"l1": 4.0}, {"l1": 6.0}, {"overlap": 1.0}, {"overlap": 3.0})]


@mistake("giou", "plain IoU", "The part (E - U) / E is missing, so boxes that do not touch all have the same value.")
def iou(a, b):
    return pairs(a, b, lambda inner, union, hull: inner / union)


@mistake("giou", "the intersection is not clamped", "If boxes do not touch, a width is negative; two negative ones make a positive area. Clamp both at 0.")
def unclamped(a, b):
    return pairs(a, b, generalized, clamp=False)


@mistake("giou", "boxes read as corners", "[cx, cy, w, h] was read as [left, top, right, bottom]. Convert first.")
def as_corners(a, b):
    return pairs(a, b, generalized, ends=tuple)


@mistake("giou", "boxes read as corner and size", "[cx, cy] is the centre of the box, not its left top corner.")
def as_corner_size(a, b):
    return pairs(a, b, generalized, ends=lambda p: (p[0], p[1], p[0] + p[2], p[1] + p[3]))


@mistake("giou", "width and height are not halved", "A box reaches from cx - w / 2 to cx + w / 2.")
def doubled(a, b):
    return pairs(a, b, generalized, ends=lambda p: (p[0] - p[2], p[1] - p[3], p[0] + p[2], p[1] + p[3]))


@mistake("giou", "the penalty is added", "Subtract (E - U) / E.")
def added(a, b):
    return pairs(a, b, lambda inner, union, hull: inner / union + (hull - union) / hull)


@mistake("giou", "the union counts the intersection twice", "U is the sum of both areas without the intersection.")
def twice(a, b):
    return pairs(a, b, lambda inner, union, hull: generalized(inner, union + inner, hull))


@mistake("giou", "the penalty is divided by the union", "(E - U) is divided by E.")
def by_union(a, b):
    return pairs(a, b, lambda inner, union, hull: inner / union - (hull - union) / union)


@mistake("match", "greedy: objects choose one after another", "The first object takes its best query, though another needs it more. The total cost must be least.")
def greedy(*a):
    cost, taken = costs(*a), []
    for m in range(len(cost[0])):
        taken.append(min((q for q in range(len(cost)) if q not in taken), key=lambda q: cost[q][m]))
    return taken


@mistake("match", "greedy: the cheapest pair first", "The cheapest pair first is not the least total cost.")
def cheapest_pair(*a):
    cost, taken = costs(*a), {}
    while len(taken) < len(cost[0]):
        q, m = min(((q, m) for q in range(len(cost)) for m in range(len(cost[0])) if q not in taken.values() and m not in taken),
                   key=lambda pair: cost[pair[0]][pair[1]])
        taken[m] = q
    return [taken[m] for m in range(len(cost[0]))]


@mistake("match", "objects share a query", "Each object takes its best query, whoever else has it. The queries must be different.")
def shared(*a):
    cost = costs(*a)
    return [min(range(len(cost)), key=lambda q: cost[q][m]) for m in range(len(cost[0]))]


@mistake("match", "the class is not used", "Subtract the probability of the object's label from the cost.")
def no_class(*a):
    return cheapest(costs(*a, class_part=lambda p: 0.0))


@mistake("match", "the class cost has the wrong sign", "A large probability makes a pair cheaper: it is subtracted.")
def class_sign(*a):
    return cheapest(costs(*a, class_part=lambda p: p))


@mistake("match", "log probabilities in the class cost", "The matching cost uses -p, not -log p (section 3.1 of the paper).")
def class_log(*a):
    return cheapest(costs(*a, class_part=lambda p: -math.log(p)))


@mistake("match", "giou is not used", "Subtract 2 · giou.")
def no_giou(*a):
    return cheapest(costs(*a, overlap=0.0))


@mistake("match", "giou has the wrong sign", "A large overlap makes a pair cheaper: 2 · giou is subtracted.")
def giou_sign(*a):
    return cheapest(costs(*a, overlap=-2.0))


@mistake("match", "the distance of the boxes is not used", "Add 5 · Σ |boxes[q] - targets[m]|.")
def no_distance(*a):
    return cheapest(costs(*a, l1=0.0))


@mistake("match", "the weights 5 and 2 are missing", "The distance counts five times, giou twice.")
def no_weights(*a):
    return cheapest(costs(*a, l1=1.0, overlap=1.0))


@mistake("match", "the largest cost instead of the least", "You maximise the total. It is a cost.")
def largest(*a):
    return cheapest(costs(*a), max)
