// attend look without a browser: the API against the translator and the model, and the server against bad requests.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/http/http.h"
#include "attend/look/api/api.h"
#include "attend/look/api/export.h"
#include "attend/look/inspect/open.h"
#include "attend/look/inspect/translation.h"
#include "attend/models/rnn_seq2seq.h"
#include "tests/tasks/translator_fixture.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

using test::cpu;

constexpr const char* kShipped = "models/en-fr";

struct Answer {
  int status = 0;
  std::string body;
  Json json() const { return parse_json(body, "answer"); }
};

// Sends bytes as they are and reads until the server closes.
Answer send_raw(int port, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) break;
    at += static_cast<std::size_t>(sent);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(socket);
  if (text.size() < 13) return {};
  return {std::stoi(text.substr(9, 3)), text.substr(text.find("\r\n\r\n") + 4)};
}

Answer get(int port, const std::string& path) {
  return send_raw(port, fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", path, port));
}

Answer post(int port, const std::string& path, const std::string& body, const char* type = "application/json") {
  return send_raw(port, fmt::format("POST {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nCONTENT-TYPE: "
                                    "{}\r\nContent-Length: {}\r\n\r\n{}",
                                    path, type, body.size(), body));
}

class Look : public ::testing::Test {
 protected:
  Look()
      : inspector_(tasks::load_translator(kShipped, cpu()), cpu()),
        api_({.inspector = &inspector_}, {.name = "en-fr"}),
        server_({.patience = std::chrono::milliseconds(1000)},
                [this](const http::Request& request) { return api_.handle(request); }),
        thread_([this] { server_.run([this] { return stop_.load(); }); }) {}
  ~Look() override { stop_ = true; }

  // The answer as the page reads it.
  Json inspect(const Json& request) { return parse_json(api_.inspect(request), "answer"); }

  TranslationInspector inspector_;
  Api api_;
  http::Server server_;
  std::atomic<bool> stop_{false};
  std::jthread thread_;  // last: it ends before what it works on
};

TEST_F(Look, DescribesTheModel) {
  const Answer answer = get(server_.port(), "/api/model");
  ASSERT_EQ(answer.status, 200);
  const Json model = answer.json();
  EXPECT_EQ(model.at("vocabulary"), 8000);
  EXPECT_EQ(model.at("attention").size(), 10u);
  EXPECT_EQ(model.at("attention").at(0).at("heads"), 4);
  EXPECT_EQ(get(server_.port(), "/").status, 200);
  EXPECT_NE(get(server_.port(), "/?x=1").body.find("<title>attend look"), std::string::npos);
}

TEST_F(Look, TranslatesAsTheTranslatorDoes) {
  const std::vector<std::string> lines = {"I am a student.", "Where is the station?",
                                          "My <b>brother</b> & I \"talk\"."};
  const auto expected = inspector_.loaded().translator.translate(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Answer answer = post(server_.port(), "/api/inspect", Json{{"text", lines[i]}}.dump());
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Json json = answer.json();
    EXPECT_EQ(json.at("text"), expected[i].text());
    EXPECT_NEAR(json.at("score").get<double>(), expected[i].translations[0].score, 1e-4);
    const std::size_t sources = json.at("source").at("ids").size(), targets = json.at("target").at("ids").size();
    EXPECT_EQ(json.at("steps").size(), targets);
    EXPECT_EQ(json.at("target").at("pieces").size(), targets);
    const Json& cross = json.at("attention").at(8).at("weights").at(3);
    ASSERT_EQ(cross.size(), targets);
    for (const Json& row : cross) {
      ASSERT_EQ(row.size(), sources);
      double sum = 0;
      for (const Json& weight : row) sum += weight.get<double>();
      EXPECT_NEAR(sum, 1, 1e-4 * static_cast<double>(sources));
    }
  }
}

TEST_F(Look, SpaceAroundATextChangesNothing) {
  EXPECT_EQ(api_.inspect({{"text", " I am a student. "}}), api_.inspect({{"text", "I am a student."}}));
}

// The attention shown is the attention used: softmax(q·k/√d) of the walk is what the probe saw, and its product with
// the values is what the fused kernel wrote.
TEST_F(Look, TheWalkAgreesWithTheFusedKernels) {
  const std::string text = "The old man reads a book in the garden.";
  const Inspection seen = inspector_.inspect(text);
  for (const SeenAttention& layer : seen.attention)
    for (std::int64_t head : {0, 3})
      for (std::size_t token : {std::size_t{0}, layer.rows - 1}) {
        const view::Trace trace =
            inspector_.trace({text, seen.target_ids, layer.place, head, static_cast<std::int64_t>(token)});
        const view::TraceStep& softmax = trace.at("softmax");
        ASSERT_EQ(softmax.values.size(), layer.columns);
        for (std::size_t i = 0; i < layer.columns; ++i)
          EXPECT_NEAR(softmax.values[i],
                      layer.weights[(static_cast<std::size_t>(head) * layer.rows + token) * layer.columns + i], 2e-5);
        const std::vector<float>& mixed = trace.at("weights·v").values;
        const std::vector<float>& fused = trace.at("concat").values;
        for (std::size_t i = 0; i < mixed.size(); ++i)
          EXPECT_NEAR(mixed[i], fused[static_cast<std::size_t>(head) * mixed.size() + i], 2e-5);
      }
}

TEST_F(Look, TheWalkEndsWhereTheNextLayerBegins) {
  const std::string text = "I am a student.";
  const std::vector<std::int32_t> target = inspector_.inspect(text).target_ids;
  for (const char* stack : {"encoder", "decoder"}) {
    const view::Trace first = inspector_.trace({text, target, {stack, "self", 0}, 1, 2});
    const view::Trace second = inspector_.trace({text, target, {stack, "self", 1}, 1, 2});
    EXPECT_EQ(first.at("next layer").values, second.at("x").values);
  }
  // What comes after a token is hidden from it.
  const view::Trace trace = inspector_.trace({text, target, {"decoder", "self", 0}, 0, 1});
  EXPECT_TRUE(std::isinf(trace.at("masked").values[2]));
  EXPECT_EQ(trace.at("softmax").values[2], 0.0f);
}

TEST_F(Look, AblationChangesAndLeavesNoTrace) {
  const std::string text = "I am a student of music.";
  const auto ask = [&](const Json& ablation) { return inspect({{"text", text}, {"ablation", ablation}}); };
  const Json plain = inspect({{"text", text}});
  const Json head = {{"stack", "decoder"}, {"kind", "cross"}, {"layer", 1}, {"head", 1}};
  Json scaled = head;
  scaled["scale"] = 1;
  EXPECT_EQ(ask({{"heads", Json::array({scaled})}}), plain);
  EXPECT_NE(ask({{"heads", Json::array({head})}}).at("steps"), plain.at("steps"));
  EXPECT_NE(ask({{"layers", {{{"stack", "encoder"}, {"layer", 0}}}}}).at("steps"), plain.at("steps"));
  EXPECT_NE(ask({{"positions", false}}).at("steps"), plain.at("steps"));
  const Json masked = ask({{"masked", {3}}});
  for (const Json& row : masked.at("attention").at(8).at("weights").at(0)) EXPECT_EQ(row.at(3), 0.0);
  EXPECT_THROW(ask({{"heads", {scaled, {{"layer", 9}}}}}), Error);
  EXPECT_EQ(inspect({{"text", text}}), plain);
}

// A layer that is off hands on what it got.
TEST_F(Look, ALayerThatIsOffAddsNothing) {
  const std::string text = "I am a student.";
  const Ablation all = {.layers = {{"encoder", 0}, {"encoder", 1}, {"encoder", 2}}};
  const Ablation also_heads = {.heads = {{{"encoder", "self", 1}, 2, 0.5f}}, .layers = all.layers};
  EXPECT_EQ(inspector_.inspect(text, {.ablation = all}).text, inspector_.inspect(text, {.ablation = also_heads}).text);
}

// Without positions the encoder cannot tell one order from another.
TEST_F(Look, WithoutPositionsOrderDoesNotMatter) {
  const InspectOptions options{.ablation = {.positions = false}};
  EXPECT_EQ(inspector_.inspect(" red blue green", options).text, inspector_.inspect(" green red blue", options).text);
}

TEST_F(Look, GoesOnFromAPrefix) {
  const Json plain = inspect({{"text", "Where is the station?"}, {"beams", 1}});
  const Json& steps = plain.at("steps");
  const Json same =
      post(server_.port(), "/api/inspect",
           Json{{"text", "Where is the station?"}, {"prefix", Json::array({steps.at(0).at("chosen")})}}.dump())
          .json();
  EXPECT_EQ(same.at("target"), plain.at("target"));  // greedy goes on as greedy does
  const Json other = inspect(
      {{"text", "Where is the station?"}, {"prefix", Json::array({steps.at(0).at("candidates").at(1).at("id")})}});
  EXPECT_EQ(other.at("target").at("ids").at(0), steps.at(0).at("candidates").at(1).at("id"));
}

TEST_F(Look, RefusesBadRequests) {
  const int port = server_.port();
  for (const char* body :
       {"", "{", "[]", "3", R"({"text": 3})", R"({"text": ""})", R"({"text": "  "})", R"({"text": "a", "beams": 0})",
        R"({"text": "a", "beams": 1e300})", R"({"text": "a", "beams": "x"})", R"({"text": "a", "prefix": [-1]})",
        R"({"text": "a", "prefix": [99999999]})", R"({"text": "a", "ablation": {"masked": [77]}})",
        R"({"text": "a", "ablation": {"masked": [0, 1]}})", R"({"text": "a", "ablation": {"heads": [{"head": 4}]}})",
        R"({"text": "a", "ablation": {"layers": [{"layer": 6}]}})", R"({"text": "a", "ablation": 3})",
        "{\"text\": \"\xff\"}"}) {
    const Answer answer = post(port, "/api/inspect", body);
    EXPECT_EQ(answer.status, 400) << body << answer.body;
    EXPECT_TRUE(answer.json().contains("error")) << body;
  }
  EXPECT_EQ(post(port, "/api/trace", R"({"text": "a", "stack": "encoder", "kind": "self", "token": 9})").status, 400);
  EXPECT_EQ(post(port, "/api/trace", R"({"text": "a"})").status, 400);  // the decoder without a target
  EXPECT_EQ(post(port, "/api/inspect", R"({"text": "a"})", "text/plain").status, 415);
  EXPECT_EQ(post(port, "/api/inspect", Json{{"text", std::string(3000, 'a')}}.dump()).status, 400);
  EXPECT_EQ(post(port, "/api/inspect", std::string(100000, ' ')).status, 413);
  EXPECT_EQ(get(port, "/api/inspect").status, 405);
  EXPECT_EQ(post(port, "/", "x").status, 405);
}

TEST_F(Look, NoPathLeavesThePage) {
  const int port = server_.port();
  for (const char* path :
       {"/nothing", "/../CMakeLists.txt", "/%2e%2e/CMakeLists.txt", "//etc/passwd", "/web/index.html",
        "/models/en-fr/config.json", "/api", "/api/", "/index.html/", "/style.css%00"})
    EXPECT_EQ(get(port, path).status, 404) << path;
}

TEST_F(Look, SurvivesWhatIsNotHttp) {
  const int port = server_.port();
  EXPECT_EQ(send_raw(port, "hello\r\n\r\n").status, 400);
  EXPECT_EQ(send_raw(port, "GET /" + std::string(40000, 'a')).status, 431);
  EXPECT_EQ(send_raw(port, "POST /api/inspect HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n").status,
            413);
  EXPECT_EQ(send_raw(port, "POST /api/inspect HTTP/1.1\r\nContent-Length: -3\r\n\r\n").status, 400);
  EXPECT_EQ(send_raw(port, "POST /api/inspect HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").status, 408);
  EXPECT_EQ(send_raw(port, "POST /api/inspect HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc").status, 408);
  // A page of another site that made its name point here.
  EXPECT_EQ(send_raw(port, "GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n").status, 403);
  EXPECT_EQ(get(port, "/").status, 200);
}

TEST_F(Look, ExportsOneFileThatNoTextBreaksOutOf) {
  const std::string page = exported_page(api_, "I am </script><script>alert(1)</script> a student.");
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("href=\"style.css\""), std::string::npos);
  EXPECT_NE(page.find("data:text/javascript;base64,"), std::string::npos);
}

