from collections import Counter

from lab import mistake, telling


def words_of(rng, count):
    words = set()
    while len(words) < count:
        words.add("".join(rng.choice("aabbcde") for _ in range(rng.randint(3, 7))))
    return sorted(words, key=lambda _: rng.random())


def cases(rng):
    yield from telling("learn", learn, (texts(rng) for _ in iter(int, 1)), 8)
    yield from telling("encode", encode, (word_and_merges(rng) for _ in iter(int, 1)), 12)


def texts(rng):
    words = words_of(rng, rng.randint(5, 8))
    return [words, [rng.choice([1, 1, 2, 3, 9]) for _ in words], rng.randint(5, 8)]


def word_and_merges(rng):
    words = words_of(rng, 14)
    merges = learn(words, [rng.randint(1, 5) for _ in words], 22)
    return ["".join(rng.choice(merges).replace(" ", "") for _ in range(3)), merges]


def merged(tokens, pair, most=None):
    result, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i:i + 2]) == pair and (most is None or most > 0):
            result.append(pair[0] + pair[1])
            i, most = i + 2, None if most is None else most - 1
        else:
            result.append(tokens[i])
            i += 1
    return result


def learn(words, counts, merges, key=None, update=True, per_word=False):
    key = key or (lambda pairs, pair: (-pairs[pair], " ".join(pair)))
    split, learned = [list(word) for word in words], []
    for _ in range(merges):
        pairs = Counter()
        for tokens, count in zip(split, counts):
            found = list(zip(tokens, tokens[1:]))
            for pair in dict.fromkeys(found) if per_word else found:
                pairs[pair] += count
        for done in learned if not update else []:
            pairs.pop(tuple(done.split(" ")), None)
        if not pairs:
            break
        best = min(pairs, key=lambda pair: key(pairs, pair))
        learned.append(" ".join(best))
        if update:
            split = [merged(tokens, best) for tokens in split]
    return learned


def encode(word, merges, choose=min):
    tokens, order = list(word), [tuple(merge.split(" ")) for merge in merges]
    while True:
        found = [order.index(pair) for pair in zip(tokens, tokens[1:]) if pair in order]
        if not found:
            return tokens
        tokens = merged(tokens, order[choose(found)])


@mistake("learn", "the counts of the words are not used", "A pair in a word that occurs nine times counts nine times.")
def no_counts(words, counts, merges):
    return learn(words, [1] * len(words), merges)


@mistake("learn", "a pair counts once per word", "In 'abab' the pair 'a b' occurs twice.")
def once(words, counts, merges):
    return learn(words, counts, merges, per_word=True)


@mistake("learn", "ties go to the alphabetically last pair", "Of equally frequent pairs the alphabetically first is merged.")
def last_of_ties(words, counts, merges):
    def key(pairs, pair):
        best = max(pairs.values())
        tied = sorted(" ".join(other) for other in pairs if pairs[other] == best)
        return (-pairs[pair], 0 if " ".join(pair) == tied[-1] else 1)
    return learn(words, counts, merges, key)


@mistake("learn", "ties go to the pair that was seen first", "Of equally frequent pairs the alphabetically first is merged, wherever it stands.")
def first_seen(words, counts, merges):
    return learn(words, counts, merges, lambda pairs, pair: -pairs[pair])


@mistake("learn", "merges are not applied before the next count", "After each merge the words have new tokens; count their pairs again.")
def not_applied(words, counts, merges):
    return learn(words, counts, merges, update=False)


@mistake("learn", "the rarest pair is merged", "Merge the most frequent pair.")
def rarest(words, counts, merges):
    return learn(words, counts, merges, lambda pairs, pair: (pairs[pair], " ".join(pair)))


@mistake("encode", "the merge that was learned last comes first", "Merge the pair that was learned first.")
def last_first(word, merges):
    return encode(word, merges, max)


@mistake("encode", "merged from left to right", "You merge the first learned pair that you meet in the word. Of all learned pairs in the word, the one that was"
         " learned first is merged.")
def leftmost(word, merges):
    tokens, order = list(word), [tuple(merge.split(" ")) for merge in merges]
    while True:
        found = next((i for i, pair in enumerate(zip(tokens, tokens[1:])) if pair in order), None)
        if found is None:
            return tokens
        tokens[found:found + 2] = [tokens[found] + tokens[found + 1]]


@mistake("encode", "the longest token wins", "That is WordPiece's rule: the longest known token from the left. BPE repeats its merges in the order of learning.")
def longest(word, merges):
    known, tokens = {merge.replace(" ", "") for merge in merges} | set(word), []
    while word:
        size = next(n for n in range(len(word), 0, -1) if word[:n] in known)
        tokens.append(word[:size])
        word = word[size:]
    return tokens


@mistake("encode", "only one merge", "Repeat until no learned pair is left in the word.")
def only_one(word, merges):
    tokens, order = list(word), [tuple(merge.split(" ")) for merge in merges]
    found = [order.index(pair) for pair in zip(tokens, tokens[1:]) if pair in order]
    return merged(tokens, order[min(found)]) if found else tokens


@mistake("encode", "merges go through the list once, one place each", "A pair is merged at every place of the word.")
def one_place(word, merges):
    tokens = list(word)
    for merge in merges:
        tokens = merged(tokens, tuple(merge.split(" ")), 1)
    return tokens


@mistake("encode", "no merges", "The tokens are still single characters.")
def characters(word, merges):
    return list(word)
