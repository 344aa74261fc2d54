// Any bytes as a tokenizer.json, and a text that the fuzzer chooses as well through what it describes.
#include "attend/text/tokenizer.h"

#include "fuzz/shared/target.h"
#include "fuzz/shared/texts.h"

namespace attend::fuzz {

const Target kTarget = {.file = "tokenizer.json", .schema = R"json({
  "type": ["BPE", "WordPiece", "Unigram", "WordLevel", "Sequence", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents",
    "ByteLevel", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "ByteFallback", "Fuse", "Metaspace", "WordPiece", "x"],
  "normalizer": [null, {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"},
    {"type": "Prepend", "prepend": "_"}, {"type": "Strip", "strip_left": true, "strip_right": true}, {"type": "ByteLevel"},
    {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAAA"}, {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Nmt"}]}],
  "normalizers": [[{"type": "NFKC"}, {"type": "Lowercase"}], []],
  "pre_tokenizer": [null, {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}, {"type": "Digits", "individual_digits": true},
    {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "CharDelimiterSplit", "delimiter": "-"}, {"type": "Whitespace"},
    {"type": "Split", "pattern": {"Regex": "\\p{L}+|'s|[^\\s\\d]?(?=x)"}, "behavior": "MergedWithPrevious", "invert": true},
    {"type": "Split", "pattern": {"Regex": "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated"},
    {"type": "Split", "pattern": {"String": "a"}, "behavior": "Removed"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": true},
    {"type": "UnicodeScripts"}, {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "ByteLevel"}]}],
  "behavior": ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "x"],
  "Regex": ["(?i:a)|b", "[a-z&&[^b]]", "\\p{Lu}\\P{N}*", "(?:a|b){2,3}?", "a++b", "^a$", "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", "(?!\\S)", "\\x{1F600}", "(", "a{101}", "[b-a]"],
  "prepend_scheme": ["always", "first", "never"], "replacement": ["_", "\u2581", "", "ab"],
  "post_processor": [null, {"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]}, {"type": "ByteLevel", "trim_offsets": true},
    {"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 0], "trim_offsets": true, "add_prefix_space": false},
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
     "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "a", "type_id": 1}}],
     "special_tokens": {"a": {"id": "a", "ids": [0, 1], "tokens": ["a", "b"]}}}, {"type": "Sequence", "processors": [{"type": "ByteLevel"}]}],
  "decoder": [null, {"type": "ByteLevel"}, {"type": "WordPiece", "prefix": "##", "cleanup": true}, {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "Metaspace", "replacement": "_"}, {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": true}, {"type": "Strip", "content": "a", "start": 1, "stop": 1},
    {"type": "Replace", "pattern": {"String": "a"}, "content": " "}, {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}],
  "added_tokens": [[], [{"id": 0, "content": "a", "single_word": true, "lstrip": true, "rstrip": true, "normalized": true, "special": false}]],
  "truncation": [null, {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 1}, {"direction": "Left", "max_length": 3, "strategy": "OnlySecond", "stride": 0}],
  "strategy": ["LongestFirst", "OnlyFirst", "OnlySecond", "BatchLongest", {"Fixed": 7}], "direction": ["Left", "Right", "x"],
  "padding": [null, {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 4, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"}],
  "model": [{"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}, {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.5], ["b", -2]], "byte_fallback": false},
    {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "unk_token": "a", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true, "ignore_merges": true},
    {"type": "WordPiece", "vocab": {"a": 0, "b": 1, "##a": 2}, "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5}],
  "merges": [["a b"], [["a", "b"]], ["ab"]], "dropout": [null, 0.1], "byte_fallback": [true, false], "cleanup": [true, false],
  "@words": ["\\p{L}", "(?=", "(?!", "|", "[^", "]", "{2,3}", "\\s", "\\b", ".*", "(?:", ")", "\u2581", "##", "<0x41>", "\u0130", "\u0301", "\uac00", "\u6771", "\r\n", "  "]})json"};

void enter(const Input& input) {
  const auto tokenizer = text::Tokenizer::parse(input["tokenizer.json"], "input");
  tokenize(tokenizer, input.has("text") ? input["text"] : kText);
}

}  // namespace attend::fuzz
