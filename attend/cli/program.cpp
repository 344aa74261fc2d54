#include "attend/cli/program.h"

#include <algorithm>
#include <exception>
#include <ostream>

#include "attend/cli/answer.h"
#include "attend/cli/classify.h"
#include "attend/cli/convert.h"
#include "attend/cli/demo.h"
#include "attend/cli/devices.h"
#include "attend/cli/embed.h"
#include "attend/cli/fill.h"
#include "attend/cli/generate.h"
#include "attend/cli/info.h"
#include "attend/cli/look.h"
#include "attend/cli/score.h"
#include "attend/cli/tag.h"
#include "attend/cli/tokenize.h"
#include "attend/cli/train.h"
#include "attend/cli/train_tokenizer.h"
#include "attend/cli/translate.h"
#include "attend/cli/verify.h"
#include "attend/cli/version.h"

namespace attend {

namespace {

constexpr const char* kExamples = R"(Examples:
  attend devices                  what this machine and this build can compute with
  attend demo                     translates a few sentences and draws where the model looked
  echo "I am a student." | attend translate --show-attention
  attend train --source train.en --target train.fr --valid-source v.en --valid-target v.fr --out model
  attend score --hypotheses out.de --references test.de     BLEU, as sacreBLEU has it
  attend demo --help              the flags of one command)";

void say_error(const Streams& streams, std::string_view message) {
  streams.err << "attend: " << message << '\n' << std::flush;
}

}  // namespace

int run_program(const std::vector<std::string>& args, const Streams& streams) {
  CLI::App app("Trains, runs and shows Transformers.", "attend");
  app.footer(kExamples);
  app.set_version_flag("--version", version_text);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  add_answer_command(app, streams);
  add_classify_command(app, streams);
  add_convert_command(app, streams);
  add_devices_command(app, streams);
  add_demo_command(app, streams);
  add_look_command(app, streams);
  add_embed_command(app, streams);
  add_fill_command(app, streams);
  add_generate_command(app, streams);
  add_perplexity_command(app, streams);
  add_info_command(app, streams);
  add_score_command(app, streams);
  add_tag_command(app, streams);
  add_tokenize_command(app, streams);
  add_train_command(app, streams);
  add_train_tokenizer_command(app, streams);
  add_translate_command(app, streams);
  add_verify_command(app, streams);

  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 takes words from the back
    app.parse(std::move(reversed));
    if (app.get_subcommands().empty()) streams.out << app.help();
  } catch (const CLI::ParseError& error) {
    // --help and --version come as exceptions too, with exit code 0.
    if (error.get_exit_code() == 0) return app.exit(error, streams.out, streams.err);
    say_error(streams, std::string(error.what()) + " (see attend --help)");
    return 1;
  } catch (const std::bad_alloc&) {
    say_error(streams, "out of memory");
    return 1;
  } catch (const std::exception& error) {
    say_error(streams, error.what());
    return 1;
  }
  streams.out.flush();
  if (!streams.out) {
    say_error(streams, "cannot write the output");
    return 1;
  }
  return 0;
}

}  // namespace attend
