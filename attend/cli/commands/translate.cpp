#include "attend/cli/commands/translate.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/progress.h"
#include "attend/base/terminal.h"
#include "attend/base/unicode/unicode.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/image_input.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/cli/support/shared_windows.h"
#include "attend/tasks/ensemble.h"
#include "attend/tasks/model_folder.h"
#include "attend/view/attention_json.h"
#include "attend/view/attention_svg.h"
#include "attend/view/terminal_heat_map.h"

namespace attend::cli {

namespace {

constexpr const char* kTranslateExamples = R"(
  echo "I am a student." | attend translate # use the bundled model
  echo "Je suis une étudiante." | attend translate # it also translates French to English
  attend translate --model runs/en-de test.en > test.de # translate a file, line by line
  attend translate --show-attention # show the attention weights
  attend translate --model opus-mt-en-fr < test.en # a Marian model from the Hugging Face hub
  attend translate --model runs/a --model runs/b < test.en # an ensemble: the mean of their probabilities
  attend translate --attention-svg figure.svg < line.txt # the figure of Bahdanau et al. 2015
  attend translate --n-best 4 --beams 8 < test.en # "3 ||| -0.4137 ||| text": line from 1, score, text
  attend translate --json --n-best 4 < test.en # {"line", "source", "text", "translations": [..]}
  attend translate --alignments < test.en # text, tab, "0-0 1-2": source word - target word
  attend translate --sample --temperature 0.8 --top-k 20 --seed 7 < test.en)";

constexpr std::int64_t kLineWindow = 16;  // batches that are sorted by length together

// Everything that is written for a line, in whatever form was asked for.
class Writer {
 public:
  // out: for the lines; images of attention are for streams.out.
  Writer(const TranslateCommandOptions& options, const Streams& streams, OutputFiles& outputs, std::ostream& out)
      : options_(options), streams_(streams), outputs_(outputs), out_(out) {
    if (options.attention_json.empty()) return;
    json_ = outputs_.writer(options.attention_json);
    json_("[");
  }

  void write(std::int64_t number, const std::string& source, const tasks::TranslatedLine& line) {
    std::ostream& out = out_;
    if (options_.json) {
      out << json_of(number, source, line).dump() << '\n';
    } else if (options_.translate.n_best > 1) {
      for (const tasks::Translation& translation : line.translations) {
        out << fmt::format("{} ||| {:.4f} ||| {}", number, translation.score, translation.text);
        if (options_.alignments) out << " ||| " << alignment(translation);
        out << '\n';
      }
    } else {
      out << line.text();
      if (options_.alignments) out << '\t' << (line.translations.empty() ? "" : alignment(line.translations[0]));
      out << '\n';
    }
    image(number, source, line);
  }

  void finish() {
    if (json_) json_("\n]\n");
    outputs_.commit();
  }

 private:
  static std::string alignment(const tasks::Translation& translation) {
    return view::to_pharaoh(view::align(view::merge_words(translation.attention), tasks::kEndToken));
  }

  Json json_of(std::int64_t number, const std::string& source, const tasks::TranslatedLine& line) const {
    Json translations = Json::array();
    for (const tasks::Translation& translation : line.translations) {
      Json one = {{"text", translation.text}, {"score", translation.score}, {"finished", translation.finished}};
      if (options_.alignments) one["alignment"] = alignment(translation);
      translations.push_back(std::move(one));
    }
    return {{"line", number},
            {"source", replace_invalid_utf8(source)},
            {"text", line.text()},
            {"translations", std::move(translations)}};
  }

  void image(std::int64_t number, const std::string& source, const tasks::TranslatedLine& line) {
    if (line.translations.empty()) return;
    const tasks::Translation& best = line.translations[0];
    if (best.attention.target.empty()) return;
    const view::AttentionMap map = options_.tokens ? view::trimmed(best.attention) : view::merge_words(best.attention);
    if (options_.show_attention)
      streams_.out << view::draw({map.target, map.source, map.weights}, streams_.out_terminal) << '\n';
    if (!options_.attention_svg.empty())
      outputs_.write(svg_path(), view::attention_svg(map, {.source = source, .target = best.text}));
    if (json_) {
      Json json = {{"line", number}};
      json.update(view::to_json(map));
      json_((objects_++ ? ",\n" : "\n") + json.dump());
    }
  }

  // The first figure has the name that was asked for, the others a number: figure.svg, figure-2.svg.
  std::filesystem::path svg_path() {
    const std::filesystem::path path = numbered(options_.attention_svg, ++figures_);
    if (figures_ > 1) outputs_.add({"--attention-svg", path});
    return path;
  }

