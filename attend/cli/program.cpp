#include "attend/cli/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <ostream>
#include <thread>

#include "attend/base/interrupt.h"
#include "attend/base/memory.h"
#include "attend/base/terminal.h"
#include "attend/checkpoint/unread_tensors.h"
#include "attend/cli/commands/answer.h"
#include "attend/cli/commands/attention.h"
#include "attend/cli/commands/classify.h"
#include "attend/cli/commands/convert.h"
#include "attend/cli/commands/data.h"
#include "attend/cli/commands/demo.h"
#include "attend/cli/commands/describe.h"
#include "attend/cli/commands/detect.h"
#include "attend/cli/commands/devices.h"
#include "attend/cli/commands/draw.h"
#include "attend/cli/commands/embed.h"
#include "attend/cli/commands/evaluate.h"
#include "attend/cli/commands/experiment.h"
#include "attend/cli/commands/fill.h"
#include "attend/cli/commands/generate.h"
#include "attend/cli/commands/info.h"
#include "attend/cli/commands/lab.h"
#include "attend/cli/commands/look.h"
#include "attend/cli/commands/make_data.h"
#include "attend/cli/commands/preprocess.h"
#include "attend/cli/commands/rerank.h"
#include "attend/cli/commands/score.h"
#include "attend/cli/commands/serve.h"
#include "attend/cli/commands/tag.h"
#include "attend/cli/commands/tokenize.h"
#include "attend/cli/commands/train.h"
#include "attend/cli/commands/train_tokenizer.h"
#include "attend/cli/commands/translate.h"
#include "attend/cli/commands/verify.h"
#include "attend/cli/commands/version.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/write_documents.h"
#include "attend/world/agreement.h"

namespace attend::cli {

namespace {

constexpr const char* kProgramExamples = R"(
  attend demo                                              # translate a few sentences and show the attention weights
  echo "I am a student." | attend translate
  attend help train                                        # print the flags of a command)";

// The width of the terminal within bounds; text that goes to a file or a pipe has 100 columns.
HelpStyle help_style(const Terminal& terminal) {
  if (!terminal.interactive) return {};
  return {.width = std::clamp(terminal.width, 80, 120), .bold = terminal.color};
}

// What is wrong for all of several processes is said by the first: it ends the others while they hold back.
void say_error(const Streams& streams, std::string_view message) {
  const world::World& world = *streams.world;
  if (!world.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::string who = world.size() > 1 ? fmt::format("rank {} of {}: ", world.rank(), world.size()) : "";
  streams.err << "attend: " << who << printable(message) << '\n' << std::flush;
}

void add_commands(Flags program, const Streams& streams, const std::vector<std::string>& args) {
  program.begin_group("Use a model");
  add_translate_command(program, streams);
  add_generate_command(program, streams);
  add_fill_command(program, streams);
  add_classify_command(program, streams);
  add_tag_command(program, streams);
  add_answer_command(program, streams);
  add_embed_command(program, streams);
  add_rerank_command(program, streams);
  add_detect_command(program, streams);
  add_describe_command(program, streams);
  add_draw_command(program, streams);
  add_perplexity_command(program, streams);
  program.begin_group("Look inside");
  add_demo_command(program, streams);
  add_look_command(program, streams);
  add_experiment_command(program, streams);
  add_lab_command(program, streams);
  add_attention_command(program, streams);
  add_info_command(program, streams);
  program.begin_group("Train and evaluate");
  add_train_command(program, streams, args);
  add_evaluate_command(program, streams);
  add_score_command(program, streams);
  add_data_command(program, streams);
  add_make_data_command(program, streams);
  add_train_tokenizer_command(program, streams);
  add_preprocess_command(program, streams);
  program.begin_group("Serve and tools");
  add_serve_command(program, streams);
  add_convert_command(program, streams);
  add_verify_command(program, streams);
  add_tokenize_command(program, streams);
  add_devices_command(program, streams);
  add_completions_command(program, streams);
  add_manual_command(program, streams);
}

}  // namespace

int run_program(const std::vector<std::string>& args, const Streams& streams) {
  // A write beyond `ulimit -f` is an error like that of a full disk (EFBIG), and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CommandLine line(
      {.name = "attend",
       .help = "Train, run, serve and visualise classic Transformers: translation, BERT, GPT-2, ViT, DETR.",
       .examples = kProgramExamples,
       .notes = {"Run attend COMMAND --help for the flags of a command, and attend train --task TASK --help "
                 "for the settings of a training task."}},
      version_text);
  const checkpoint::UnreadGuard unread({.warn = [&](const std::string& message) {
    if (streams.world->is_root()) streams.err << "attend: " << printable(message) << '\n';
  }});
  try {
    world::check_agreement(*streams.world, {{"command", args.empty() ? "" : args[0]}});
    add_commands(line.flags(), streams, args);
    line.run(args, streams.out, help_style(streams.out_terminal));
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (const OutOfMemory& error) {
    say_error(streams, error.what());
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    say_error(streams, fmt::format("cannot use '{}': {}", error.path1().string(), error.code().message()));
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

}  // namespace attend::cli
