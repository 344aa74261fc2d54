// JSON values as text.
#include <fmt/core.h>

#include <cmath>

#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"

namespace attend {

namespace {

enum class Characters { all, ascii };

void append_escape(std::string& out, std::uint32_t unit) { out += fmt::format("\\u{:04x}", unit); }

void append_character(std::string& out, char32_t c, Characters keep) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (c >= 0x20 && (c < 0x7F || keep == Characters::all)) return append_utf8(out, c);
  if (c < 0x10000) return append_escape(out, c);
  append_escape(out, 0xD800 + ((c - 0x10000) >> 10));
  append_escape(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
}

void append_string(std::string& out, std::string_view text, Characters keep) {
  if (find_invalid_utf8(text)) return append_string(out, replace_invalid_utf8(text), keep);
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\')
      out += text[at++];
    else
      append_character(out, next_character(text, at), keep);
  }
  out += '"';
}

void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";  // so that it reads back as a real number
}

void append_value(std::string& out, const Json& json, int indent, int level) {
  const auto line = [&](int depth) {
    if (indent >= 0) out += '\n', out.append(static_cast<std::size_t>(indent * depth), ' ');
  };
  switch (json.type()) {
    case Json::Type::null:
      out += "null";
      break;
    case Json::Type::boolean:
      out += json.get<bool>() ? "true" : "false";
      break;
    case Json::Type::negative:
      fmt::format_to(std::back_inserter(out), "{}", json.get<std::int64_t>());
      break;
    case Json::Type::natural:
      fmt::format_to(std::back_inserter(out), "{}", json.get<std::uint64_t>());
      break;
    case Json::Type::real:
      append_real(out, json.get<double>());
      break;
    case Json::Type::string:
      append_string(out, json.text(), Characters::all);
      break;
    default:
      const bool object = json.is_object();
      out += object ? '{' : '[';
      for (const Json* item = json.begin(); item != json.end(); ++item) {
        if (item != json.begin()) out += ',';
        line(level + 1);
        if (object) {
          append_string(out, json.name_of(item), Characters::all);
          out += indent >= 0 ? ": " : ":";
        }
        append_value(out, *item, indent, level + 1);
      }
      if (!json.empty()) line(level);
      out += object ? '}' : ']';
  }
}

}  // namespace

std::string Json::dump(int indent) const {
  std::string out;
  append_value(out, *this, indent, 0);
  return out;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  std::string out;
  append_string(out, name.substr(0, kLongest), Characters::ascii);  // no terminal controls in a message
  return out + (name.size() > kLongest ? "..." : "");
}

}  // namespace attend
