// Any bytes as the log of a run, read while it grows, and as the recipe beside it.
#include "attend/look/api/run_reader.h"

#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {
    .file = "log.jsonl",
    .schema = R"({"step": [1, -1, 1e30], "loss": [1.5, null], "steps": [10, "x", []], "kind": ["train", "valid"]})"};

void enter(const Input& input) {
  const std::string_view log = input["log.jsonl"];
  for (const char* name : {"look.jsonl", "recipe.json"})
    if (input.has(name))
      write(name, input[name]);
    else
      remove(name);
  look::RunReader reader(folder());
  std::size_t lines = 0;
  // A third, two thirds and all of it, then a run that began anew.
  for (const std::size_t end : {log.size() / 3, log.size() / 3 * 2, log.size(), log.size() / 2}) {
    write("log.jsonl", log.substr(0, end));
    attempt([&] {
      const Json answer = reader.lines({.log = lines});
      must(answer["log"].is_array() && answer["look"].is_array(), "an answer has lines");
      lines = answer["logs"].get<std::size_t>();
    });
  }
  remove("log.jsonl");
  attempt([&] { must(reader.lines({})["logs"] == 0, "a log that is gone has no lines"); });
}

}  // namespace attend::fuzz
