#!/usr/bin/env python3
"""Writes the seeds of fuzz/corpus that are not text to be written by hand: fuzz/make_seeds.py

Small files of every kind, whole and broken in the ways that a reader names. What tools/fuzz --keep adds beside them was
found by the fuzzers."""
import base64
import gzip
import json
import pathlib
import struct

from image_seeds import all_seeds
from seed_files import BYTES, PIECES, SIZES, charsmap, field, header, number, pair_cache, parts, sentencepiece, tensors
from torch_seeds import STORAGES, global_, ordered_dict, text, torch_file, torch_storage, torch_tensor

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def save(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def seeds_of_json():
    save("json", "all", '\ufeff {"a": [1, -2, 3.5, 1e-7, -0.0, 18446744073709551615, 1e400x], "b": {"c": null}}'.replace("1e400x", "1e300"))
    save("json", "text", r'["\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00", "é東😀", true, false, null, {}, [], ""]')
    for name, text in {"deep": "[" * 70, "twice": '{"a":1,"a":2}', "half": r'"\ud83d"', "low": r'"\ude00"', "number": "-", "large": "1e999",
                       "tail": "1 2", "escape": r'"\x"', "open": '"abc', "word": "nul", "colon": '{"a" 1}', "name": "{1:2}",
                       "exponent": "[1E+5, 1e-400, 123456789012345678901234567890, -9223372036854775809]"}.items():
        save("json", name, text)
    save("json", "many", json.dumps({f"name {i}": i for i in range(40)}))
    save("json", "not_utf8", b'"\xff\xfe"')
    save("json", "pair_of_other", r'"\ud83dA"')
    save("json", "short_unit", r'"\u12"')


def seeds_of_safetensors():
    whole = {f"t{i}": (dtype, [2, 3], None) for i, dtype in enumerate(SIZES)}
    save("safetensors", "every_type", tensors(metadata={"format": "pt"}, **whole))
    save("safetensors", "scaled", tensors(a=("I8", [2, 3], None), a__scale=("F32", [2, 1], [1, 2]), b=("I8", [2, 3], None),
                                          b__scale=("F32", [1, 3], [1, 2, 3])))
    save("safetensors", "large_unsigned", tensors(a=("U64", [1], [2**63])))
    save("safetensors", "large_i64", tensors(a=("I64", [1], [2**40])))
    one = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    broken = {"no_object": {"a": 1}, "no_dtype": {"a": {}}, "dtype": {"a": {**one, "dtype": "F8"}}, "dtype_kind": {"a": {**one, "dtype": 1}},
              "shape": {"a": {**one, "shape": 1}}, "rank": {"a": {**one, "shape": [1] * 9}}, "extent": {"a": {**one, "shape": [-1]}},
              "overflow": {"a": {**one, "shape": [2**62, 2**62]}}, "offsets": {"a": {**one, "data_offsets": [0]}},
              "reversed": {"a": {**one, "data_offsets": [4, 0]}}, "span": {"a": {**one, "data_offsets": [0, 3]}},
              "outside": {"a": {**one, "shape": [2], "data_offsets": [0, 8]}}, "overlap": {"a": one, "b": one},
              "hole": {"a": {**one, "shape": [0], "data_offsets": [2, 2]}}, "metadata": {"__metadata__": []},
              "metadata_value": {"__metadata__": {"a": 1}}, "rest": {}}
    for name, entries in broken.items():
        save("safetensors", f"bad_{name}", header(entries, b"\0\0\0\0"))
    save("safetensors", "bad_json", header(b"[]"))
    save("safetensors", "bad_length", struct.pack("<Q", 2**40) + b"{}")
    save("safetensors", "truncated", struct.pack("<Q", 1000) + b"{}")
    save("safetensors", "pickle", b"PK\x03\x04 and more")
    save("safetensors", "pointer", b"version https://")
    save("safetensors", "short", b"1234")


def seeds_of_torch_file():
    every = [(dtype.lower(), dtype, [2, 3]) for dtype in STORAGES]
    save("torch_file", "every_type", torch_file(every))
    save("torch_file", "every_type_stream", torch_file(every, stream=True))
    save("torch_file", "tar", b"\0" * 257 + b"ustar" + b"\0" * 10)
    save("torch_file", "pointer", b"version https://git-lfs.github.com/spec/v1")
    save("torch_file", "neither", b"neither")
    save("torch_file", "number", b"\x80\x02K\x01.")
    save("torch_file", "zip64", torch_file([("a", "F32", [2])], wide=True))
    save("torch_file", "script", torch_file([("a", "F32", [2])], more={"a/constants.pkl": b"x"}))
    save("torch_file", "big", torch_file([("a", "F32", [2])], more={"a/byteorder": b"big"}))
    save("torch_file", "little", torch_file([("a", "F32", [2])], more={"a/byteorder": b"little"}))
    # Pickles alone, which the target puts into files: each with the bytes of storages 0 and 1.
    w = torch_tensor("F32", "0", 8, [2, 4])

    def put(name, pickle, **others):
        save("torch_file", name, parts(pickle=b"\x80\x02" + pickle + b".", **({"0": bytes(range(32)), "1": bytes(12)} | others)))
    put("dict", ordered_dict(w=w, t=torch_tensor("F32", "0", 8, [4, 2], [1, 4]), e=torch_tensor("F32", "0", 8, [3, 4], [0, 1]),
                             s=torch_tensor("F32", "0", 8, [], []), n=torch_tensor("F32", "0", 8, [0, 3])))
    put("deep", ordered_dict(w=torch_tensor("F32", "0", 8, [2, 2, 2, 1], [1, 4, 2, 9])))
    put("plain_dict", b"}" + text("w") + w + b"s")
    put("metadata", ordered_dict(w=w) + b"}" + text("_metadata") + ordered_dict() + b"sb")
    put("attribute", ordered_dict(w=w) + b"}" + text("x") + b"Nsb")
    put("parameter", ordered_dict(w=global_("torch._utils", "_rebuild_parameter") + b"(" + w + b"\x88" + ordered_dict() + b"tR"))
    put("untyped", ordered_dict(w=global_("torch._utils", "_rebuild_tensor_v3") + b"(" + torch_storage("UntypedStorage", "1", 12) +
                                b"K\x01" + b"K\x02\x85K\x01\x85\x89" + ordered_dict() + global_("torch", "uint16") + b"tR"))
    put("old_view", ordered_dict(w=torch_tensor("F32", "0", 8, [2], view=b"(" + text("v") + b"K\x01K\x04t")))
    put("none_view", ordered_dict(w=torch_tensor("F32", "0", 8, [2], view=b"N")))
    for wrapper in ("state_dict", "model_state_dict", "model", "other"):
        put(f"wrapper_{wrapper}", b"}(" + text(wrapper) + ordered_dict(w=w) + text("optimizer") + b"}(K\x00" + w + b"u" +
            text("epoch") + b"K\x03" + text("lr") + b"G" + bytes(8) + text("list") + b"](K\x01M\x01\x02J\x01\x02\x03\x04Ne" + b"u")
    put("memo", b"}(" + text("a") + b"q\x00" + w + b"r\x01\0\0\0" + text("b") + b"h\x01" + text("c") + b"j\x01\0\0\0u")
    put("protocol4", b"\x80\x04\x95" + struct.pack("<Q", 20) + b"}(\x8c\x01a\x94" + w + b"u")
    put("stack_global", b"}(" + text("a") + b"\x8c\x0bcollections\x8c\x0bOrderedDict\x93)R" + text("b") + w + b"u")
    put("python2", global_("collections", "OrderedDict") + b"(](](U\x01w" + w + b"ee" + b"tR")
    put("tuples", b"}(" + text("a") + b"K\x01\x85K\x01K\x02\x86N\x88\x89\x87\x86" + text("b") + w + b"u")
    put("long", b"}(" + text("a") + b"\x8a\x01\xff" + text("b") + b"\x8a\x00" + text("c") + b"\x8a\x0a" + bytes(10) + text("d") + w + b"u")
    put("cycle", b"}q\x00" + text("a") + b"h\x00s")
    put("bomb", b"}q\x00(" + text("a") + b"]q\x01(h\x01h\x01e" + text("w") + w + b"u")
    put("append", b"}(" + text("a") + b"]" + w + b"a" + text("b") + w + b"u")
    put("twice", b"}(" + text("a") + w + text("a") + w + b"u")
    put("tensor", w)
    put("list", b"]")
    for name, pickle in {"os": global_("os", "system") + b"(" + text("true") + b"tR", "call": global_("torch", "FloatStorage") + b")R",
                         "opcode": b"0", "storage": torch_storage("FloatStorage", "0", 8), "build": b"]}b", "mark": b"t", "get": b"h\x09",
                         "stride": torch_tensor("F32", "0", 8, [2], [-1 & 0xff] * 2), "beyond": torch_tensor("F32", "0", 8, [9]),
                         "missing": torch_tensor("F32", "7", 8, [2]), "size": torch_tensor("F32", "0", 9, [2]),
                         "expand": torch_tensor("F32", "0", 8, [255, 255, 255, 255], [0] * 4), "string": b"T\x02\0\0\0ab",
                         "text": b"X\xff\xff\xff\xff"}.items():
        put(f"bad_{name}", b"}(" + text("a") + pickle + text("w") + w + b"u")


def seeds_of_weights():
    def model(dtype, prefix="base__", norm=("weight", "bias"), **others):
        entries = {"base__dense__weight": (dtype, [8, 8], None), "base__dense__bias": (dtype, [8], None),
                   "base__self__query__weight": (dtype, [8, 8], None), "base__self__key__weight": (dtype, [8, 8], None),
                   "base__self__value__weight": (dtype, [8, 8], None), f"base__LayerNorm__{norm[0]}": (dtype, [8], None),
                   f"base__LayerNorm__{norm[1]}": (dtype, [8], None), "base__pooler__weight": (dtype, [8, 8], None),
                   "head__weight": (dtype, [2, 8], None)} | others
        return {name.replace("base__", prefix, 1): value for name, value in entries.items()}
    save("weights", "f32", tensors(**model("F32")))
    save("weights", "bf16_bare", tensors(**model("BF16", prefix="")))
    save("weights", "old_names", tensors(**model("F32", norm=("gamma", "beta"))))
    save("weights", "ours", tensors(**model("F32", base__in_proj_weight=("F32", [24, 8], None))))
    save("weights", "unused", tensors(**model("F32", extra=("F32", [1], None), h__attn__bias=("F32", [1], None))))
    save("weights", "int8", tensors(**model("F32", base__dense__weight=("I8", [8, 8], None),
                                            base__dense__weight__scale=("F32", [8, 1], [1] * 8))))
    save("weights", "int8_columns", tensors(**model("F32", base__dense__weight=("I8", [8, 8], None),
                                                    base__dense__weight__scale=("F32", [1, 8], [1] * 8))))
    for name, scale in {"none": {}, "shape": {"base__dense__weight__scale": ("F32", [8], [1] * 8)},
                        "negative": {"base__dense__weight__scale": ("F32", [8, 1], [-1] * 8)}}.items():
        save("weights", f"int8_scale_{name}", tensors(**model("F32", base__dense__weight=("I8", [8, 8], None), **scale)))
    save("weights", "int8_vector", tensors(**model("F32", base__dense__bias=("I8", [8], None), base__dense__bias__scale=("F32", [8, 1], [1] * 8))))
    save("weights", "head_of_another", tensors(**model("F32", head__weight=("F32", [3, 8], None))))
    save("weights", "shape", tensors(**model("F32", base__dense__bias=("F32", [9], None))))
    headless = model("F32")
    del headless["head__weight"], headless["base__pooler__weight"]
    save("weights", "headless", tensors(**headless))
    all_names = list(model("F32").items())
    shards = {"one__safetensors": tensors(**dict(all_names[:4])), "two__safetensors": tensors(**dict(all_names[4:]))}
    save("weights", "shards", parts(model__safetensors__index__json={"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}, **shards))
    for name, index in {"no_map": {}, "value": {"weight_map": {"a": 1}}, "folder": {"weight_map": {"a": "../one"}}, "empty": {"weight_map": {}}}.items():
        save("weights", f"index_{name}", parts(model__safetensors__index__json=index, **shards))
    save("weights", "pickle", parts(pytorch_model__bin="x"))
    save("weights", "pickles", parts(pytorch_model__bin__index__json="{}"))
    save("weights", "torch", parts(pytorch_model__bin=torch_file([("module.base.dense.bias", "F32", [8])])))
    save("weights", "torch_shards", parts(pytorch_model__bin__index__json={"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}},
                                          one__safetensors=torch_file([("base.dense.bias", "F32", [8])]),
                                          two__safetensors=torch_file([("base.LayerNorm.gamma", "F32", [8])], stream=True)))
    save("weights", "gguf", parts(model__gguf="GGUF"))
    save("weights", "none", parts(other=""))


def seeds_of_tokenizer():
    words = {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "Hello": 3}}
    text = "Hello, a  b\ta1b22 a-b 東京 é e\u0301 \u200bx\r\n don't A.B <s> ab"

    def put(name, model=words, text=text, **others):
        save("tokenizer", name, parts(tokenizer__json={"model": model, **others}, text=text))

    def each(kind, variants):
        for i, variant in enumerate(variants):
            put(f"{kind}_{i:02}", **{kind: variant})
    each("normalizer", [{"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel", "x")] + [
        {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "_"},
        {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"}, {"type": "Replace", "pattern": {"Regex": "[ab]+"}, "content": "é"},
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap("aaa\0")).decode()},
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap("\0")).decode()},
        {"type": "Precompiled", "precompiled_charsmap": "abc"}, {"type": "Precompiled", "precompiled_charsmap": "?"},
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": False}, {}, 1])
    put("precompiled_marks", normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()},
        text="b b\u0301 \u0600b \r\n \u0001 b\u0301\u0301\u0301\u0301\u0301\u0301")
    each("pre_tokenizer", [{"type": kind} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "FixedLength", "Digits", "Punctuation", "x")] + [
        {"type": "FixedLength", "length": 2}, {"type": "CharDelimiterSplit", "delimiter": "-"}, {"type": "CharDelimiterSplit", "delimiter": "--"},
        {"type": "Metaspace", "replacement": "ab"}, {"type": "Metaspace", "prepend_scheme": "x"}, {"type": "Metaspace", "prepend_scheme": "first"},
        {"type": "Metaspace", "split": False}, {"type": "Split", "pattern": {"String": ""}, "behavior": "Removed"},
        {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Metaspace", "prepend_scheme": "first"}]}] +
         [{"type": "Split", "pattern": {"String": "a"}, "behavior": behavior, "invert": bool(i % 2)}
          for i, behavior in enumerate(("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "x"))])
    regexes = ["(?i:A)|b", "(?i)hello", "[a-z&&b]", "[[a]", "[b-a]", "[a-\\s]", "[a-\\x62]", "[^\\W\\d]+", "[", "(", ")", "(?<a>b)", "(?=a)", "a(?!b)", "a++b", "a+?b",
               "(?:ab){2,3}", "a{0}", "a{101}", "a{,2}", "a{2", "(a*)*", "*", "^a|b$", "\\Aa\\z", ".", "\\n\\r\\t\\f\\v\\D\\S\\w", "\\p{L}\\P{N}\\p{X}",
               "\\u0061\\x{62}\\x{zz}", "\\q", "\\", "\\-", "(" * 40, "((((a{100}){100}){100}){100})", "(a|a)*c", "x*(?:a|b|ab)*$", "(?=(a+))b"]
    for i, regex in enumerate(regexes):
        put(f"regex_{i:02}", pre_tokenizer={"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}, text=text + "a" * 40)
    special = {"a": {"id": "a", "ids": [0, 1], "tokens": ["a", "b"]}}
    sequence, token = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "a", "type_id": 1}}
    template = {"type": "TemplateProcessing", "single": [token, sequence], "pair": [sequence, {"Sequence": {"id": "B", "type_id": 1}}, token], "special_tokens": special}
    each("post_processor", [template, {**template, "single": [sequence] * 65}, {**template, "single": [{"Sequence": {"id": "B", "type_id": 0}}]},
                            {**template, "single": [{"SpecialToken": {"id": "x", "type_id": 0}}]}, {**template, "single": []},
                            {**template, "special_tokens": {"a": {"ids": [1], "tokens": []}}},
                            {"type": "ByteLevel", "trim_offsets": True}, {"type": "ByteLevel", "trim_offsets": False}, {"type": "x"},
                            {"type": "BertProcessing", "sep": ["b", 2], "cls": ["a", 1]}, {"type": "BertProcessing", "sep": ["b"], "cls": 1},
                            {"type": "RobertaProcessing", "sep": ["b", 2], "cls": ["a", 1], "trim_offsets": True, "add_prefix_space": True},
                            {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]},
                            {"type": "Sequence", "processors": [template, {"type": "ByteLevel"}]}])
    each("decoder", [{"type": kind} for kind in ("ByteLevel", "Metaspace", "WordPiece", "CTC", "BPEDecoder", "ByteFallback", "Fuse", "x")] + [
        {"type": "Replace", "pattern": {"Regex": "[ab]"}, "content": "é"}, {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
        {"type": "Strip", "content": "a", "start": 1, "stop": 1}, {"type": "Strip", "content": "", "start": 1, "stop": 1},
        {"type": "Metaspace", "replacement": "", "prepend_scheme": "never"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}])
    added = {"id": 1, "content": "a", "single_word": False, "lstrip": True, "rstrip": True, "normalized": True, "special": False}
    each("added_tokens", [[added], [{**added, "single_word": True}], [added, added], [{**added, "id": 9}], [{**added, "content": "x" * 3000}],
                          [{**added, "content": ""}], [{**added, "content": "<s>", "id": 7, "normalized": False, "special": True}],
                          [{**added, "content": " ", "id": 8}], [{"id": -1, "content": "q"}], {}])
    put("added_normalized", added_tokens=[{**added, "content": "Hello", "id": 3}], normalizer={"type": "Lowercase"}, text="hello a Hello")
    short = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    each("truncation", [short, {**short, "direction": "Left"}, {**short, "strategy": "OnlyFirst"}, {**short, "strategy": "OnlySecond"},
                        {**short, "strategy": "x"}, {**short, "direction": "x"}, {**short, "max_length": 0}, {**short, "max_length": 100}])
    put("truncation_template", truncation={**short, "max_length": 1}, post_processor=template)
    pad = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 64, "pad_id": 9, "pad_type_id": 3, "pad_token": "p"}
    each("padding", [pad, {**pad, "direction": "Left"}, {**pad, "strategy": {"Fixed": 50}}, {**pad, "strategy": "x"}, {**pad, "pad_id": -1}])
    hexes = {f"<0x{byte:02X}>": 10 + byte for byte in range(256)}
    bpe = {"type": "BPE", "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"], "unk_token": "?"}
    pieces = [["?", 0], ["a", -1], ["b", -2.5], ["ab", -1.5]]
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": pieces}
    piece_bytes = {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1, "##b": 2, "東": 3}}
    for i, model in enumerate([
            bpe, {**bpe, "type": None}, {**bpe, "fuse_unk": True}, {**bpe, "ignore_merges": True}, {**bpe, "merges": [["a", "b"]]}, {**bpe, "merges": ["ab"]},
            {**bpe, "merges": [["a"]]}, {**bpe, "merges": ["a x"]}, {**bpe, "merges": ["b a"]}, {**bpe, "dropout": 0.5}, {**bpe, "unk_token": "x"}, {**bpe, "unk_token": None},
            {**bpe, "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>", "vocab": {"?": 0, "a": 1, "##b": 2, "ab": 3}, "merges": ["a ##b"]},
            {**bpe, "continuing_subword_prefix": "##"}, {**bpe, "byte_fallback": True, "vocab": bpe["vocab"] | hexes}, {**bpe, "byte_fallback": True},
            {**bpe, "vocab": {"a": 1, "b": 1}, "merges": []}, {**bpe, "vocab": {"a": 2**31}}, {**bpe, "vocab": {"a": 2**30}}, {**bpe, "vocab": {"a": -1}}, {**bpe, "vocab": []},
            unigram, {**unigram, "unk_id": None}, {**unigram, "unk_id": 9}, {**unigram, "vocab": [["a", "b"]]}, {**unigram, "vocab": pieces + [["a", 1]]}, {**unigram, "vocab": []},
            {**unigram, "vocab": {}}, {**unigram, "byte_fallback": True, "vocab": pieces + [[text, -3] for text in hexes]}, {**unigram, "byte_fallback": True},
            {"unk_id": 0, "vocab": pieces}, piece_bytes, {**piece_bytes, "unk_token": "x"}, {**piece_bytes, "max_input_chars_per_word": 2},
            {**piece_bytes, "continuing_subword_prefix": "@"}, {**words, "unk_token": "x"}, {"type": "x"}, {}, {"type": "WordLevel"}, 1]):
        put(f"model_{i:02}", model={key: value for key, value in model.items() if value is not None or key != "type"} if isinstance(model, dict) else model)
        if i in (0, 3, 14, 28, 31):
            put(f"model_{i:02}_bytes", model=model, pre_tokenizer={"type": "ByteLevel"})
    save("tokenizer", "not_utf8", parts(tokenizer__json={"model": words}, text=b"a\xff"))
    save("tokenizer", "list", "[]")


def seeds_of_sentencepiece():
    def put(name, data, text=None):
        save("sentencepiece", name, data if text is None else parts(spiece__model=data, text=text))
    put("bpe", sentencepiece(PIECES[:-1] + [("b▁a", -4.0), ("é", -1.0), ("x" * 600, -1.0, 4)], field(3, 2)), " ab  ba<pad>東 aab ")
    put("unigram_text", sentencepiece(PIECES, field(3, 1)), " ab  ba<pad>東 aab ")
    put("bytes_unigram", sentencepiece(PIECES + BYTES, field(35, 1)), "aé東 b")
    put("bytes_bpe", sentencepiece(PIECES[:-1] + BYTES, field(3, 2) + field(35, 1)), "aé東 b")
    put("suffix", sentencepiece(PIECES, field(24, 1) + field(44, "?"), field(3, 1) + field(4, 0) + field(5, 1)), "a b ")
    put("plain_spaces", sentencepiece(PIECES[:-1], field(3, 2), field(3, 0) + field(4, 0) + field(5, 0)), "a b ")
    put("rules", sentencepiece(PIECES, b"", field(2, charsmap())), "ab b a")
    put("rules_short", sentencepiece(PIECES, b"", field(2, b"ab")))
    put("rules_size", sentencepiece(PIECES, b"", field(2, struct.pack("<I", 6) + b"\0" * 8)))
    put("rules_end", sentencepiece(PIECES, b"", field(2, charsmap("a"))))
    put("rules_not_utf8", sentencepiece(PIECES, b"", field(2, charsmap()[:-2] + b"\xff\0")))
    put("rules_beyond", sentencepiece(PIECES, b"", field(2, charsmap("\0"))), "b")
    put("no_unknown", sentencepiece(PIECES[1:]))
    put("two_unknown", sentencepiece([PIECES[0], ("x", 0.0, 2)]))
    put("bytes_missing", sentencepiece(PIECES, field(35, 1)))
    put("piece_type", sentencepiece([("a", 0.0, 7)]))
    put("piece_empty", sentencepiece([("", 0.0, 1)]))
    put("piece_not_utf8", sentencepiece([(b"\xff", 0.0, 1)]))
    put("piece_score", sentencepiece([("a", float("nan"), 1)]))
    put("piece_twice", sentencepiece(PIECES + [("a", -1.0)]))
    put("bpe_unused", sentencepiece(PIECES, field(3, 2)))
    put("bpe_long", sentencepiece(PIECES[:-1] + [("x" * 600, -1.0)], field(3, 2)))
    put("model_type", sentencepiece(PIECES, field(3, 3)))
    put("surface_not_utf8", sentencepiece(PIECES, field(44, b"\xff")))
    put("denormalizer", sentencepiece(PIECES, rest=field(5, field(2, "x"))))
    put("denormalizer_empty", sentencepiece(PIECES, rest=field(5, field(2, "")) + number(7 << 3 | 1) + b"\0" * 8))
    put("no_pieces", field(2, b""))
    put("kind", b"\x0b")
    put("varint", b"\xff" * 11)
    put("tag", b"\0\0")
    put("length", field(1, "abc")[:-1])


def seeds_of_vocabulary():
    bert = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\nhello\n,\n"
    gpt2 = {"a": 0, "b": 1, "ab": 2, "<s>": 3, "</s>": 4, "<|endoftext|>": 5, "<unk>": 6, "<mask>": 7, "<pad>": 8}
    merges = "#version: 0.2\na b\r\n\n"
    model = sentencepiece(PIECES, field(3, 1))
    marian = {"</s>": 0, "<unk>": 1, "<pad>": 2, "▁a": 3, "b": 4, ">>fra<<": 5}
    save("vocabulary", "bert", bert)
    save("vocabulary", "bert_config", parts(vocab__txt=bert, tokenizer_config__json={"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}))
    save("vocabulary", "bert_no_line", parts(vocab__txt="[CLS]\n[SEP]\n", tokenizer_config__json={}))
    save("vocabulary", "not_utf8", b"a\n\xff\n")
    save("vocabulary", "bert_config_list", parts(vocab__txt=bert, tokenizer_config__json=[]))
    save("vocabulary", "gpt2", parts(vocab__json=gpt2, merges__txt=merges, text="abab <mask> b"))
    save("vocabulary", "gpt2_first", parts(encoder__json=gpt2, vocab__bpe=merges, tokenizer_config__json={"add_prefix_space": True}))
    save("vocabulary", "roberta", parts(vocab__json=gpt2, merges__txt=merges, config__json={"model_type": "roberta"}))
    save("vocabulary", "marian", parts(source__spm=model, target__spm=model, vocab__json=marian, text=">>fra<< ab<pad> a東"))
    save("vocabulary", "marian_no_target", parts(source__spm=model, vocab__json=marian))
    save("vocabulary", "marian_no_token", parts(source__spm=model, target__spm=model, vocab__json={"a": 0}))
    save("vocabulary", "model", parts(spiece__model=model))
    save("vocabulary", "model_bpe_twice", parts(spiece__model=sentencepiece(PIECES + [("a", -1.0)], field(3, 2))))
    save("vocabulary", "none", parts(other=""))
    save("vocabulary", "json", parts(tokenizer__json={"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}))


def seeds_of_labelled():
    def put(name, file, text, **options):
        save("labelled", name, parts(options__json=options, **{file: text}) if options else parts(**{file: text}))
    put("csv", "a__csv", '\ufefftext,label\r\n"a ""b""\nc",x\r\n,y\r\nonly\r\n\r\nb,\r\nc,z')
    put("csv_pair", "a__csv", "sentence1,sentence2,score,\nx,y,1,\n")
    put("csv_no_header", "a__csv", "a,b,x\nc,d,y\n", labelling=0, header=False, text_column="1", pair_column="2", label_column="3")
    put("csv_column", "a__csv", "text,label\na,b\n", labelling=0, text_column="no")
    put("csv_pair_column", "a__csv", "text,label\na,b\n", labelling=0, pair_column="no")
    put("csv_unknown", "a__csv", "a,b\n1,2\n")
    put("csv_open", "a__csv", 'text,label\n"a,b\n')
    put("csv_behind", "a__csv", 'text,label\n"a"b,c\n')
    put("csv_twice", "a__csv", "text,text\n1,2\n")
    put("csv_not_utf8", "a__csv", b"text,label\n\xff,x\na,b\n")
    put("csv_header_not_utf8", "a__csv", b"\xff,label\na,b\n")
    put("csv_header_only", "a__csv", "text,label\n")
    put("csv_none", "a__csv", "text,label\n,\nx\n")
    put("csv_empty", "a__csv", "")
    put("csv_answers", "a__csv", "question,context,answer,answer_start\nwho,it was me,me,7\nq,c,d,x\nq,it,it,\n,,,\n")
    put("tsv", "a__tsv", 'text\tlabel\n"a\tx\nb\ty\n')
    put("txt", "a__txt", "text\tlabel\na\tx\n", labelling=0)
    put("name", "a__bin", "text\tlabel\na\tx\n", labelling=0)
    put("format", "a__bin", "x", labelling=0, format="xml")
    put("jsonl", "a__jsonl", '{"text":"a","label":1,"pair":"b"}\n\n[1]\nx\n{"text":"a","label":null,"pair":"b"}\n{"text":2,"label":true,"pair":[]}\n')
    put("jsonl_not_utf8", "a__ndjson", b'{"text":"a","label":1}\n{"text":"\xff"}\n')
    put("jsonl_words", "a__jsonl", '\ufeff{"tokens":["a","b"],"tags":["I-X","I-X"]}\n{"tokens":["a"],"tags":[]}\n{"tokens":[1],"tags":["B-X"]}\n{"tokens":[null],"tags":[]}\n{}', labelling=1)
    put("jsonl_answers", "a__jsonl", '{"question":"who","context":"it was me","answers":{"text":["me"],"answer_start":[7]}}\n'
        '{"question":"who","context":"it was me","answers":[{"text":"me","answer_start":7},1]}\n{"question":"who","context":"it was me","answers":"me"}\n'
        '{"question":"who","context":"it was me","answers":{"text":["it",1],"answer_start":3}}\n{"question":"who","context":"c","answers":1}\n{"question":"who","context":"c"}', labelling=2)
    put("conll", "a__conll", "\ufeff-DOCSTART- -X- O\n\nEU NNP I-ORG\r\nsays VB O\n\na\tb c\tI-PER\nd\te\tI-PER\n\nalone\n\n", labelling=1)
    put("conll_columns", "a__conll", "a b c\n\na b\n", labelling=1, text_column="2", label_column="3")
    put("conll_column", "a__conll", "a b c\n", labelling=1, text_column="x")
    put("conll_not_utf8", "a__conll", b"a O\n\n\xff O\n", labelling=1)
    put("conll_task", "a__conll", "a O\n", labelling=0, format="conll")
    put("squad_task", "a__json", "{}", labelling=0, format="squad")
    squad = {"data": [{"paragraphs": [{"context": "it wäs me", "qas": [
        {"question": "who", "answers": [{"text": "me", "answer_start": 7}, {"text": "it", "answer_start": 0}]},
        {"question": "", "answers": []}, {"question": "x", "answers": [{"text": "no", "answer_start": -1}, {"text": 1}, 2]}, 3]}, 4]}, 5]}
    put("squad", "a__json", json.dumps(squad), labelling=2)
    put("squad_no_data", "a__json", "{}", labelling=2)
    put("squad_empty", "a__json", '{"data":1}', labelling=2)


def seeds_of_texts():
    save("parallel_text", "plain", parts(source="a b\nc\r\n\n a a a a\n\u3000\n", target="b\na c\nx\nb\nb\n"))
    save("parallel_text", "mark", parts(source="\ufeffa\nb", target="\ufeffb\na"))
    save("parallel_text", "mark_alone", parts(source="\ufeff", target="\ufeff"))
    save("parallel_text", "not_utf8", parts(source=b"a\n\xff\n", target=b"b\nb\n"))
    save("parallel_text", "lengths", parts(source="a\nb\nc\n", target="b\n"))
    save("parallel_text", "long_lines", parts(source="a " * 60 + "\nb\n", target="a\n" + "b " * 50))
    packed = gzip.compress(b"a b\nc a b c a b c\n", mtime=0)
    save("parallel_text", "gzip", parts(source=packed, target=packed))
    save("parallel_text", "gzip_members", parts(source=packed + packed, target=b"a\nb\nc\na"))
    save("parallel_text", "gzip_damaged", parts(source=packed[:12] + b"xxxx" + packed[16:], target="a\n"))
    save("parallel_text", "gzip_short", parts(source=packed[:-9], target="a\nb\n"))
    save("parallel_text", "gzip_head", parts(source=packed[:4], target="a\n"))
    save("parallel_text", "empty", parts(source="", target=""))


def seeds_of_caches():
    save("pair_cache", "two", pair_cache([([3, 4], [5]), ([6], [3, 3, 4])]))
    save("pair_cache", "wide", pair_cache([([3, 70000], [5])], id_bytes=4, id_limit=70001))
    save("pair_cache", "none", pair_cache([]))
    save("pair_cache", "id", pair_cache([([3, 9], [5])]))
    save("pair_cache", "empty_sentence", pair_cache([([], [5])]))
    save("pair_cache", "many", pair_cache([([3 + i % 4] * (1 + i % 5), [4] * (1 + i % 3)) for i in range(40)]))
    save("pair_cache", "cut", pair_cache([([3, 4], [5])])[:-8])
    save("pair_cache", "magic", b"x" * 300)
    ids = struct.pack("<12i", 4, 5, 6, 1, 4, 4, 1, 5, 1, -1, 1 << 30, 1)
    save("token_cache", "ids", b"attTOK03" + b"\0" * 32 + ids)
    save("token_cache", "short", b"attTOK03")
    save("token_cache", "text", parts(train__tokens="", text="a b c\n\na\n"))
    save("token_cache", "text_not_utf8", parts(train__tokens="", text=b"a b\n\xff\n"))
    save("token_cache", "text_empty", parts(train__tokens="", text="a"))


def seeds_of_runs():
    run = {"step": 3, "seconds": 1.5, "best_score": -1e300, "best_loss": 0.5, "best_step": 1, "validations_since_best": 2,
           "checkpoints": [1, 2], "since_log": {"steps": 1, "items": 64, "losses": [2.5, 1.0], "seconds": 0.5},
           "position": {"epoch": 0}}

    def state(run, size=128, **others):
        entries = {name: ("F32", [size], None) for name in ("master", "first_moment", "second_moment")} | others
        return tensors(metadata={"attend_run": json.dumps(run)}, **entries)
    save("run_state", "whole", state(run))
    save("run_state", "bf16", state(run, first_moment=("BF16", [128], None)))
    save("run_state", "ints", state(run, first_moment=("I32", [128], None)))
    save("run_state", "shape", state(run, size=15))
    save("run_state", "counters", state({**run, "step": "x"}))
    save("run_state", "other", tensors(master=("F32", [16], None)))
    log = '{"step":1,"loss":2.5}\n{"step":2,"loss":2.0}\nnot json\n{"step":3'
    save("run_log", "half", log)
    save("run_log", "look", parts(log__jsonl=log, look__jsonl='{"step":1}\n', recipe__json={"steps": 10}))
    save("run_log", "recipe", parts(log__jsonl=log, recipe__json=[]))
    save("run_log", "recipe_broken", parts(log__jsonl=log + "\n\n\n", recipe__json="{"))
    recipes = {"translation": {"task": "translation", "preset": "tiny", "source": "a", "target": "b", "out": "x"},
               "rnn": {"model": "rnn-plain", "hidden": 64}, "rnn_attention": {"model": "rnn-attention", "cell": "lstm"},
               "language": {"task": "language-model", "text": "a", "valid_text": ["b"], "width": 64, "heads": 4, "layers": 1},
               "masked": {"task": "masked-lm", "text": ["a", "b"], "model": "roberta"},
               "classify": {"task": "classify", "label_names": ["a", "b"], "steps": 5}, "regression": {"task": "classify", "regression": True},
               "tag": {"task": "tag", "regression": True}, "answer": {"task": "answer", "max_length": 7}, "model": {"model": "x"},
               "language_from": {"task": "language-model", "text": "a", "from": "x"}, "translation_from": {"from": "x", "dropout": 0.2},
               "images": {"task": "classify-images", "train": "a", "patch_size": 8, "width": 64, "mixup": 0.4},
               "images_resnet": {"task": "classify-images", "model": "resnet", "self_attention": 1, "config": {"depths": [1, 1]}},
               "images_swin": {"task": "classify-images", "model": "swin", "drop_path": 0.1, "epochs": 2},
               "images_mvit": {"task": "classify-images", "model": "mvit", "from": "x"},
               "images_width": {"task": "classify-images", "model": "resnet", "width": 8},
               "describe": {"task": "describe", "train": "a", "decoder": "show-tell", "decoder_config": {"hidden": 8}, "score_images": 0, "select": "loss"},
               "describe_resnet": {"task": "describe", "model": "resnet", "encoder": "x", "encoder_rate": 0},
               "describe_rate": {"task": "describe", "encoder_rate": 0}, "describe_mixup": {"task": "describe", "mixup": 1},
               "detect": {"task": "detect", "train": "a", "width": 64, "heads": 4, "config": {"backbone_config": {"depths": [1, 1, 1]}}},
               "detect_from": {"task": "detect", "from": "x", "norms": "frozen"}, "detect_width": {"task": "detect", "from": "x", "width": 64},
               "detect_backbone": {"task": "detect", "backbone": "x", "backbone_rate": 0}, "detect_both": {"task": "detect", "from": "x", "backbone": "y"},
               "draw": {"task": "draw", "train": "a", "image_size": 16, "attention_stage": 1, "config": {"generator_widths": [8, 8, 8]}},
               "draw_mean": {"task": "draw", "mean": "0.4"}, "draw_erasing": {"task": "draw", "erasing": 0.5},
               "key": {"lerning_rate": 1}, "kind": {"steps": "x"}, "preset": {"preset": 1}, "list": []}
    for name, recipe in recipes.items():
        save("recipe", name, json.dumps(recipe))


def seeds_of_verify():
    """Numbers of models as in fuzz/verify.cpp; what is expected is wrong, but asks for everything."""
    ids = ("I64", [2, 4], [1, 2, 3, 4, 5, 6, 7, 1])
    mask = ("I64", [2, 4], [1, 1, 1, 1, 1, 1, 0, 0])
    labels = ("I64", [2, 4], [1, 2, -100, 3, 4, 5, 6, 1])
    inputs = {"input_ids": ids, "attention_mask": mask}
    outputs = {"hidden__0": ("F32", [2, 4, 8], None), "attention__0": ("F32", [2, 1, 4, 4], None), "loss": ("F32", [], None),
               "last_hidden_state": ("F32", [2, 4, 8], None)}

    def put(name, model, generation=None, notes=None, **entries):
        files = {"model": bytes([model]), "expected__safetensors": tensors(**entries)}
        if generation is not None:
            files["generation_config__json"] = generation
        if notes is not None:
            files["case__json"] = notes
        save("verify", name, parts(**files))
    types = {"token_type_ids": ("I64", [2, 4], [0, 0, 1, 1, 0, 0, 1, 1])}
    put("bert", 0, **inputs, **types, **outputs, pooler_output=("F32", [2, 8], None))
    put("masked", 1, **inputs, **outputs, labels=labels, logits=("F32", [2, 4, 11], None),
        grad__bert__embeddings__word_embeddings__weight=("F32", [11, 8], [0] * 88))
    put("pretraining", 2, **inputs, **outputs, labels=labels, next_sentence_label=("I64", [2], [0, 1]),
        prediction_logits=("F32", [2, 4, 11], None), seq_relationship_logits=("F32", [2, 2], None))
    put("next", 3, **inputs, **outputs, labels=("I64", [2], [0, 1]), logits=("F32", [2, 2], None))
    put("classify", 4, **inputs, **outputs, labels=("I64", [2], [0, 2]), logits=("F32", [2, 3], [float("nan")] * 6))
    put("tag", 5, **inputs, **outputs, labels=("I64", [2, 4], [0, 1, 2, -100, 0, 1, 2, -100]), logits=("F32", [2, 4, 3], [0] * 24))
    put("answer", 6, **inputs, **outputs, start_positions=("I64", [2], [0, 1]), end_positions=("I64", [2], [1, 3]),
        start_logits=("F32", [2, 4], None), end_logits=("F32", [2, 4], None))
    put("roberta", 7, input_ids=("I64", [2, 4], [0, 2, 3, 4, 0, 6, 1, 1]), logits=("F32", [2, 4, 11], None))
    put("distilbert", 8, **inputs, **outputs)
    put("gpt2_bare", 10, **inputs, **outputs)
    put("gpt2", 11, **inputs, **outputs, logits=("F32", [2, 4, 11], None), grad__transformer__wte__weight=("F32", [11, 8], None))
    put("gpt2_labels", 11, **inputs, **outputs, labels=labels)
    put("gpt2_search", 11, {"eos_token_id": 1, "length_penalty": 0.8, "bad_words_ids": [[2], 3]}, input_ids=ids, greedy=("I64", [2, 6], None),
        beam2=("I64", [2, 6], None), beam2_lp06=("I64", [2, 6], None), beamx=("I64", [2, 6], None), beam2_x=("I64", [2, 6], None),
        beam3_lp=("I64", [2, 6], None), other=("I64", [2, 6], None))
    put("gpt2_prompt", 11, {"eos_token_id": 1, "max_length": 7}, input_ids=ids, prompt=("I64", [1, 2], [3, 4]), greedy=("I64", [1, 6], None))
    put("gpt2_no_end", 11, input_ids=ids, greedy=("I64", [2, 6], None))
    put("gpt2_long", 11, {"eos_token_id": 1}, input_ids=ids, greedy=("I64", [2, 3], None))
    recipe = ("AdamW lr 1e-3 betas .9 .95 eps 1e-8 weight_decay 0.1 on every parameter, clip global grad norm 1.0, "
              "lr = 1e-3*min(1,step/4), step from 1")
    steps = ("I64", [2, 2, 4], [1, 2, 3, 4] * 4)
    put("training", 11, None, {"optimizer": recipe}, input_ids=steps, losses=("F32", [2], None), final_wte=("F32", [11, 8], None))
    put("training_recipe", 11, None, {}, input_ids=steps, losses=("F32", [2], None))
    put("training_ids", 11, None, {"optimizer": recipe}, input_ids=ids, losses=("F32", [2], None))
    put("gpt2_classify", 12, **inputs, **outputs, labels=("I64", [2], [0, 1]), logits=("F32", [2, 2], None))
    marian = {"encoder_last": ("F32", [2, 4, 8], None), "logits": ("F32", [2, 4, 11], None), "loss": ("F32", [1], None),
              "encoder_attention__0": ("F32", [2, 1, 4, 4], None), "decoder_attention__0": ("F32", [2, 1, 4, 4], None),
              "cross_attention__0": ("F32", [2, 1, 4, 4], None)}
    put("marian", 13, **inputs, **marian, labels=labels, grad__model__shared__weight=("F32", [11, 8], None))
    put("marian_search", 13, {"forced_eos_token_id": 1, "max_length": 6}, **inputs, greedy=("I64", [2, 5], None), beam2=("I64", [2, 5], None))
    for number in (14, 15, 16, 17):
        put(f"unknown_{number}", number, input_ids=ids)
    put("rank", 0, input_ids=("I64", [4], None))
    put("mask_shape", 0, input_ids=ids, attention_mask=("I64", [2, 3], None), last_hidden_state=("F32", [1], None))
    put("mask_gap", 0, input_ids=ids, attention_mask=("I64", [2, 4], [1, 0, 1, 1, 1, 1, 1, 1]))
    put("nothing", 0, input_ids=ids)
    put("as_ints", 0, input_ids=ids, last_hidden_state=("I64", [2, 4, 8], None))


def seeds_of_images():
    for target, seeds in all_seeds().items():
        for name, data in seeds.items():
            save(target, name, data)


if __name__ == "__main__":
    for name, function in list(globals().items()):
        if name.startswith("seeds_of_"):
            function()
