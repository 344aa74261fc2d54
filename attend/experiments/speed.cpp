#include "attend/experiments/speed.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/experiments/stopwatch.h"
#include "attend/models/gpt2.h"
#include "attend/models/text_rnn.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/step_graph.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

constexpr std::int64_t kVocabulary = 256, kGenerated = 8;

std::vector<std::int32_t> tokens_of(const SpeedOptions& options, std::int64_t count) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(
        static_cast<std::int32_t>(philox(options.seed, 1, static_cast<std::uint64_t>(i)).word[0] % kVocabulary));
  return tokens;
}

SpeedTimes times_of(const models::LanguageModel& model, nn::Parameters& parameters, std::int64_t length,
                    const SpeedOptions& options, Backend& backend) {
  const Tensor ids = make_tensor(backend, {options.batch, length}, DType::i32),
               prompt = make_tensor(backend, {1, length}, DType::i32);
  upload(ids, tokens_of(options, ids.size())), upload(prompt, tokens_of(options, length));
  SpeedTimes times;
  {
    Pass pass(backend);
    times.forward = fastest_milliseconds(options.repeats, [&] {
      pass.begin({.plan = 1});
      model.logits(nn::Sequences{ids}.in(pass));
      backend.synchronize();
    });
  }
  {
    Pass pass(backend, {.recording = true});
    StepGraph graph(pass);  // as attend train does: on a GPU a step is one launch
    const auto step = [&] {
      graph.run(1, 1, [&] {
        parameters.start_gradients();
        pass.backward(model.loss(nn::Sequences{ids}.in(pass), pass.input(ids)).mean);
        parameters.finish_gradients();
      });
      backend.synchronize();
    };
    step();
    times.training = fastest_milliseconds(options.repeats, step);
  }
  Pass pass(backend);
  const auto decoder = model.start(pass, prompt, 1, kGenerated * (options.repeats + 2) + 1);
  const std::vector<std::int32_t> newest = {1};
  decoder->step(newest, 1);  // reads the text
  times.token = fastest_milliseconds(options.repeats,
                                     [&] {
                                       for (std::int64_t i = 0; i < kGenerated; ++i) decoder->step(newest, 1);
                                     }) /
                static_cast<double>(kGenerated);
  return times;
}

std::int64_t body_size(const nn::Parameters& parameters) {
  std::int64_t count = 0;
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.name.find("embedding") == std::string::npos && entry.name.find("wte") == std::string::npos &&
        entry.name.find("wpe") == std::string::npos)
      count += entry.parameter->shape.size();
  return count;
}

}  // namespace

SpeedResult run_speed(const SpeedOptions& options, Backend& backend) {
  check(!options.lengths.empty(), "speed: no length is given");
  for (const std::int64_t length : options.lengths)
    check(length >= 2 && length <= 16384, "speed: a length of 2 to 16384, not {}", length);
  check(options.width >= 32 && options.width <= 4096 && options.width % 32 == 0,
        "speed: the width must be a multiple of 32 up to 4096, not {}", options.width);
  check(options.batch >= 1 && options.batch <= 1024, "speed: 1 to 1024 texts, not {}", options.batch);
  check(options.repeats >= 1 && options.repeats <= 1000, "speed: 1 to 1000 repeats, not {}", options.repeats);
  const std::int64_t longest = *std::ranges::max_element(options.lengths) + kGenerated * (options.repeats + 2) + 1;
  models::RnnLanguageModel lstm(
      {.vocabulary = kVocabulary, .width = options.width, .layers = 3, .cell = "lstm", .dropout = 0});
  models::GPT2LanguageModel transformer({.vocabulary = kVocabulary,
                                         .max_length = longest,
                                         .width = options.width,
                                         .layers = 2,
                                         .heads = options.width / 32,
                                         .embedding_dropout = 0,
                                         .attention_dropout = 0,
                                         .dropout = 0});
  nn::Parameters lstm_weights(backend, lstm.parameters(), {.seed = options.seed});
  nn::Parameters transformer_weights(backend, transformer.parameters(), {.seed = options.seed});
  SpeedResult result{body_size(lstm_weights), body_size(transformer_weights), {}};
  for (const std::int64_t length : options.lengths)
    result.rows.push_back({length, times_of(lstm, lstm_weights, length, options, backend),
                           times_of(transformer, transformer_weights, length, options, backend)});
  return result;
}

view::Figure speed_figure(const SpeedResult& result) {
  const auto plot = [&](const char* title, double SpeedTimes::*member) {
    view::LinePlot lines{.title = title, .x_label = "length", .y_label = "ms", .log_x = true};
    lines.series = {{"LSTM", {}}, {"Transformer", {}}};
    for (const SpeedRow& row : result.rows) {
      lines.x.push_back(static_cast<double>(row.length));
      lines.series[0].y.push_back(row.lstm.*member), lines.series[1].y.push_back(row.transformer.*member);
    }
    return view::line_figure(lines);
  };
  return view::stacked({plot("A training step", &SpeedTimes::training), plot("A forward pass", &SpeedTimes::forward),
                        plot("A generated token", &SpeedTimes::token)});
}

}  // namespace attend::experiments
