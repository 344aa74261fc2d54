#include "attend/serve/api/hugging_face.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace hugging_face {
namespace {

struct Call {
  const ServedModel& model;
  const Json& inputs;
  const Work& work;
  Json parameters = Json::object();
};

TextOptions cutting() { return {.truncate = true}; }  // as pipelines do

// A list for each text; one text is a list of one.
Json classify(const Call& call) {
  std::vector<TextPair> texts;
  if (call.inputs.is_array()) call.work.check_batch(call.inputs.size());
  const auto view = [](const Json& value, const char* name) -> std::string_view {
    check(value.is_string(), "'{}' must be a string", name);
    return value.text();
  };
  const auto add = [&](const Json& item) {
    if (!item.is_object()) return texts.push_back({view(item, "inputs")});
    texts.push_back({view(item["text"], "text")});
    if (item.contains("text_pair")) texts.back().second = view(item["text_pair"], "text_pair");
  };
  if (call.inputs.is_array())
    for (const Json& item : call.inputs) add(item);
  else
    add(call.inputs);
  check(!texts.empty(), "'inputs' cannot be empty");
  TextTimes times;
  Json result = Json::array();
  for (std::vector<float>& logits : classify_texts(call.work, call.model, texts, cutting(), times)) {
    const tasks::Classified found =
        call.model.classifier->classified(std::move(logits), http::whole(call.parameters, "top_k", 0));
    Json labels = Json::array();
    for (const tasks::ClassLabel& label : found.labels)
      labels.push_back({{"label", label.label}, {"score", static_cast<double>(label.probability)}});
    if (found.labels.empty()) labels.push_back({{"label", "LABEL_0"}, {"score", static_cast<double>(found.number)}});
    result.push_back(std::move(labels));
  }
  return result;
}

// "B-PER", "I-PER" -> "PER"
std::string entity_of(const std::string& label) {
  return label.size() > 2 && label[1] == '-' ? label.substr(2) : label;
}

Json entity_json(const std::string& name, const char* key, double score, const std::string& word, text::Span span) {
  Json json = Json::object();
  json[key] = name;
  json["score"] = score, json["word"] = word, json["start"] = span.begin, json["end"] = span.end;
  return json;
}

Json tagged(const Call& call, const std::string& given, bool grouped) {
  const ServedModel& model = call.model;
  const std::string line = replace_invalid_utf8(given);
  TextTimes times;
  const tasks::EncoderText read = read_text(call.work, model, {line}, cutting(), times);
  const tasks::TaggedLine words =
      model.tagger->tagged(read, model.logits->run(std::span(&read, 1), call.work.stop)[0], line);
  Json list = Json::array();
  for (std::size_t i = 0; i < words.size();) {
    if (words[i].label == "O") {
      ++i;
      continue;
    }
    if (!grouped) {
      list.push_back(entity_json(words[i].label, "entity", static_cast<double>(words[i].probability), words[i].word,
                                 words[i].span));
      ++i;
      continue;
    }
    // Words of one name: "B-" begins another.
    const std::string entity = entity_of(words[i].label);
    const std::size_t first = i;
    double sum = 0;
    do sum += static_cast<double>(words[i++].probability);
    while (i < words.size() && entity_of(words[i].label) == entity && !words[i].label.starts_with("B-"));
    const text::Span span{words[first].span.begin, words[i - 1].span.end};
    list.push_back(entity_json(entity, "entity_group", sum / static_cast<double>(i - first),
                               tasks::characters_of(line, span), span));
  }
  return list;
}

Json tag(const Call& call) {
  const bool grouped = http::word(call.parameters, "aggregation_strategy", "simple") != "none";
  if (call.inputs.is_string()) return tagged(call, call.inputs.text(), grouped);
  Json all = Json::array();
  for (const std::string& text : texts_of(call.work, call.inputs, "inputs")) all.push_back(tagged(call, text, grouped));
  return all;
}

// A question of many tokens leaves little room for its context, which then is read in many windows.
std::vector<tasks::EncoderText> windows_of(const Call& call, const std::string& question, const std::string& context,
                                           const tasks::AnswerOptions& options) {
  constexpr std::size_t kReading = 128, kToken = 64;  // bytes: of a letter, and of a token of a window
  const Charged reading(*call.work.exchange, kReading * (question.size() + context.size()));
  return call.work.piece(question.size() + context.size(), [&] {
    const tasks::EncoderReader& reader = *call.model.reader();
    const auto limit = static_cast<std::size_t>(reader.longest());
    const std::size_t asked = reader.read_all(question).ids.size(), room = limit > asked ? limit - asked : 1;
    const std::size_t step = std::max<std::size_t>(room - std::min<std::size_t>(options.overlap, room / 2), 1);
    charge(*call.work.exchange, (context.size() / step + 1) * limit * kToken);
    return tasks::answer_windows(reader, question, context, options.overlap);
  });
}

Json answered(const Call& call) {
  check(call.inputs.is_object(), "'inputs' must be an object with question and context");
  const std::string question = replace_invalid_utf8(text_of(call.inputs["question"], "question")),
                    context = replace_invalid_utf8(text_of(call.inputs["context"], "context"));
  const std::int64_t top = http::whole(call.parameters, "top_k", 1);
  check(top >= 1 && top <= 100, "'top_k' must be 1 to 100, not {}", top);
  const tasks::AnswerOptions options{
      .top_k = top, .max_tokens = std::clamp<std::int64_t>(http::whole(call.parameters, "max_answer_len", 15), 1, 512)};
  const std::vector<tasks::EncoderText> windows = windows_of(call, question, context, options);
  std::size_t spans = 0;
  for (const tasks::EncoderText& window : windows) spans += window.second.size();
  constexpr std::size_t kSpan = 96;  // bytes of a place where an answer may begin and end, while they are sorted
  const Charged scored(*call.work.exchange, spans * static_cast<std::size_t>(options.max_tokens) * kSpan);
  const auto logits = call.model.windows->run(windows, call.work.stop);
  Json list = Json::array();
  const auto answers =
      call.work.piece(spans, [&] { return tasks::Answerer::answers(windows, logits, context, options); });
  for (const tasks::Answer& answer : answers)
    list.push_back({{"score", static_cast<double>(answer.score)},
                    {"start", answer.span.begin},
                    {"end", answer.span.end},
                    {"answer", answer.text}});
  if (list.empty()) list.push_back({{"score", 0.0}, {"start", 0}, {"end", 0}, {"answer", ""}});
  return top == 1 ? list[0] : list;
}

Json filled(const Call& call, const std::string& text) {
  const tasks::Filler& filler = *call.model.filler;
  check(text.find(filler.mask()) != std::string::npos, "No mask_token ({}) found on the input", filler.mask());
  const std::int64_t top = http::whole(call.parameters, "top_k", 5);
  check(top >= 1 && top <= 1000, "'top_k' must be 1 to 1000, not {}", top);
  TextTimes times;
  const tasks::EncoderText read = read_text(call.work, call.model, {text}, cutting(), times);
  const auto places = static_cast<std::size_t>(std::ranges::count(read.tokens, filler.mask()));
  const auto vocabulary = static_cast<std::size_t>(call.model.tokenizer()->id_limit());
  charge(*call.work.exchange,
         places * vocabulary * 16 + places * static_cast<std::size_t>(top) * 4 * (text.size() + 256));
  const tasks::FilledLine line = filler.filled(call.model.logits->run(std::span(&read, 1), call.work.stop)[0], top);
  Json masks = Json::array();
  for (std::size_t mask = 0; mask < line.size(); ++mask) {
    Json list = Json::array();
    for (std::size_t choice = 0; choice < line[mask].size(); ++choice)
      list.push_back({{"score", static_cast<double>(line[mask][choice].probability)},
                      {"token", line[mask][choice].id},
                      {"token_str", line[mask][choice].token},
                      {"sequence", filler.complete(text, line, mask, choice)}});
    masks.push_back(std::move(list));
  }
  return masks.size() == 1 ? masks[0] : masks;
}

Json fill(const Call& call) {
  if (call.inputs.is_string()) return filled(call, call.inputs.text());
  Json all = Json::array();
  for (const std::string& text : texts_of(call.work, call.inputs, "inputs")) all.push_back(filled(call, text));
  return all;
}

// One vector for one text, a list of them for a list.
std::string features(const Call& call) {
  TextTimes times;
  const std::vector<std::string> texts = texts_of(call.work, call.inputs, "inputs");
  check(!texts.empty(), "'inputs' cannot be empty");
  TextOptions options = cutting();
  if (http::field(call.parameters, "normalize")) options.normalize = http::flag(call.parameters, "normalize", false);
  const auto vectors = embed_texts(call.work, call.model, texts, options, times);
  if (call.inputs.is_string()) return floats_json(vectors[0]);
  std::string json = "[";
  for (const std::vector<float>& vector : vectors) {
    if (json.size() > 1) json += ',';
    append_floats(json, vector);
  }
  return json + "]";
}

Json similarity(const Call& call) {
  check(call.inputs.is_object(), "'inputs' must be an object with source_sentence and sentences");
  std::vector<std::string> texts = texts_of(call.work, call.inputs["sentences"], "sentences");
  texts.insert(texts.begin(), text_of(call.inputs["source_sentence"], "source_sentence"));
  TextTimes times;
  const auto vectors = embed_texts(call.work, call.model, texts, cutting(), times);
  Json list = Json::array();
  for (std::size_t i = 1; i < vectors.size(); ++i) list.push_back(tasks::cosine(vectors[0], vectors[i]));
  return list;
}

Json translate(const Call& call) {
  std::vector<std::string> texts;
  for (const std::string& text : texts_of(call.work, call.inputs, "inputs"))
    texts.push_back(replace_invalid_utf8(text));
  const std::int64_t beams = http::whole(call.parameters, "num_beams", 0);  // 0: as the model says
  check(beams >= (http::field(call.parameters, "num_beams") ? 1 : 0) && beams <= 32,
        "'num_beams' must be 1 to 32, not {}", beams);
  const auto found = translate_sentences(call.work, *call.model.translation, texts, {.beams = beams});
  Json list = Json::array();
  for (const std::vector<tasks::Translation>& translations : found) {
    Json one = Json::object();
    one["translation_text"] = translations.empty() ? "" : translations[0].text;
    list.push_back(std::move(one));
  }
  return list;
}

Json generate(const Call& call) {
  const Json& p = call.parameters;
  GenerationRequest request{.prompt = text_of(call.inputs, "inputs"),
                            .max_tokens = http::whole(p, "max_new_tokens", 20)};
  request.temperature = static_cast<float>(http::real(p, "temperature", 1));
  if (!http::flag(p, "do_sample", http::field(p, "temperature") != nullptr || http::field(p, "top_p") != nullptr))
    request.temperature = 0;
  request.top_k = std::max<std::int64_t>(http::whole(p, "top_k", 0), 0);
  request.top_p = static_cast<float>(http::real(p, "top_p", 1));
  request.repetition_penalty = static_cast<float>(http::real(p, "repetition_penalty", 1));
  request.seed = static_cast<std::uint64_t>(http::whole(p, "seed", 1));
  request.samples = http::whole(p, "num_return_sequences", 1);
  if (const Json* stop = http::field(p, "stop")) request.stops = texts_of(*stop, "stop");
  check(request.samples >= 1 && request.samples <= 128, "'num_return_sequences' must be 1 to 128, not {}",
        request.samples);
  const std::int64_t longest = call.model.generation->generator().model().facts().max_length;
  constexpr std::int64_t kToken = 64;  // bytes, at most, as text, as JSON, and on its way
  charge(*call.work.exchange, static_cast<std::size_t>(request.samples) *
                                  (static_cast<std::size_t>(longest * kToken) + 3 * request.prompt.size()));
  Json list = Json::array();
  const auto answers = call.model.generation->run(std::span(&request, 1), call.work.stop);
  for (const GeneratedText& text : answers[0].texts) {
    Json one = Json::object();
    one["generated_text"] = (http::flag(p, "return_full_text", true) ? request.prompt : "") + text.text;
    list.push_back(std::move(one));
  }
  return list;
}

std::string dumped_by(Json (*answer)(const Call&), const Call& call) { return answer(call).dump(); }

std::string task_of(const ServedModel& model) {
  static const std::map<catalogue::Task, const char*> kTasks = {
      {catalogue::Task::translate, "translation"},    {catalogue::Task::generate, "text-generation"},
      {catalogue::Task::fill, "fill-mask"},           {catalogue::Task::classify, "text-classification"},
      {catalogue::Task::tag, "token-classification"}, {catalogue::Task::answer, "question-answering"},
      {catalogue::Task::embed, "feature-extraction"}, {catalogue::Task::classify_images, "image-classification"},
      {catalogue::Task::detect, "object-detection"},  {catalogue::Task::describe, "image-to-text"}};
  const auto found = kTasks.find(model.task());
  return found == kTasks.end() ? "" : found->second;
}

std::string answer_text(const std::string& task, const Call& call) {
  const ServedModel& model = call.model;
  if ((task == "text-classification" || task == "sentiment-analysis") && model.classifier)
    return dumped_by(classify, call);
  if ((task == "token-classification" || task == "ner") && model.tagger) return dumped_by(tag, call);
  if (task == "question-answering" && model.answerer) return dumped_by(answered, call);
  if (task == "fill-mask" && model.filler) return dumped_by(fill, call);
  if (task == "feature-extraction" && model.states) return features(call);
  if (task == "sentence-similarity" && model.states) return dumped_by(similarity, call);
  if (task == "translation" && model.translation) return dumped_by(translate, call);
  if (task == "text-generation" && model.generation) return dumped_by(generate, call);
  refuse(400, fmt::format("the model {} does {}, not {}", model.name(), task_of(model), task));
}

// Clients do not always say which task they mean; what they send does.
std::string guessed(const ServedModel& model, const Json& inputs) {
  if (model.states && inputs.is_object() && inputs.contains("sentences")) return "sentence-similarity";
  if (model.filler && inputs.is_string() && inputs.text().find(model.filler->mask()) == std::string::npos)
    return "feature-extraction";
  if (model.filler && inputs.is_array() && !inputs.empty() && inputs.at(0).is_string() &&
      inputs.at(0).text().find(model.filler->mask()) == std::string::npos)
    return "feature-extraction";
  return task_of(model);
}

// A slash behind the name is no part of it.
std::string without_slashes(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return name;
}

ServedModelPtr model_of(const ApiCall& call) {
  const std::string name = without_slashes(call.at("id"));
  ServedModelPtr model = call.context().models.find(name);
  if (!model) refuse(404, fmt::format("Model {} does not exist", name));
  return model;
}

http::Response model_card(const ApiCall& call) {
  const ServedModelPtr model = model_of(call);
  return {.body = Json({{"id", model->name()},
                        {"modelId", model->name()},
                        {"pipeline_tag", task_of(*model)},
                        {"model_type", std::string(model->config().entry->type)}})
                      .dump()};
}

http::Response infer(const ApiCall& request) {
  const ServedModelPtr model = model_of(request);
  const Work& work = request.work;
  if (auto response = look_at_image(*model, request.request, work)) return *response;
  const Json body = json_body(request.request);
  const Json* inputs = http::field(body, "inputs");
  check(inputs != nullptr, "missing field `inputs`");
  Call call{*model, *inputs, work};
  if (const Json* parameters = http::field(body, "parameters")) call.parameters = *parameters;
  if (const Json* normalize = http::field(body, "normalize")) call.parameters["normalize"] = *normalize;
  check(call.parameters.is_object(), "'parameters' must be an object");
  const auto task = request.path.find("task");
  return {.body =
              answer_text(task == request.path.end() ? guessed(*model, *inputs) : without_slashes(task->second), call)};
}

}  // namespace
}  // namespace hugging_face

void HuggingFaceApi::add_routes(ApiRoutes& routes) {
  const std::string with_task = "/models/{id}/pipeline/{task}";
  add(routes,
      {"POST", with_task, "One task of a model, with {\"inputs\", \"parameters\"} or an image's bytes.",
       R"({"inputs": "a text"})"},
      hugging_face::infer);
  add(routes, {"GET", with_task}, hugging_face::model_card);
  add(routes, {"POST", "/models/{id}", "The task that the model was made for.", R"({"inputs": "a wonderful film"})"},
      hugging_face::infer);
  add(routes, {"GET", "/models/{id}", "The model's task and type."}, hugging_face::model_card);
}

http::Response HuggingFaceApi::refused(const Refusal& refusal) const {
  return http::refused(refusal.status, refusal.why);
}

}  // namespace attend::serve
