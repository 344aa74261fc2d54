// attend serve in this process: its queues and adapters against the models asked directly, and many clients against
// one. The clients that exist are asked in tests/serve_clients.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "attend/base/base64.h"
#include "attend/base/files.h"
#include "attend/image/encode.h"
#include "attend/tasks/model_folder.h"
#include "tests/http/http_client.h"
#include "tests/serve/serving_house.h"

namespace attend::serve {
namespace {

using namespace std::chrono_literals;
using test::Answered;
using test::ask;
using test::Client;
using test::get_text;
using test::post_json;
using test::post_text;

class Serve : public ServeTest {};

// ---- Results.

// What attend serve opens unless told: all that is shipped and can be asked.
TEST(ServeShipped, EveryModelOpensOrIsOneThatDraws) {
  Metrics metrics;
  Engine engine;
  ServedModels models(engine, metrics,
                      {.open_backend = [] { return std::shared_ptr<Backend>(open_backend("cpu", {.threads = 1})); }});
  for (const std::string& name : tasks::shipped_models()) {
    const std::filesystem::path folder = tasks::find_model(name);
    if (can_be_served(folder))
      EXPECT_NO_THROW(models.open(name, folder)) << name;
    else
      EXPECT_THROW(models.open(name, folder), Error) << name;
  }
}

// The page of attend look is there for every kind of model that is served, also for those that read images.
TEST(ServeLook, ShowsDetectorsAndCaptioners) {
  if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  const House house({}, {"detr-scenes", "flickr8k"});
  for (const char* name : {"detr-scenes", "flickr8k"}) {
    const Answered model = ask(house.port(), get_text(std::string("/look/") + name + "/api/model"));
    EXPECT_EQ(model.status, 200) << model.body;
    EXPECT_EQ(model.json().at("name"), name);
  }
}

TEST_F(Serve, EmbedsAsTheModelDoesWhateverTheBatch) {
  const auto backend = open_backend("cpu", {.threads = 2});
  const tasks::Filler filler("models/bert", *backend);
  std::vector<std::string> texts = {"a", "the cat sat on the mat", "", "an answer to a question that nobody asked",
                                    std::string("long ") + std::string(300, 'x')};
  for (int i = 0; i < 30; ++i) texts.push_back("sentence number " + std::to_string(i * i) + " of this list is here");
  std::vector<std::vector<float>> alone;
  for (const std::string& text : texts) {
    const tasks::EncoderText read = filler.encoder().reader().read(text, 1, {});
    const tasks::EncoderText* one = &read;
    alone.push_back(
        tasks::pooled(tasks::states_of(filler.encoder(), std::span(&one, 1))[0], 256, tasks::Pooling::mean));
    tasks::normalize(alone.back());
  }
  const auto vectors_of = [](const Answered& answer) {
    std::vector<std::vector<float>> vectors;
    for (const Json& row : answer.json()) vectors.push_back(row.get<std::vector<float>>());
    return vectors;
  };
  const Answered together = post_json(port(), "/embed", {{"inputs", Json(texts)}, {"truncate", true}});
  ASSERT_EQ(together.status, 200) << together.body;
  EXPECT_EQ(vectors_of(together), alone);
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < texts.size(); ++i)
    clients.emplace_back([&, i] {
      const Answered answer = post_json(port(), "/embed", {{"inputs", texts[i]}, {"truncate", true}});
      if (answer.status != 200 || vectors_of(answer).at(0) != alone[i]) ++wrong;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Serve, TranslatesAsTheTranslatorDoesWhoeverElseAsks) {
  const auto backend = open_backend("cpu", {.threads = 2});
  const auto loaded = tasks::load_translator("models/en-fr", *backend);
  const std::vector<std::string> lines = {"I am a student.",
                                          "Where is the station?",
                                          "The old man reads a book in the garden.",
                                          "Yes.",
                                          "My brother and my sister live in a small house near the sea.",
                                          "Thank you!"};
  const auto expected = loaded->translator.translate(lines);
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < 24; ++i)
    clients.emplace_back([&, i] {
      const std::size_t k = i % lines.size();
      const Answered answer = post_json(port(), "/translate", {{"q", lines[k]}, {"source", "en"}, {"target", "fr"}});
      if (answer.status != 200 || answer.json().at("translatedText").text() != expected[k].text()) ++wrong;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Serve, GeneratesAsTheGeneratorDoesWhoeverElseAsks) {
  const auto backend = open_backend("cpu", {.threads = 2});
  const tasks::Generator generator("models/shakespeare", *backend);
  const std::vector<std::string> prompts = {"ROMEO:", "KING RICHARD:\nMy lord,", "O", "What is the matter"};
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    alone.push_back(generator.generate(prompts[i], {.max_tokens = 24, .seed = i + 1})[0].text);
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < 12; ++i)
    clients.emplace_back([&, i] {
      if (completed(port(), prompts[i % 4], static_cast<int>(i % 4 + 1)) != alone[i % 4]) ++wrong;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

// The events of a stream joined are the text that is answered whole.
TEST_F(Serve, StreamsWhatItAnswers) {
  Json body = {{"model", "shakespeare"}, {"prompt", "ROMEO:"}, {"max_tokens", 24}, {"seed", 7}, {"n", 2},
               {"logprobs", 1}};
  const Answered whole = post_json(port(), "/v1/completions", body);
  ASSERT_EQ(whole.status, 200) << whole.body;
  body["stream"] = true;
  const Answered stream = post_json(port(), "/v1/completions", body);
  EXPECT_TRUE(stream.has("text/event-stream"));
  ASSERT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
  std::string texts[2];
  std::size_t tokens[2] = {0, 0};
  for (std::size_t at = 0; at < stream.body.size();) {
    const std::size_t end = stream.body.find("\n\n", at);
    const std::string line = stream.body.substr(at + 6, end - at - 6);
    at = end + 2;
    if (line == "[DONE]") break;
    const Json json = parse_json(line, "event");
    const Json& choice = json.at("choices").at(0);
    const auto index = choice.at("index").get<std::size_t>();
    texts[index] += choice.at("text").text();
    if (!choice.at("logprobs").is_null()) tokens[index] += choice.at("logprobs").at("tokens").size();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i], whole.json().at("choices").at(i).at("text").text());
    EXPECT_EQ(tokens[i], whole.json().at("choices").at(i).at("logprobs").at("tokens").size());
  }
  EXPECT_EQ(whole.json().at("usage").at("completion_tokens"), 48);
}

TEST_F(Serve, StopsWhereItIsTold) {
  const Json body = {
      {"model", "shakespeare"}, {"prompt", "ROMEO:"}, {"max_tokens", 60}, {"seed", 3}, {"temperature", 0}};
  const std::string text = post_json(port(), "/v1/completions", body).json().at("choices").at(0).at("text").text();
  ASSERT_GT(text.size(), 12u);
  Json stopped = body;
  stopped["stop"] = text.substr(6, 4);
  const Json choice = post_json(port(), "/v1/completions", stopped).json().at("choices").at(0);
  EXPECT_EQ(choice.at("text").text(), text.substr(0, text.find(text.substr(6, 4))));
  EXPECT_EQ(choice.at("finish_reason"), "stop");
}

// ---- Adapters.

TEST_F(Serve, ClassifiesInEveryShape) {
  const auto predict = [&](const Json& inputs) {
    return post_json(port(), "/predict", Json{{"inputs", inputs}, {"truncate", true}});
  };
  const Json one = predict("a wonderful film").json();
  EXPECT_EQ(one.at(0).at("label"), "positive");
  const Json batch = predict(Json::array({Json::array({"a wonderful film"}), Json::array({"a terrible film"})})).json();
  EXPECT_EQ(batch.at(0), one);
  EXPECT_EQ(batch.at(1).at(0).at("label"), "negative");
  const Json pair = predict(Json::array({"a wonderful film", "a terrible film"})).json();
  EXPECT_TRUE(pair.at(0).is_object());
  EXPECT_NE(pair, one);
  const Json hf =
      post_json(port(), "/models/bert-sst2", Json{{"inputs", "a wonderful film"}, {"options", Json::object()}}).json();
  EXPECT_EQ(hf.at(0).at(0).at("label"), "positive");
  EXPECT_EQ(hf.at(0).at(0).at("score"), one.at(0).at("score"));
  const Json ranked =
      post_json(port(), "/rerank",
                {{"query", "film"}, {"texts", Json::array({"bad", "good", "so so"})}, {"return_text", true}})
          .json();
  ASSERT_EQ(ranked.size(), 3u);
  EXPECT_GE(ranked.at(0).at("score").get<double>(), ranked.at(2).at("score").get<double>());
}

TEST_F(Serve, EmbedsForEveryFamily) {
  const std::vector<float> tei = post_json(port(), "/embed", Json{{"inputs", "a text"}, {"truncate", false}})
                                     .json()
                                     .at(0)
                                     .get<std::vector<float>>();
  const Json openai = post_json(port(), "/v1/embeddings", {{"model", "bert"}, {"input", "a text"}}).json();
  EXPECT_EQ(openai.at("data").at(0).at("embedding").get<std::vector<float>>(), tei);
  const Json coded =
      post_json(port(), "/v1/embeddings", {{"model", "bert"}, {"input", "a text"}, {"encoding_format", "base64"}})
          .json();
  EXPECT_EQ(coded.at("data").at(0).at("embedding").text(),
            base64({reinterpret_cast<const char*>(tei.data()), tei.size() * sizeof(float)}));
  const Json hf = post_json(port(), "/models/bert/pipeline/feature-extraction",
                            {{"inputs", "a text"}, {"parameters", {{"normalize", true}, {"x", 1}}}})
                      .json();
  EXPECT_EQ(hf.get<std::vector<float>>(), tei);
  const Json all = post_json(port(), "/embed_all", Json{{"inputs", "a text"}, {"truncate", false}}).json();
  const Json tokens = post_json(port(), "/tokenize", Json{{"inputs", "a text"}, {"model", "bert"}}).json();
  EXPECT_EQ(all.at(0).size(), tokens.at(0).size());
  std::vector<int> ids;
  for (const Json& token : tokens.at(0)) ids.push_back(token.at("id").get<int>());
  EXPECT_EQ(post_json(port(), "/decode", Json{{"ids", Json(ids)}, {"model", "bert"}}).json().at(0).text(), "a text");
  const Json near =
      post_json(
          port(), "/similarity",
          Json{{"inputs", {{"source_sentence", "a text"}, {"sentences", Json::array({"a text", "no"})}}}, {"x", 1}})
          .json();
  EXPECT_NEAR(near.at(0).get<double>(), 1, 1e-6);
}

TEST_F(Serve, TranslatesInEveryShape) {
  const std::string plain =
      post_json(port(), "/translate", {{"q", "I am a student."}, {"source", "en"}, {"target", "fr"}})
          .json()
          .at("translatedText")
          .text();
  EXPECT_EQ(
      ask(port(), post_text("/translate", "q=I+am+a+student.&source=en&target=fr", "application/x-www-form-urlencoded"))
          .json()
          .at("translatedText")
          .text(),
      plain);
  EXPECT_EQ(ask(port(), post_text("/translate?q=I%20am%20a%20student.&source=auto&target=fr", ""))
                .json()
                .at("translatedText")
                .text(),
            plain);
  const Json html = post_json(port(), "/translate",
                              {{"q", "<p class=\"x\">I am a student.</p>\n<!-- I am -->"},
                               {"source", "en"},
                               {"target", "fr"},
                               {"format", "html"}})
                        .json();
  EXPECT_EQ(html.at("translatedText").text(), "<p class=\"x\">" + plain + "</p>\n<!-- I am -->");
  // A sentence with tags inside is translated whole, and they go where its words went.
  const Json tagged =
      post_json(port(), "/translate",
                {{"q", "<p>I am a <b>student</b>.</p>"}, {"source", "en"}, {"target", "fr"}, {"format", "html"}})
          .json();
  EXPECT_EQ(tagged.at("translatedText").text(), "<p>Je suis <b>étudiant</b>.</p>");
  const auto language = [&](const char* text) {
    return post_json(port(), "/detect", {{"q", text}}).json()[0].at("language").text();
  };
  EXPECT_EQ(language("I am a student."), "en");
  EXPECT_EQ(language("Je suis un étudiant."), "fr");
  EXPECT_EQ(language("42"), "en") << "of languages that fit as well, the first";
  // The bundled translator works both ways.
  EXPECT_EQ(post_json(port(), "/translate", {{"q", "La maison est bleue."}, {"source", "auto"}, {"target", "en"}})
                .json()
                .at("translatedText")
                .text(),
            "The house is blue.");
  const Json list = post_json(port(), "/translate",
                              {{"q", Json::array({"I am a student.", "", "Yes.\n\nNo."})},
                               {"source", "en"},
                               {"target", "fr"},
                               {"alternatives", 2}})
                        .json();
  ASSERT_EQ(list.at("translatedText").size(), 3u);
  EXPECT_EQ(list.at("translatedText").at(0).text(), plain);
  EXPECT_EQ(list.at("translatedText").at(1).text(), "");
  EXPECT_NE(list.at("translatedText").at(2).text().find("\n\n"), std::string::npos);
  EXPECT_EQ(list.at("alternatives").at(0).size(), 2u);
  const Json languages = ask(port(), get_text("/languages")).json();
  ASSERT_EQ(languages.size(), 2u);
  EXPECT_EQ(languages.at(0).at("code"), "en");
  EXPECT_EQ(languages.at(0).at("targets"), Json::array({"en", "fr"}));
  EXPECT_EQ(languages.at(1).at("targets"), Json::array({"en", "fr"}));
  EXPECT_EQ(post_json(port(), "/models/en-fr", Json{{"inputs", "I am a student."}, {"x", 1}})
                .json()
                .at(0)
                .at("translation_text")
                .text(),
            plain);
}

TEST_F(Serve, LooksAtImages) {
  image::Image image(28, 28);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 7);
  const std::string png = image::encode_png(image);
  const Answered raw = ask(port(), post_text("/models/vit-fashion-mnist", png, "image/png"));
  ASSERT_EQ(raw.status, 200) << raw.body;
  EXPECT_EQ(raw.json().size(), 5u);
  const Answered coded = post_json(port(), "/models/vit-fashion-mnist",
                                   Json{{"inputs", base64(png)}, {"parameters", {{"top_k", 2}, {"x", 1}}}});
  EXPECT_EQ(coded.json().at(0), raw.json().at(0));
  EXPECT_EQ(coded.json().size(), 2u);
  EXPECT_EQ(ask(port(), post_text("/models/vit-fashion-mnist", "no image", "image/png")).status, 400);
  EXPECT_EQ(post_json(port(), "/models/vit-fashion-mnist", Json{{"inputs", "%%"}, {"x", 1}}).status, 400);
}

TEST_F(Serve, SaysWhatItIs) {
  for (const char* path :
       {"/health", "/ready", "/version", "/docs", "/openapi.json", "/spec", "/info", "/frontend/settings", "/v1/models",
        "/v1/models/bert", "/models/bert", "/look", "/look/en-fr/", "/look/en-fr/api/model", "/"})
    EXPECT_EQ(ask(port(), get_text(path)).status, 200) << path;
  EXPECT_EQ(ask(port(), get_text("/look/en-fr")).status, 307);
  const Json seen =
      post_json(port(), "/look/en-fr/api/inspect", Json{{"text", "I am a student."}, {"beams", 4}}).json();
  EXPECT_TRUE(seen.contains("attention"));
  const std::string metrics = ask(port(), get_text("/metrics")).body;
  for (const char* name : {"te_request_count", "te_request_success", "te_queue_size", "attend_connections"})
    EXPECT_NE(metrics.find(name), std::string::npos) << name;
}

TEST_F(Serve, RefusesInEachFamilysShape) {
  const auto status = [&](const char* path, const Json& body, int expected) {
    const Answered answer = post_json(port(), path, body);
    EXPECT_EQ(answer.status, expected) << path << " " << body.dump() << answer.body;
    return answer.json();
  };
  EXPECT_EQ(status("/embed", {{"inputs", 3}, {"x", 1}}, 422).at("error_type"), "Tokenizer");
  EXPECT_EQ(status("/embed", {{"inputs", Json::array()}, {"x", 1}}, 400).at("error_type"), "Empty");
  EXPECT_EQ(
      status("/embed", {{"inputs", std::string(6000, 'x') + std::string(3000, '.')}, {"x", 1}}, 413).at("error_type"),
      "Validation");
  EXPECT_EQ(status("/embed", {{"inputs", "a"}, {"model", "nobody"}}, 424).at("error_type"), "Backend");
  EXPECT_EQ(status("/v1/completions", {{"model", "nobody"}, {"prompt", "a"}}, 404).at("error").at("code"),
            "model_not_found");
  EXPECT_EQ(status("/v1/completions", {{"model", "shakespeare"}, {"max_tokens", 0}}, 400).at("error").at("type"),
            "invalid_request_error");
  EXPECT_EQ(status("/v1/chat/completions", {{"model", "shakespeare"}, {"x", 1}}, 404).at("error").at("code"),
            "unknown_url");
  EXPECT_TRUE(status("/translate", {{"q", "a"}, {"source", "en"}, {"target", "xx"}}, 400).at("error").is_string());
  EXPECT_TRUE(status("/translate", {{"q", "a"}, {"source", "en"}}, 400).at("error").is_string());
  EXPECT_TRUE(status("/models/nobody", {{"inputs", "a"}, {"x", 1}}, 404).at("error").is_string());
  EXPECT_TRUE(status("/models/bert/pipeline/translation", {{"inputs", "a"}, {"x", 1}}, 400).at("error").is_string());
  EXPECT_EQ(ask(port(), get_text("/embed")).status, 405);
  EXPECT_EQ(ask(port(), get_text("/translate")).status, 405);
  EXPECT_EQ(ask(port(), get_text("/nothing")).status, 404);
}

// Dispatch and documentation are one table: what is listed is there, and what is refused says how to ask.
TEST_F(Serve, DocumentsWhatItAnswers) {
  const Json paths = ask(port(), get_text("/openapi.json")).json().at("paths");
  for (const char* path : {"/translate", "/embed", "/v1/models/{id}", "/models/{id}/pipeline/{task}", "/health",
                           "/look", "/look/{id}/api/inspect"})
    EXPECT_TRUE(paths.contains(path)) << path;
  EXPECT_FALSE(paths.contains("/v1/{path}"));
  EXPECT_TRUE(paths.at("/models/{id}").contains("get") && paths.at("/models/{id}").contains("post"));
  EXPECT_EQ(paths.at("/models/{id}/pipeline/{task}").at("post").at("parameters").size(), 2u);
  EXPECT_NE(ask(port(), get_text("/docs")).body.find("/v1/completions"), std::string::npos);
  const Answered embed = ask(port(), get_text("/embed"));
  EXPECT_TRUE(embed.has("allow: POST")) << embed.head;
  EXPECT_EQ(embed.json().at("error_type"), "Validation");
  const Answered health = ask(port(), post_text("/health", "{}"));
  EXPECT_EQ(health.status, 405);
  EXPECT_TRUE(health.has("allow: GET, HEAD")) << health.head;
  EXPECT_TRUE(ask(port(), get_text("/look/en-fr/api/inspect")).has("allow: POST"));
}

}  // namespace
}  // namespace attend::serve
