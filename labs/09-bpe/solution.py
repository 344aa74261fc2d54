"""Byte-pair encoding: learning merges, and using them."""
from collections import Counter


def merged(tokens, pair):
    """tokens with every occurrence of the pair, from left to right, as one token."""
    # hole
    result, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i:i + 2]) == pair:
            result.append(pair[0] + pair[1])
            i += 2
        else:
            result.append(tokens[i])
            i += 1
    return result
    # end


def learn(words, counts, merges):
    # hole
    split, learned = [list(word) for word in words], []
    for _ in range(merges):
        pairs = Counter()
        for tokens, count in zip(split, counts):
            for pair in zip(tokens, tokens[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], f"{pair[0]} {pair[1]}"))
        learned.append(" ".join(best))
        split = [merged(tokens, best) for tokens in split]
    return learned
    # end


def encode(word, merges):
    # hole
    tokens, order = list(word), [tuple(merge.split(" ")) for merge in merges]
    while True:
        found = [pair for pair in zip(tokens, tokens[1:]) if pair in order]
        if not found:
            return tokens
        tokens = merged(tokens, min(found, key=order.index))
    # end