// A recurrent network has one attention: the same views show it.
TEST(LookRnn, ShowsItsAlignment) {
  const test::ModelFolder folder;
  models::RnnSeq2Seq rnn({.vocabulary = static_cast<std::int64_t>(text::Tokenizer::load(folder.path()).id_limit()),
                          .width = 16,
                          .hidden = 24,
                          .max_length = 24});
  const nn::Parameters parameters(cpu(), rnn.parameters(), {.seed = 4, .trained = false});
  write_file(folder / "config.json", rnn.config().dump());
  checkpoint::save_weights(folder / "model.safetensors", parameters);
  const auto loaded = tasks::load_translator(folder.path(), cpu());
  const auto inspector = open_inspector(folder.path(), cpu(), DType::f32);
  Api api({.inspector = inspector.get()}, {.name = "rnn"});
  const Json json = parse_json(api.inspect({{"text", "I am a student."}}), "answer");
  ASSERT_EQ(json.at("attention").size(), 1u);
  const Json& rows = json.at("attention").at(0).at("weights").at(0);
  ASSERT_EQ(rows.size(), json.at("target").at("ids").size());
  EXPECT_EQ(rows.at(0).size(), json.at("source").at("ids").size());
  EXPECT_EQ(json.at("text"), loaded->translator.translate(std::vector<std::string>{"I am a student."})[0].text());
  EXPECT_THROW(api.trace({{"text", "a"}}), Error);
  EXPECT_THROW(api.inspect({{"text", "a"}, {"ablation", {{"heads", {{{"head", 0}}}}}}}), Error);
  EXPECT_NE(exported_page(api, "I am").find("decoder"), std::string::npos);
}

