// A tokenizer of a few words, for targets that need one but do not test it.
#pragma once

namespace attend::fuzz {

inline constexpr const char* kSmallTokenizer =
    R"({"normalizer": {"type": "Strip", "strip_left": true, "strip_right": true}, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "added_tokens": [{"id": 0, "content": "[CLS]", "special": true}, {"id": 1, "content": "[SEP]", "special": true},
                         {"id": 2, "content": "[MASK]", "special": true}],
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"[CLS]": 0, "[SEP]": 1, "[MASK]": 2, "?": 3, "a": 4, "b": 5, "c": 6}}})";

}  // namespace attend::fuzz
