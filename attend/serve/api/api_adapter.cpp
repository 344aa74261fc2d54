#include "attend/serve/api/api_adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attend/base/error.h"

namespace attend::serve {

void refuse(int status, std::string why, std::string kind) { throw Refusal{status, std::move(why), std::move(kind)}; }

void charge(http::Exchange& exchange, std::size_t bytes) {
  if (!exchange.charge(bytes)) refuse(503, "requests occupy as much memory as they may; try again");
}

void Work::check_batch(std::size_t texts) const {
  if (texts > static_cast<std::size_t>(context.max_client_batch))
    refuse(413, fmt::format("batch size {} > maximum allowed batch size {}", texts, context.max_client_batch),
           "Validation");
}

namespace {

// Takes as long whatever the keys are, so that nobody learns one by the clock.
bool same(std::string_view a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 1 : b[i % b.size()]);
  return differs == 0;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      result += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

bool ApiContext::knows(std::string_view key) const {
  bool found = false;
  for (const std::string& one : keys) found = same(key, one) || found;
  return found;
}

bool ApiContext::lets_in(const http::Request& request) const {
  if (keys.empty()) return true;
  std::string_view given = request.header("authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (given.starts_with(kBearer)) given.remove_prefix(kBearer.size());
  if (given.empty()) given = request.header("x-api-key");
  return !given.empty() && knows(given);
}

ServedModelPtr choose(const ServedModels& models, const std::string& name, const Can& can) {
  if (!name.empty()) {
    ServedModelPtr named = models.find(name);
    return named && can(*named) ? named : nullptr;
  }
  for (ServedModelPtr& model : models.all())
    if (can(*model)) return model;
  return nullptr;
}

Json json_body(const http::Request& request) { return parse_json(request.body, "the body"); }

std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    const std::size_t equals = part.find('=');
    if (!part.empty())
      fields.emplace_back(unescaped(part.substr(0, equals)),
                          equals == std::string_view::npos ? "" : unescaped(part.substr(equals + 1)));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return fields;
}

void append_floats(std::string& json, std::span<const float> values) {
  json += '[';
  char buffer[32];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) json += ',';
    if (!std::isfinite(values[i])) {
      json += "null";
      continue;
    }
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, values[i]);
    json.append(buffer, end);
  }
  json += ']';
}

std::string floats_json(std::span<const float> values) {
  std::string json;
  append_floats(json, values);
  return json;
}

}  // namespace attend::serve
