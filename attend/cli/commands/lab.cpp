// References and checks of labs are Python, because teachers write them; this command finds the folder labs and runs
// it.
#include "attend/cli/commands/lab.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/tasks/model_folder.h"

extern char** environ;

namespace attend::cli {

namespace {

struct LabFlags {
  std::string name, file, labs, out = ".", lab;
  bool cpp = false;
  std::int64_t seed = 0;
};

// Beside the bundled models: labs/ of the source tree, or PREFIX/share/attend/labs.
std::filesystem::path labs_folder(const std::string& named) {
  if (!named.empty()) return named;
  for (const std::filesystem::path& model : tasks::places_of("none")) {
    const std::filesystem::path folder = model.parent_path().parent_path() / "labs";
    if (path_exists(folder / "lab.py")) return folder;
  }
  fail("lab: the folder labs with lab.py was not found; --labs names it");
}

// The folder with the program, labs/__main__.py, which a teacher's own labs do without.
std::filesystem::path lab_program(const std::filesystem::path& folder) {
  return path_exists(folder / "lab.py") ? folder : labs_folder("");
}

class Pipe {
 public:
  Pipe() { check(::pipe(ends_.data()) == 0, "lab: no pipe: {}", std::strerror(errno)); }
  ~Pipe() { close_end(0), close_end(1); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writing() const { return ends_[1]; }
  void close_writing() { close_end(1); }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> piece = {};
    for (;;) {
      const ssize_t count = ::read(ends_[0], piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  void close_end(std::size_t end) {
    if (const int file = std::exchange(ends_[end], -1); file >= 0) ::close(file);
  }
  std::array<int, 2> ends_ = {-1, -1};
};

struct Finished {
  int code = 0;
  std::string out, err;
};

Finished run_python(std::vector<std::string> words) {
  words.insert(words.begin(), "python3");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writing(), STDERR_FILENO);
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, "python3", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  check(failed == 0, "lab: python3 does not start: {}", std::strerror(failed));
  out.close_writing(), err.close_writing();
  auto errors = std::async(std::launch::async, [&err] { return err.read_all(); });
  Finished finished{0, out.read_all(), errors.get()};
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return finished;
}

// The program prints results, and ends with 1 if an answer is wrong; messages about files go to stderr, with another
// code.
void run_lab(const LabFlags& flags, const Streams& streams, std::vector<std::string> words) {
  const std::filesystem::path folder = labs_folder(flags.labs);
  words.insert(words.begin(), {lab_program(folder).string(), "--labs", folder.string()});
  Finished finished = run_python(std::move(words));
  streams.out << finished.out << std::flush;
  if (finished.code == 0) return;
  while (!finished.err.empty() && finished.err.back() == '\n') finished.err.pop_back();
  check(!finished.err.empty(), "lab: {} is not right yet", flags.file);
  fail("{}", finished.err);
}

}  // namespace

void add_lab_command(Flags program, const Streams& streams) {
  auto flags = std::make_shared<LabFlags>();
  Flags labs = program.command_group(
      {.name = "lab",
       .help = "Exercises that check themselves: softmax, attention, masks, BPE, beam search, DETR's matching.",
       .examples = R"(
  attend lab list                        # the labs, in the order of the lectures
  attend lab start softmax               # write softmax.py, with holes, and softmax.md, which explains
  attend lab check softmax.py            # say whether it is right, or which mistake it has)"});
  const auto add_folder = [flags](Flags& command) {
    command.add("--labs", flags->labs, "Folder with labs; by default those of this program.").takes("FOLDER");
  };
  Flags list = labs.command({.name = "list", .help = "List the labs."},
                            [flags, &streams] { run_lab(*flags, streams, {"list"}); });
  add_folder(list);
  Flags start = labs.command({.name = "start", .help = "Write the files of a lab.", .examples = R"(
  attend lab start softmax --cpp --out labs-of-mine    # softmax.cpp, softmax.md and lab.h)"},
                             [flags, &streams] {
                               std::vector<std::string> words = {"start", flags->name, "--out", flags->out};
                               if (flags->cpp) words.emplace_back("--cpp");
                               run_lab(*flags, streams, words);
                             });
  start.add("name", flags->name, "Name of the lab.").required();
  start.add("--cpp", flags->cpp, "Write a C++ file instead of a Python file.");
  start.add("--out", flags->out, "Folder for the files.").takes("FOLDER");
  add_folder(start);
  Flags check = labs.command({.name = "check", .help = "Check an answer on random cases.", .examples = R"(
  attend lab check softmax.cpp --seed 7    # compile it, and use the same cases again)"},
                             [flags, &streams] {
                               std::vector<std::string> words = {"check", flags->file};
                               if (!flags->lab.empty()) words.insert(words.end(), {"--lab", flags->lab});
                               if (flags->seed > 0) words.insert(words.end(), {"--seed", std::to_string(flags->seed)});
                               run_lab(*flags, streams, words);
                             });
  check.add("file", flags->file, "Your .py or .cpp file.").required();
  check.add("--lab", flags->lab, "Name of the lab; by default the name of the file.");
  check.add("--seed", flags->seed, "Seed of the cases; 0 takes another one each time.").between(0, 1e9);
  add_folder(check);
}

}  // namespace attend::cli
