"""The formats that fuzz/make_seeds.py writes seeds in: several files as one input, safetensors, pair caches, SentencePiece models."""
import json
import struct

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1,
         "BOOL": 1}


def parts(**files):
    """One input of several files; two underlines in a name are a dot."""
    pieces = []
    for name, data in files.items():
        data = json.dumps(data) if isinstance(data, (dict, list)) else data
        pieces.append(f"==== {name.replace('__', '.')}\n".encode() + (data if isinstance(data, bytes) else data.encode()))
    return b"\n".join(pieces)


def header(entries, block=b""):
    text = json.dumps(entries).encode() if not isinstance(entries, bytes) else entries
    return struct.pack("<Q", len(text)) + text + block


def tensors(metadata=None, **entries):
    """name=(dtype, shape, values or None): a whole file. Two underlines in a name are a dot."""
    listed, block = {}, b""
    if metadata is not None:
        listed["__metadata__"] = metadata
    for name, (dtype, shape, values) in entries.items():
        count = 1
        for extent in shape:
            count *= extent
        if values is None:
            values = [(7 * i) % 5 - 2 for i in range(count)]
        code = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I",
                "U16": "H", "U8": "B", "BOOL": "B", "BF16": "H"}[dtype]
        if code in "QIHB":
            values = [abs(value) for value in values]
        data = struct.pack(f"<{count}{code}", *values)
        listed[name.replace("__", ".")] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(block), len(block) + len(data)]}
        block += data
    return header(listed, block)


# ---- Hashes as attend/base/hashing.h makes them.

def fold(a, b):
    product = a * b
    return (product ^ (product >> 64)) & (2**64 - 1)


def hash_text(data):
    odd, mix = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
    state = len(data) * odd & (2**64 - 1)
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at:at + 8], "little")
        state = (fold(state ^ word, mix) + odd) & (2**64 - 1)
    return fold(state, odd)


def pair_cache(pairs, id_bytes=2, id_limit=7):
    """The file of attend/data/text/cache_format.h; pairs are (source ids, target ids)."""
    magic = struct.pack("<Q", 0x3173726961507461)
    bounds, ids = [0], []
    for pair in pairs:
        for side in pair:
            ids += side
            bounds.append(len(ids))
    group = struct.pack(f"<{len(bounds)}Q", *bounds) + struct.pack(f"<{len(ids)}{'H' if id_bytes == 2 else 'I'}", *ids)
    group += b"\0" * (-len(group) % 8)
    directory = struct.pack("<QQ", len(magic), hash_text(group)) if pairs else b""
    body = magic + (group if pairs else b"")
    sides = [[len(pair[side]) for pair in pairs] or [0] for side in (0, 1)]
    trailer = struct.pack("<9Q", 2, 0, 0, 0, 0, 0, 0, 0, 0)
    trailer += struct.pack("<9Q", len(pairs), len(pairs), 0, 0, 0, sum(sides[0]), sum(sides[1]), max(sides[0]), max(sides[1]))
    trailer += struct.pack("<5Q", id_bytes, id_limit, len(directory) // 16, len(body), hash_text(directory))
    return body + directory + trailer + struct.pack("<Q", hash_text(trailer))


# ---- SentencePiece's protocol buffers.

def number(value):
    data = b""
    while value >= 0x80:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    if isinstance(value, float):
        return number(tag << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(value)) + value


def piece(text, score=-1.0, kind=1):
    return field(1, field(1, text) + field(2, score) + field(3, kind))


def sentencepiece(pieces, trainer=b"", normalizer=b"", rest=b""):
    return b"".join(piece(*each) for each in pieces) + field(2, trainer) + field(3, normalizer) + rest


PIECES = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("▁", -1.0), ("▁a", -2.0), ("a", -3.0), ("b", -3.5), ("ab", -2.5),
          ("<pad>", 0.0, 4), ("unused", 0.0, 5)]
BYTES = [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]


def charsmap(rules="a\0"):
    """A trie of one rule: "b" becomes what stands first in rules."""
    units = [0] * 256
    units[0] = 1 << 10          # the root: its children are at 1 ^ byte
    at = 1 ^ ord("b")
    units[at] = ord("b") | 1 << 8 | (at ^ 200) << 10
    units[200] = 1 << 31        # a leaf: the place of the replacement
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + rules.encode()
