"""Beam search over a table of log probabilities."""


def beam_search(first, following, beams, length, alpha):
    # hole
    alive, finished = [([], 0.0)], []
    for _ in range(length):
        candidates = []
        for tokens, score in alive:
            row = following[tokens[-1]] if tokens else first
            candidates += [(tokens + [token], score + row[token]) for token in range(len(first))]
        candidates.sort(key=lambda candidate: -candidate[1])
        best = candidates[:beams]
        finished += [candidate for candidate in best if candidate[0][-1] == 0]
        alive = [candidate for candidate in best if candidate[0][-1] != 0]
        if not alive:
            break
    tokens, score = max(finished + alive, key=lambda one: one[1] / len(one[0]) ** alpha)
    return tokens + [score / len(tokens) ** alpha]
    # end