  const TranslateCommandOptions& options_;
  const Streams& streams_;
  OutputFiles& outputs_;
  std::ostream& out_;
  FileWriter json_;
  std::int64_t objects_ = 0, figures_ = 0;
};

bool wants_attention(const TranslateCommandOptions& options) {
  return options.alignments || options.show_attention || !options.attention_json.empty() ||
         !options.attention_svg.empty();
}

void list_translate_flags(Flags& flags, TranslateCommandOptions& options) {
  tasks::TranslateOptions& translate = options.translate;
  flags.add("files", options.files, "Text files, one sentence per line. Standard input by default.");
  flags
      .add("--model", options.models,
           "Model folder, or the name of a bundled model. Given several times, the models translate together.")
      .one_at_a_time()
      .shown_as(tasks::kShippedTranslator)
      .then([&options] {
        for (std::string& model : options.models) model = tasks::find_model(model).string();
      });
  add_output_flags(flags, options.output, options.resume, "the translations");
  flags.add("--beams", translate.beams, "Beam size; 1 is greedy search.")
      .between(1, static_cast<double>(limits::kMostBeams))
      .shown_as("4, or num_beams in generation_config.json");
  flags.add("--n-best", translate.n_best, "Translations per line, printed as \"line ||| score ||| text\".");
  flags.add("--json", options.json,
            "Print one JSON object per line: line, source, text, and translations with scores.");
  flags.add("--alpha", translate.alpha, "Length penalty (Wu et al. 2016).")
      .between(0, 10)
      .shown_as("0.6, or length_penalty in generation_config.json");
  const Flag sample = flags.add("--sample", translate.sample, "Sample tokens instead of using beam search.");
  flags.add("--temperature", translate.temperature, "Sampling temperature. Lower values are more predictable.")
      .needs(sample);
  flags.add("--top-k", translate.top_k, "Sample from the k most likely tokens; 0 means all.")
      .group("Decoding")
      .needs(sample);
  flags.add("--seed", translate.seed, "Random seed for sampling.").group("Decoding").needs(sample);
  flags
      .add("--alignments", options.alignments,
           "Append a tab and the word alignment, \"0-0 1-2\", from the attention weights.")
      .group("Output");
  flags.add("--show-attention", options.show_attention, "Show the attention weights in the terminal.");
  flags
      .add("--attention-svg", options.attention_svg,
           "Write the attention weights as an SVG figure. A second line goes to NAME-2.svg.")
      .group("Output");
  flags
      .add("--attention", options.attention_json,
           "Write the attention weights as JSON: a list of {line, source, target, weights}.")
      .group("Output");
  flags.add("--tokens", options.tokens, "Show attention weights between tokens instead of words.").group("Output");
  add_batch_flag(flags, translate.batch, "Sentences per batch.");
  add_max_line_flag(flags, options.max_line);
  flags.add("--unbuffered", options.unbuffered, "Translate each line before reading the next, as in a terminal.");
  add_device_flags(flags, options.device);
  add_weights_flag(flags, options.device);
}

// What the answers depend on, besides the lines.
Json asked_of(const TranslateCommandOptions& options) {
  const tasks::TranslateOptions& how = options.translate;
  return {{"command", "translate"},
          {"ensemble", options.models.size() > 1 ? Json(options.models) : Json()},
          {"beams", how.beams},
          {"n-best", how.n_best},
          {"json", options.json},
          {"alpha", how.alpha},
          {"sample", how.sample},
          {"temperature", how.temperature},
          {"top-k", how.top_k},
          {"seed", how.seed},
          {"alignments", options.alignments},
          {"dtype", options.device.dtype},
          {"weights", options.device.weights}};
}

void check_attention(const TranslateCommandOptions& options, const Streams& streams, const models::Seq2Seq& model,
                     const std::filesystem::path& folder) {
  check(!wants_attention(options) || options.models.size() < 2,
        "translate: attention weights are shown of one model; give --model once");
  check(!wants_attention(options) || !model.alignment_label().empty(),
        "translate: the model in {} has no attention to show", folder.string());
  check(!options.json || !options.show_attention,
        "translate: --show-attention draws between the lines of --json; --attention FILE has the weights as JSON");
  check((streams.world->size() == 1 && !options.resume) ||
            (!options.show_attention && options.attention_json.empty() && options.attention_svg.empty()),
        "translate: --show-attention, --attention and --attention-svg are for one process, without --resume");
}

// Translates all lines, window by window. The signal that stopped it; 0: none.
int translate_lines(const TranslateCommandOptions& options, const Streams& streams, const tasks::Translator& translator,
                    LineInput& input, SharedWindows& shared, std::int64_t window, Writer& writer) {
  const bool several = streams.world->size() > 1;
  tasks::TranslateOptions translate = options.translate;
  translate.attention = wants_attention(options);
  translate.warn = [&](std::string_view message) {
    streams.err << "attend: " << printable(message) << '\n' << std::flush;
  };
  std::optional<Progress> progress;
  if (streams.world->is_root() && !options.files.empty() && (several || streams.err_terminal.interactive))
    progress.emplace(streams.err, Progress::Options{.label = "translating",
                                                    .total = input.count_lines(),
                                                    .start = shared.written(),
                                                    .terminal = streams.err_terminal});
  std::int64_t finished = shared.skip(input);
  translate.first_line += finished;
  translate.done = [&](std::int64_t lines) {
    finished += lines;  // of one process; the others' are added when they pass
    if (progress) progress->update(finished);
  };
  bool stopped = false;
  int signal = 0;
  for (auto lines = input.next_lines(window); !lines.empty() && !stopped; lines = input.next_lines(window)) {
    // Only while it computes: who waits for input can be ended at once. Several are ended by who started them.
    std::optional<InterruptGuard> interrupt;
    if (!several) interrupt.emplace();
    translate.stop = [&] { return stopped = interrupt && interrupt->requested(); };
    std::vector<tasks::TranslatedLine> translated;
    if (shared.mine()) translated = translator.translate(lines, translate);
    if (interrupt) signal = interrupt->signal();
    if (stopped && shared.keeps_note()) break;
    for (std::size_t i = 0; i < translated.size(); ++i)
      writer.write(translate.first_line + static_cast<std::int64_t>(i), lines[i], translated[i]);
    shared.next(lines.size());
    translate.first_line += static_cast<std::int64_t>(lines.size());
    finished = translate.first_line - 1;
    if (progress) progress->update(finished);  // empty lines too
    if (interrupt) signal = interrupt->signal();
    stopped = stopped || signal != 0;
  }
  // What cannot be gone on with ends here, with the lines there are.
  if (!stopped || !shared.keeps_note()) shared.finish();
  if (progress) progress->finish();
  return stopped ? signal : 0;
}

}  // namespace