TEST_F(Look, AModelOfTextTakesNoImages) {
  const int port = server_.port();
  EXPECT_EQ(post(port, "/api/image", "x", "image/png").status, 413);
  const http::Response past = api_.handle(
      {.method = "POST", .path = "/api/image", .host = "localhost", .content_type = "image/png", .body = "x"});
  EXPECT_EQ(past.status, 400);
  EXPECT_NE(past.body.find("does not look at images"), std::string::npos) << past.body;
  EXPECT_EQ(post(port, "/api/attention", "{}").status, 400);
  EXPECT_EQ(get(port, "/samples/cat").status, 404);
}

TEST(LookServer, TakesImagesUpToALimitOfTheirOwn) {
  std::atomic<bool> stop{false};
  http::Server server({.max_body = 100, .max_image = 1000}, [](const http::Request& request) {
    return http::Response{.body = fmt::format("{}", request.body.size())};
  });
  std::jthread thread([&] { server.run([&] { return stop.load(); }); });
  EXPECT_EQ(post(server.port(), "/", std::string(1000, 'x'), "image/png").body, "1000");
  const Answer larger = post(server.port(), "/", std::string(1001, 'x'), "image/png");
  EXPECT_EQ(larger.status, 413);
  EXPECT_NE(larger.json().at("error").text().find("1001 bytes, at most 1000"), std::string::npos) << larger.body;
  EXPECT_EQ(post(server.port(), "/", std::string(101, 'x')).status, 413);
  // One that only says it is vast is refused before it comes.
  const Answer vast =
      send_raw(server.port(), "POST / HTTP/1.1\r\nContent-Type: image/png\r\nContent-Length: 99999999999\r\n\r\nx");
  EXPECT_EQ(vast.status, 413);
  stop = true;
}

TEST(LookServer, SaysWhenAPortIsTaken) {
  const auto nothing = [](const http::Request&) { return http::Response{}; };
  const http::Server first({}, nothing);
  EXPECT_THROW(http::Server({.port = first.port()}, nothing), Error);
  EXPECT_THROW(http::Server({.host = "nowhere"}, nothing), Error);
}

}  // namespace
}  // namespace attend::look
