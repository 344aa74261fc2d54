// The program under mpirun, as a user starts it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attend/base/files.h"

namespace attend::test {

// build/tests/world_test -> build
inline std::filesystem::path build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

// Why programs cannot be started together here; "" when they can.
inline std::string no_mpirun() {
  if (std::getenv("ATTEND_EMULATOR")) return "under an emulator";
  if (!std::filesystem::exists(build_folder() / "attend")) return "the program is not built";
  if (!std::filesystem::exists(build_folder() / "libattend_mpi.so")) return "the MPI plugin is not built";
  if (std::system("command -v mpirun > /dev/null") != 0) return "there is no mpirun";
  return "";
}

// A started command, and where its output goes.
struct Started {
  pid_t pid = 0;
  std::filesystem::path out, err;
};

// What is different for one of them: an ATTEND_FAULT (its disk is full, or it is killed, at some call on files), or
// further arguments.
struct RankFault {
  int rank = -1;
  std::string fault = {};
  std::string more = {};
  std::string launcher = "mpirun";  // OpenMPI's; mpirun.mpich where that is installed
};

// ranks 0: without mpirun.
inline Started start_ranks(int ranks, const std::vector<std::string>& args, const std::filesystem::path& folder,
                           const RankFault& fault = {}) {
  std::vector<std::string> all;
  if (ranks > 0) all = {fault.launcher, "-n", std::to_string(ranks)};
  if (fault.rank >= 0) {
    const std::string condition =
        "if [ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = " + std::to_string(fault.rank) + " ]; then ";
    all.insert(all.end(), {"sh", "-c",
                           condition + "export ATTEND_FAULT=" + fault.fault + "; set -- \"$@\" " + fault.more +
                               "; fi; exec \"$0\" \"$@\""});
  }
  all.push_back((build_folder() / "attend").string());
  all.insert(all.end(), args.begin(), args.end());
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  static int number = 0;
  const std::string name = "output-" + std::to_string(++number);
  Started started{.out = folder / (name + ".out"), .err = folder / (name + ".err")};
  // Each has a folder of its own for its sockets: one that ends would remove a common one while another begins.
  const std::filesystem::path sockets = folder / ("mpi-" + std::to_string(number));
  std::filesystem::create_directories(sockets);
  started.pid = fork();
  if (started.pid == 0) {
    // OpenMPI: also as root, also with fewer cores than ranks, and none bound to a core.
    for (const char* set : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                            "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"})
      setenv(set, "1", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    setenv("OMPI_MCA_orte_tmpdir_base", sockets.c_str(), 1);
    if (fault.rank >= 0) setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);  // the others end at once
    const auto put = [](const std::filesystem::path& path, int flags, int as) {
      if (dup2(open(path.c_str(), flags, 0600), as) < 0) _exit(126);
    };
    put(started.out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    put(started.err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    put("/dev/null", O_RDONLY, STDIN_FILENO);
    execvp(words[0], words.data());
    _exit(127);
  }
  return started;
}

// The exit code; -1 when it was killed.
inline int wait_for(const Started& started) {
  int status = 0;
  waitpid(started.pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The processes that mpirun has started so far, in the order of their ranks.
inline std::vector<pid_t> ranks_of(pid_t mpirun) {
  const std::string id = std::to_string(mpirun);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; children >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace attend::test
