#include "attend/serve/api/libre.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/languages.h"
#include "attend/serve/api/libre_text.h"
#include "attend/serve/api/openapi.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace libre {
namespace {

std::vector<ServedModelPtr> translators(const ServedModels& models) {
  std::vector<ServedModelPtr> found;
  for (const ServedModelPtr& model : models.all())
    if (model->translation && !model->directions().empty()) found.push_back(model);
  return found;
}

struct Detected {
  std::string language;
  double confidence = 0;  // 0 to 100
};

// Languages that a model reads or writes. Each is known by its commonest words. Where those say nothing (a short text,
// a language without a list) a model's tokens do: it reads its own language in few of them, and none that is unknown.
double token_fit(const ServedModel& model, const std::string& text) {
  const text::Tokenizer& tokenizer = *model.tokenizer();
  const auto ids = tokenizer.encode_ids(text, {.add_special_tokens = false, .truncate = false, .pad = false});
  if (ids.empty()) return 0;
  const auto unknown = tokenizer.token_to_id(tasks::kUnknownToken);
  const auto count = static_cast<double>(ids.size());
  const double strange = unknown ? static_cast<double>(std::ranges::count(ids, *unknown)) / count : 0;
  // Four bytes a token and more are words it knows.
  return std::min(1.0, static_cast<double>(text.size()) / count / 4) * (1 - strange);
}

std::vector<Detected> detect(const ServedModels& models, std::string_view text) {
  const std::string fine = replace_invalid_utf8(text.substr(0, 2000));
  std::map<std::string, double> fits;  // of languages that can be translated from, as far as tokens can tell
  std::set<std::string> languages;
  for (const ServedModelPtr& model : translators(models)) {
    const double fit = std::pow(token_fit(*model, fine), 4);
    for (const models::Direction& direction : model->directions()) {
      double& known = fits[direction.source];
      known = std::max(known, fit);
      languages.insert({direction.source, direction.target});
    }
  }
  constexpr double kWords = 4;  // a common word in four counts as much as tokens that fit
  std::map<std::string, double> points;
  double sum = 0;
  for (const std::string& language : languages) {
    const auto fit = fits.find(language);
    const double words = common_words(language, fine);
    points[language] = kWords * std::max(words, 0.0) + (fit == fits.end() ? 0 : fit->second) * (words < 0 ? 1 : 0.25);
    sum += points[language];
  }
  std::vector<Detected> result;
  for (const bool source : {true, false})  // of equals, one that can be translated from
    for (const auto& [language, own] : points)
      if (fits.contains(language) == source)
        result.push_back({language, sum > 0 ? std::round(1000 * std::min(1.0, own) * own / sum) / 10 : 0});
  std::ranges::stable_sort(result, std::ranges::greater(), &Detected::confidence);
  return result;
}

Json detected_json(const Detected& one) { return {{"confidence", one.confidence}, {"language", one.language}}; }

// JSON, or a form with the same names.
Json fields_of(const http::Request& request) {
  Json fields = Json::object();
  for (const auto& [name, value] : form_fields(request.query)) fields[name] = value;
  if (request.body.empty()) return fields;
  const std::string& type = request.content_type;
  if (type.starts_with("application/x-www-form-urlencoded")) {
    for (const auto& [name, value] : form_fields(request.body)) fields[name] = replace_invalid_utf8(value);
    return fields;
  }
  const Json body = json_body(request);
  check(body.is_object(), "Invalid request: the body must be an object");
  fields.update(body);
  return fields;
}

std::string wanted(const Json& fields, const char* name) {
  const Json* value = http::field(fields, name);
  check(value && value->is_string() && !value->text().empty(), "Invalid request: missing {} parameter", name);
  return value->text();
}

std::int64_t count_of(const Json& fields, const char* name) {
  const Json* value = http::field(fields, name);
  if (!value) return 0;
  if (!value->is_string()) return http::whole(fields, name, 0);
  std::int64_t number = 0;
  for (const char c : value->text()) {
    check(c >= '0' && c <= '9' && number < 1000, "'{}' must be a whole number", name);
    number = number * 10 + (c - '0');
  }
  return number;
}

http::Response translate(const Json& request, const Work& work) {
  const Json* q = http::field(request, "q");
  check(q != nullptr, "Invalid request: missing q parameter");
  const bool batch = q->is_array();
  const std::vector<std::string> texts = texts_of(work, *q, "q");
  check(batch || !texts[0].empty(), "Invalid request: missing q parameter");
  const std::string target = wanted(request, "target"), format = http::word(request, "format", "text");
  std::string source = wanted(request, "source");
  check(format == "text" || format == "html", "{} format is not supported", format);
  const std::int64_t alternatives = count_of(request, "alternatives");
  check(alternatives >= 0 && alternatives <= 8, "'alternatives' must be 0 to 8, not {}", alternatives);
  Json detected = Json::array();
  if (source == "auto") {
    std::string all;
    for (const std::string& text : texts) all += text + '\n';
    const std::vector<Detected> found = detect(work.context.models, all);
    check(!found.empty(), "no languages are served");
    source = found[0].language;
    for (std::size_t i = 0; i < texts.size(); ++i) detected.push_back(detected_json(found[0]));
  }
  const auto models = translators(work.context.models);
  const auto found = std::ranges::find_if(models, [&](const ServedModelPtr& model) {
    return std::ranges::count(model->directions(), models::Direction{source, target}) > 0;
  });
  const auto speaks = [&](const std::string& code) {
    return std::ranges::any_of(models, [&](const auto& model) {
      return std::ranges::any_of(model->directions(),
                                 [&](const auto& way) { return way.source == code || way.target == code; });
    });
  };
  check(speaks(source), "{} is not supported", source);
  check(speaks(target), "{} is not supported", target);
  check(found != models.end() || source == target, "{} ({}) is not available as a target language from {} ({})",
        language_name(target), target, language_name(source), source);

  // All sentences of all texts are one request of the queue.
  std::vector<std::vector<TextPiece>> pieces;
  std::vector<std::string> sentences;
  for (const std::string& text : texts) {
    constexpr std::size_t kLetter = 64;  // bytes, at most, of a text that is all full stops, or all tags
    charge(*work.exchange, kLetter * text.size());
    pieces.push_back(work.piece(text.size(), [&] {
      const std::string fine = replace_invalid_utf8(text);
      return format == "html" ? html_pieces(fine) : plain_pieces(fine);
    }));
    for (const TextPiece& piece : pieces.back())
      if (piece.translated) sentences.push_back(piece.text);
  }
  const bool tagged = std::ranges::any_of(pieces, [](const std::vector<TextPiece>& text) {
    return std::ranges::any_of(text, [](const TextPiece& piece) { return !piece.elements.empty(); });
  });
  const tasks::TranslateOptions options{.beams = alternatives > 0 ? std::max<std::int64_t>(4, alternatives + 1) : 0,
                                        .n_best = alternatives + 1,
                                        .attention = tagged};
  std::vector<std::vector<tasks::Translation>> translated(sentences.size());
  if (found != models.end()) translated = translate_sentences(work, *(*found)->translation, sentences, options);
  translated.resize(sentences.size());
  Json all = Json::array(), others = Json::array();
  std::size_t next = 0;
  for (const std::vector<TextPiece>& text : pieces) {
    std::vector<std::string> versions(static_cast<std::size_t>(alternatives) + 1);
    for (const TextPiece& piece : text) {
      const std::vector<tasks::Translation>* own = piece.translated ? &translated[next++] : nullptr;
      for (std::size_t k = 0; k < versions.size(); ++k) {
        const tasks::Translation* one = own && !own->empty() ? &(*own)[std::min(k, own->size() - 1)] : nullptr;
        if (!own || format != "html")
          versions[k] += one ? one->text : piece.text;
        else
          versions[k] += one ? with_tags(piece.text, piece.elements, one->text, one->attention)
                             : with_tags(piece.text, piece.elements);
      }
    }
    all.push_back(versions[0]);
    Json rest = Json::array();
    for (std::size_t k = 1; k < versions.size(); ++k) rest.push_back(versions[k]);
    others.push_back(std::move(rest));
  }
  Json answer = Json::object();
  answer["translatedText"] = batch ? all : all[0];
  if (!detected.empty()) answer["detectedLanguage"] = batch ? detected : detected[0];
  if (alternatives > 0) answer["alternatives"] = batch ? others : others[0];
  return {.body = answer.dump()};
}

http::Response detect_language(const Json& fields, const Work& work) {
  Json list = Json::array();
  std::string all;
  const Json* q = http::field(fields, "q");
  check(q != nullptr, "Invalid request: missing q parameter");
  for (const std::string& text : texts_of(work, *q, "q")) all += text + '\n';
  for (const Detected& one : detect(work.context.models, all)) list.push_back(detected_json(one));
  return {.body = list.dump()};
}

// The key may be one of the fields.
ApiHandler with_fields(http::Response (*answer)(const Json& fields, const Work& work)) {
  return [answer](const ApiCall& call) {
    const Json fields = fields_of(call.request);
    if (!call.context().lets_in(call.request)) {
      const std::string key = http::word(fields, "api_key", http::word(fields, "apiKey", "").c_str());
      if (!call.context().knows(key))
        refuse(403, key.empty() ? "Please contact the server operator to get an API key" : "Invalid API key");
    }
    return answer(fields, call.work);
  };
}

http::Response languages(const ApiCall& call) {
  std::map<std::string, std::set<std::string>> pairs;
  for (const auto& model : translators(call.context().models))
    for (const models::Direction& direction : model->directions()) {
      pairs[direction.source].insert(direction.target);
      pairs[direction.target];
    }
  Json list = Json::array();
  for (const auto& [code, targets] : pairs) {
    std::set<std::string> own = targets;
    own.insert(code);  // a language becomes itself
    list.push_back({{"code", code},
                    {"name", language_name(code)},
                    {"targets", Json(std::vector<std::string>(own.begin(), own.end()))}});
  }
  return {.body = list.dump()};
}

http::Response frontend_settings(const ApiCall& call) {
  const auto models = translators(call.context().models);
  Json language = Json::object();
  const auto code = [](const std::string& one) -> Json { return {{"code", one}, {"name", language_name(one)}}; };
  language["source"] = models.empty() ? Json::object() : code(models[0]->directions()[0].source);
  language["target"] = models.empty() ? Json::object() : code(models[0]->directions()[0].target);
  return {.body = Json({{"apiKeys", !call.context().keys.empty()},
                        {"charLimit", -1},
                        {"filesTranslation", false},
                        {"frontendTimeout", 500},
                        {"keyRequired", !call.context().keys.empty()},
                        {"language", language},
                        {"suggestions", false},
                        {"supportedFilesFormat", Json::array()}})
                      .dump()};
}

http::Response specification(const ApiCall& call) {
  return {.body = openapi_json(call.context().version, call.context().routes)};
}

http::Response no_files(const ApiCall&) { refuse(403, "Files are not translated here"); }

}  // namespace
}  // namespace libre

void LibreTranslateApi::add_routes(ApiRoutes& routes) {
  add(routes,
      {"POST", "/translate", "Translates a text or a list of texts.",
       R"({"q": "I am a student.", "source": "en", "target": "fr", "format": "text", "alternatives": 0})"},
      libre::with_fields(libre::translate));
  add(routes, {"POST", "/detect", "Which of the served languages a text is in.", R"({"q": "Where is the station?"})"},
      libre::with_fields(libre::detect_language));
  add(routes, {"GET", "/languages", "Languages, and what each can become."}, libre::languages);
  add(routes, {"GET", "/frontend/settings", "What a page needs to know of the server."}, libre::frontend_settings);
  add(routes, {"GET", "/spec", "This file."}, libre::specification);
  add(routes, {"", "/translate_file"}, libre::no_files);
}

http::Response LibreTranslateApi::refused(const Refusal& refusal) const {
  return http::refused(refusal.status, refusal.why);
}

}  // namespace attend::serve
