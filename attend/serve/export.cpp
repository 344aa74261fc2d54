#include "attend/serve/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "attend/base/error.h"
#include "attend/serve/web_files.h"

namespace attend::serve {

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) result += i + j > bytes.size() ? '=' : kDigits[word >> (18 - 6 * j) & 63];
  }
  return result;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  check(at != std::string::npos, "export: the page has no {}", what);
  text.replace(at, what.size(), by);
}

// JSON inside <script>: nothing in it may end the element.
std::string script_json(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace), result;
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string exported_page(Api& api, const std::string& text) {
  const Json result = api.translate({{"text", text}});
  Json data = {{"model", api.model()},
               {"text", text},
               {"result", result},
               {"unordered", api.translate({{"text", text}, {"ablation", {{"positions", false}}}})}};
  if (const Json& attention = result.at("attention"); !attention.empty() && attention.at(0).at("stack") == "encoder") {
    const Json& last = attention.back();
    const Json where = {{"text", text},
                        {"target", result.at("target").at("ids")},
                        {"stack", last.at("stack")},
                        {"kind", last.at("kind")},
                        {"layer", last.at("layer")},
                        {"head", 0},
                        {"token", 0}};
    data["trace"] = {{"where", where}, {"steps", api.trace(where)}};
  }
  std::string page(find_web_file("index.html")->content);
  Json imports = Json::object();
  for (const WebFile& file : web_files())
    if (file.name.ends_with(".js"))
      imports["look/" + std::string(file.name.substr(0, file.name.size() - 3))] =
          "data:text/javascript;base64," + base64(file.content);
  const std::size_t map = page.find("<script type=\"importmap\">"), end = page.find("</script>", map);
  check(map != std::string::npos && end != std::string::npos, "export: the page has no import map");
  page.replace(map, end - map,
               fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n<script type=\"importmap\">{}",
                           script_json(data), script_json({{"imports", imports}})));
  replace(page, "<link rel=\"stylesheet\" href=\"style.css\">",
          fmt::format("<style>{}</style>", find_web_file("style.css")->content));
  return page;
}

}  // namespace attend::serve
