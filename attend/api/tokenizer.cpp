#include "attend/api/tokenizer.h"

#include "attend/text/tokenizer.h"

namespace attend {

Tokenizer::Tokenizer(const std::filesystem::path& path) : inner_(new text::Tokenizer(text::Tokenizer::load(path))) {}
Tokenizer::Tokenizer(std::shared_ptr<const text::Tokenizer> inner) : inner_(std::move(inner)) {}

Encoding Tokenizer::encode(std::string_view text) const { return inner_->encode(text); }
Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second) const {
  return inner_->encode_pair(first, second);
}
std::vector<std::int32_t> Tokenizer::encode_ids(std::string_view text) const { return inner_->encode_ids(text); }
std::string Tokenizer::decode(std::span<const std::int32_t> ids) const { return inner_->decode(ids); }

std::size_t Tokenizer::vocabulary_size() const { return inner_->vocabulary_size(); }
std::optional<std::int32_t> Tokenizer::token_to_id(std::string_view token) const { return inner_->token_to_id(token); }
std::optional<std::string> Tokenizer::id_to_token(std::int32_t id) const {
  const auto token = inner_->id_to_token(id);
  return token ? std::optional<std::string>(*token) : std::nullopt;
}

}  // namespace attend