void run_translate(const TranslateCommandOptions& options, const Streams& streams) {
  std::vector<std::filesystem::path> folders(options.models.begin(), options.models.end());
  if (folders.empty()) folders = {tasks::find_model(tasks::kShippedTranslator)};
  const std::filesystem::path& folder = folders.front();
  OutputFiles outputs(command_files(streams, {.outputs = {{"--output", options.output == "-" ? "" : options.output},
                                                          {"--attention", options.attention_json},
                                                          {"--attention-svg", options.attention_svg}},
                                              .files = options.files,
                                              .model = folder.string()}));
  LineInput input({.files = options.files, .max_line = options.max_line}, streams.in);
  const auto backend = options.device.open(*streams.world);
  const tasks::LoadedTranslators loaded(folders, *backend, options.device.format());
  check_attention(options, streams, loaded.model(), folder);
  const bool one_by_one = options.unbuffered || input.typed();
  const std::int64_t window = one_by_one ? 1 : kLineWindow * options.translate.batch;
  SharedWindows shared(streams, {.files = options.files,
                                 .output = options.output,
                                 .resume = options.resume,
                                 .window = window,
                                 .model = folder,
                                 .asked = asked_of(options)});
  if (shared.complete()) return;
  Writer writer(options, streams, outputs, shared.out());
  int signal = 0;
  shared.run([&] {
    signal = translate_lines(options, streams, loaded.translator(), input, shared, window, writer);
    writer.finish();
  });
  if (signal == 0) return;
  streams.err << "attend: interrupted; later lines were not translated"
              << (shared.keeps_note() ? ", --resume continues after them\n" : "\n") << std::flush;
  throw Interrupted{signal};
}

void add_translate_command(Flags& program, const Streams& streams) {
  add_command<TranslateCommandOptions>(program, streams,
                                       {.name = "translate",
                                        .help = "Translate text, one sentence per line.",
                                        .examples = kTranslateExamples,
                                        .notes = {"Empty lines stay empty. With --n-best, --alignments adds a fourth "
                                                  "field. Ctrl-C stops after the current batch."}},
                                       list_translate_flags, run_translate);
}

}  // namespace attend::cli
