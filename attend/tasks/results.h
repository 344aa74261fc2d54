// What the tasks are asked for and what they answer: plain values, which programs in C++ see (attend/attend.h) and
// which know no model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/images/annotations.h"
#include "attend/tensor/images.h"
#include "attend/text/aligned_text.h"
#include "attend/view/attention_map.h"

namespace attend::tasks {

struct EncoderBatching {
  std::int64_t batch = 32;  // texts computed together
  // Hears about texts that were cut or mended. Lines are counted from first_line.
  std::function<void(std::string_view message)> warn = {};
  std::int64_t first_line = 1;
};

struct ClassifyOptions {
  std::int64_t top_k = 1;  // 0: all labels
  EncoderBatching batching = {};
};

struct ClassLabel {
  std::string label;
  float probability = 0;  // of a regression of several values: the value
};

struct Classified {
  std::vector<ClassLabel> labels;  // likeliest first; none of a model that answers a number
  float number = 0;                // what such a model answers
};

struct TaggedWord {
  std::string word;  // characters [span.begin, span.end) of the line
  text::Span span;
  std::string label;
  float probability = 0;
};

using TaggedLine = std::vector<TaggedWord>;

struct AnswerOptions {
  std::int64_t top_k = 1;
  std::int64_t max_tokens = 30;  // of an answer
  std::int64_t overlap = 128;    // tokens a window repeats of the one before; less where a window is short
  std::int64_t batch = 8;        // windows computed together
};

struct Answer {
  std::string text;  // characters [span.begin, span.end) of the context
  text::Span span;
  float score = 0;  // the probability of the beginning times that of the end, among all tokens of the context
};

struct FillOptions {
  std::int64_t top_k = 5;
  EncoderBatching batching = {};
};

struct FilledToken {
  std::int32_t id = 0;
  std::string token;  // as text, without the mark of a piece
  float probability = 0;
};

// For each mask of a line, the likeliest tokens, best first. A mask that was cut off has none.
using FilledLine = std::vector<std::vector<FilledToken>>;

// How the states of a text's tokens [T, C] become one vector.
enum class Pooling : std::uint8_t { mean, cls, max, mean_sqrt_len, weighted_mean, last_token };
std::string_view name_of(Pooling pooling);  // as sentence-transformers and attend's flags spell it
// Throws Error with what and the names there are.
Pooling pooling_named(std::string_view name, std::string_view what);

// Where a caller wants something else than the folder says.
struct SentenceOverrides {
  std::optional<Pooling> pooling = {};
  std::optional<bool> normalize = {};  // to length 1
};

struct EmbedOptions {
  std::optional<Pooling> pooling = {};     // else as the folder says: mean where it says nothing
  std::optional<bool> normalize = {};      // to length 1; else as the folder says: no where it says nothing
  std::optional<std::string> prompt = {};  // put in front of each text; else the folder's default prompt
  EncoderBatching batching = {};

