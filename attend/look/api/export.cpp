#include "attend/look/api/export.h"

#include <fmt/core.h>

#include <string_view>

#include "attend/base/base64.h"
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/look/api/web_files.h"

namespace attend::look {

namespace {

void replace(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  check(at != std::string::npos, "export: the page has no {}", what);
  text.replace(at, what.size(), by);
}

// JSON inside <script>: nothing in it may end the element.
std::string script_json(const Json& json) {
  std::string text = json.dump(), result;
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

// The page with all its files in it, and before its scripts what head says.
std::string page_with(const std::string& head) {
  std::string page(find_web_file("index.html")->content);
  Json imports = Json::object();
  for (const WebFile& file : web_files())
    if (file.name.ends_with(".js"))
      imports["look/" + std::string(file.name.substr(0, file.name.size() - 3))] =
          "data:text/javascript;base64," + base64(file.content);
  const std::size_t map = page.find("<script type=\"importmap\">"), end = page.find("</script>", map);
  check(map != std::string::npos && end != std::string::npos, "export: the page has no import map");
  page.replace(map, end - map,
               fmt::format("{}<script type=\"importmap\">{}", head, script_json({{"imports", imports}})));
  replace(page, "<link rel=\"stylesheet\" href=\"style.css\">",
          fmt::format("<style>{}</style>", find_web_file("style.css")->content));
  return page;
}

std::string page_about(const Json& data) {
  return page_with(fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", script_json(data)));
}

}  // namespace

const std::string& whole_page() {
  static const std::string kPage = page_with("");
  return kPage;
}

std::string exported_page(Api& api, const std::string& text) {
  const Json model = api.model(), result = parse_json(api.inspect({{"text", text}}), "export");
  Json data = {{"model", model}, {"text", text}, {"result", result}};
  if (model.at("layers").get<bool>()) {
    data["positions"] = api.positions();
    data["unordered"] = parse_json(api.inspect({{"text", text}, {"ablation", {{"positions", false}}}}), "export");
    const Json& last = model.at("attention").back();
    const Json where = {{"text", text},
                        {"target", result.at("target").at("ids")},
                        {"stack", last.at("stack")},
                        {"kind", last.at("kind")},
                        {"layer", last.at("layer")},
                        {"head", 0},
                        {"token", 0}};
    data["trace"] = {{"where", where}, {"steps", api.trace(where)}};
    data["output"] = api.output(where);
  }
  return page_about(data);
}

std::string exported_image(Api& api, ImageQuestions& images, const std::string& name) {
  Json data = {{"model", api.model()}, {"image", name}};
  data.update(images.exported(name));
  return page_about(data);
}

}  // namespace attend::look
