#include "attend/train/loop/run_state.h"

#include "attend/base/error.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/safetensors_writer.h"

namespace attend::train {

namespace {

// The flat buffers of a run under the names they have in the file.
template <class Fn>
void for_each_buffer(std::span<const OptimizedParameters> all, Fn fn) {
  for (const OptimizedParameters& one : all) {
    const auto add = [&](const char* what, const Tensor& flat) {
      if (flat.defined()) fn(one.name.empty() ? std::string(what) : one.name + "." + what, flat);
    };
    add("master", one.parameters.master());
    add("buffers", one.parameters.buffers());
    add("first_moment", one.optimizer.first_moment());
    add("units8", one.parameters.units8());
    add("second_moment", one.optimizer.second_moment());
    add("average", one.optimizer.average());
    add("average_buffers", one.optimizer.average_buffers());
  }
}

}  // namespace

void produce_state(const FileWriter& write, const RunState& state, std::span<const OptimizedParameters> all) {
  checkpoint::SafetensorsWriter writer;
  for_each_buffer(all, [&](const std::string& name, const Tensor& flat) { writer.add(name, flat); });
  const Json json = {{"step", state.step},
                     {"seconds", state.seconds},
                     {"items", state.items},
                     {"best_score", state.best_score},
                     {"best_loss", state.best_loss},
                     {"best_step", state.best_step},
                     {"validations_since_best", state.validations_since_best},
                     {"checkpoints", state.checkpoints},
                     {"since_log",
                      {{"steps", state.since_log.steps},
                       {"items", state.since_log.items},
                       {"losses", state.since_log.losses},
                       {"seconds", state.since_log.seconds}}},
                     {"position", state.position}};
  writer.set_metadata("attend_run", json.dump());
  writer.produce(write);
}

namespace {

RunState counters_in(const checkpoint::Safetensors& file, const std::string& path) {
  const auto found = file.metadata().find("attend_run");
  check(found != file.metadata().end(), "{}: not the state of a training run", path);
  RunState state;
  try {
    const Json json = parse_json(found->second, path);
    json.at("step").get_to(state.step), json.at("seconds").get_to(state.seconds);
    if (json.contains("items")) json.at("items").get_to(state.items);  // not in states of version 0.1
    json.at("best_score").get_to(state.best_score), json.at("best_loss").get_to(state.best_loss);
    json.at("best_step").get_to(state.best_step);
    json.at("validations_since_best").get_to(state.validations_since_best);
    json.at("checkpoints").get_to(state.checkpoints);
    const Json& since = json.at("since_log");
    since.at("steps").get_to(state.since_log.steps), since.at("items").get_to(state.since_log.items);
    since.at("losses").get_to(state.since_log.losses), since.at("seconds").get_to(state.since_log.seconds);
    state.position = json.at("position");
  } catch (const Error&) {
    fail("{}: the counters of the run are damaged", path);
  }
  return state;
}

}  // namespace

RunState read_counters(const std::filesystem::path& file) {
  return counters_in(checkpoint::Safetensors::open(file.string()), file.string());
}

RunState load_state(const std::filesystem::path& from, std::span<const OptimizedParameters> all) {
  const std::string path = from.string();
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path);
  RunState state = counters_in(file, path);
  for_each_buffer(all, [&](const std::string& name, const Tensor& flat) {
    check(file[name].shape == flat.shape(), "{}: '{}' is {}, but this model has {}: the run was another model's", path,
          name, file[name].shape, flat.shape());
    file.load(name, flat);
  });
  for (const OptimizedParameters& one : all) one.parameters.master_changed();
  return state;
}

}  // namespace attend::train