  SentenceOverrides overrides() const { return {pooling, normalize}; }
};

struct TranslateOptions {
  std::int64_t beams = 0;   // 1: greedy; 0: as the model's folder says, 4 where it says nothing
  float alpha = -1;         // of the length penalty (Wu et al. 2016); below 0: the folder's penalty, or 0.6
  std::int64_t n_best = 1;  // different texts, at most; fewer where the beams hold no more
  bool sample = false;      // draws instead of searching; n_best is then how many are drawn
  float temperature = 1;    // 0: greedy
  std::int64_t top_k = 0;   // 0: all
  std::uint64_t seed = 1;
  bool attention = false;   // keep what each translation looked at
  std::int64_t batch = 32;  // sentences computed together
  // Hears about lines that were cut or mended. Lines are counted from first_line.
  std::function<void(std::string_view message)> warn = {};
  std::int64_t first_line = 1;
  // Asked before every batch; true ends the work, and only the lines before the first missing one come back.
  std::function<bool()> stop = {};
  // Whether to compute a batch; lines of the others have no translations. None: all of them.
  std::function<bool(std::size_t batch)> only = {};
  // Told after every batch how many lines it had.
  std::function<void(std::int64_t lines)> done = {};
};

struct Translation {
  std::string text;
  float score = 0;       // normalised log-probability
  bool finished = true;  // false: cut at the maximum length
  // With attention: the tokens of both sides, their end marks included, and the weights of the model's alignment layer
  // (all heads averaged). Empty for a model without attention.
  view::AttentionMap attention = {};
};

struct TranslatedLine {
  std::vector<Translation> translations;  // best first; none for an empty line
  std::string text() const { return translations.empty() ? std::string() : translations[0].text; }
};

// Where each piece of a sentence looks in the sentence itself while it is read, in one head of the encoder.
struct SelfAttention {
  std::int64_t layer = 0, head = 0;
  view::AttentionMap map;
};

struct GenerateOptions {
  std::int64_t max_tokens = 100;
  float temperature = 1;   // 0: greedy
  std::int64_t top_k = 0;  // 0: all; 1: greedy
  float top_p = 1, min_p = 0, repetition_penalty = 1;
  std::int64_t beams = 0;  // above 0: beam search instead of drawing
  std::int64_t samples = 1;
  std::uint64_t seed = 1;
  // Up to 15 tokens are guessed ahead and read in one step (speculative decoding); 0: none. The text stays the same.
  std::int64_t speculate = 0;
  std::vector<std::string> stops = {};  // the text ends before the first of these
  // Hears the text of a single sample as it grows. The pieces joined are what generate() returns.
  std::function<void(std::string_view piece)> on_text = {};
  // Asked after every token; true ends the text there.
  std::function<bool()> interrupted = {};
};

struct Generated {
  std::string text;  // without the prompt
  std::int64_t tokens = 0;
  bool finished = false;   // the model ended it, or a stop string did; else it was cut at max_tokens
  std::int64_t steps = 0;  // of the model, fewer than tokens if guesses were right; 0 without speculative decoding
};

// Many prompts: how many texts are written at once, and who hears of them.
struct ManyOptions {
  std::int64_t batch = 32;
  // The texts of a prompt, when those of all prompts before it have been told.
  std::function<void(std::size_t prompt, const std::vector<Generated>& texts)> on_done = {};
  std::function<void(std::int64_t done, std::int64_t tokens)> on_progress = {};  // texts, and tokens of all of them
};

struct Perplexity {
  double nats = 0;  // a token
  std::int64_t tokens = 0;
  double value() const;
};

struct Detected {
  std::int32_t label = 0;
  float score = 0;
  data::Box box = {};
  std::int32_t query = 0;  // whose answer it is
};

struct DescribeOptions {
  std::int64_t beams = 0;  // 1: greedy; 0: as the model's folder says, 4 where it says nothing
  float alpha = -1;        // of the length penalty (Wu et al. 2016); below 0: the folder's penalty, or 0.6
  bool sample = false;     // draws instead of searching
  float temperature = 1;
  std::int64_t top_k = 0;  // 0: all
  float top_p = 1;
  std::uint64_t seed = 1;
  std::uint32_t first = 0;      // number of the first image, for the draws
  bool attention = false;       // keep where each word looked
  std::int64_t max_length = 0;  // tokens; 0: as many as the model writes
};

struct Description {
  std::string text;
  float score = 0;                     // normalised log-probability
  bool finished = true;                // false: cut at the maximum length
  std::vector<std::int32_t> ids = {};  // without start and end
  // With attention: the tokens, the end mark among them, and where each looked, row by row of a grid over the image.
  std::vector<std::string> tokens = {};
  Extent2 grid = {};
  std::vector<float> looks = {};  // [tokens, grid]
};

// What a drawing is made of: shares of classes add up to 1.
struct DrawingPlan {
  std::vector<float> noise;
  std::vector<float> classes;
};

}  // namespace attend::tasks
