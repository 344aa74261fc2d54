// A trained vocabulary as a tokenizer.json, laid out as Hugging Face's tokenizers writes it.
#include <fmt/core.h>

#include "attend/base/json.h"
#include "attend/text/learn/bpe_trainer.h"

namespace attend::text {

namespace {

std::string quoted(const std::string& text) { return Json(text).dump(); }

}  // namespace

std::string to_tokenizer_json(const TrainedBpe& trained) {
  const std::string byte_level =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
  // The space in front of the first word is put there always and taken away again, so that text comes back as it was,
  // also when it begins with a space. (ByteLevel's own add_prefix_space does neither.)
  const bool spaced = trained.add_prefix_space;
  const std::string normalizer = spaced ? R"({"type": "Prepend", "prepend": " "})" : "null";
  const std::string decoder = spaced ? fmt::format(R"({{"type": "Sequence", "decoders": [{}, {}]}})", byte_level,
                                                   R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})")
                                     : byte_level;
  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
  for (std::size_t id = 0; id < trained.special_tokens; ++id)
    out += fmt::format(R"({}    {{"id": {}, "content": {}, "single_word": false, "lstrip": false, "rstrip": false, )"
                       R"("normalized": false, "special": true}})",
                       id == 0 ? "\n" : ",\n", id, quoted(trained.tokens[id]));
  out += trained.special_tokens > 0 ? "\n  ],\n" : "],\n";
  out += fmt::format("  \"normalizer\": {},\n", normalizer);
  for (const char* part : {"pre_tokenizer", "post_processor"}) out += fmt::format("  \"{}\": {},\n", part, byte_level);
  out += fmt::format("  \"decoder\": {},\n", decoder);
  out += R"(  "model": {
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {)";
  for (std::size_t id = 0; id < trained.tokens.size(); ++id)
    out += fmt::format("{}      {}: {}", id == 0 ? "\n" : ",\n", quoted(trained.tokens[id]), id);
  out += "\n    },\n    \"merges\": [";
  for (std::size_t i = 0; i < trained.merges.size(); ++i) {
    const auto [a, b] = trained.merges[i];
    // Byte-level tokens have no spaces, so the older form serves every version of the library.
    out += fmt::format(
        "{}      {}", i == 0 ? "\n" : ",\n",
        quoted(trained.tokens[static_cast<std::size_t>(a)] + ' ' + trained.tokens[static_cast<std::size_t>(b)]));
  }
  return out += trained.merges.empty() ? "]\n  }\n}\n" : "\n    ]\n  }\n}\n";
}

}  // namespace attend::text
