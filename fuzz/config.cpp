// Any bytes as the config.json of each kind of model: a config that is accepted, and the model's own shape of it.
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"

namespace {

template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const attend::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  attempt([&] {
    const Json json = parse_json({reinterpret_cast<const char*>(data), size}, "input");
    if (parse_json(json.dump(), "written") != json) __builtin_trap();
    for (const catalogue::Entry& entry : catalogue::entries()) attempt([&] { entry.check(json, "input"); });
    attempt([&] { catalogue::describe(json, "input"); });
  });
  return 0;
}
