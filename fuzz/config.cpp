// Any bytes as the config.json of each kind of model: a config that is accepted, and the model's own shape of it.
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/catalogue/marian.h"
#include "attend/models/bert.h"
#include "attend/models/gpt2.h"
#include "attend/models/seq2seq.h"

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
    attempt([&] { models::bert_config(json, "input"); });
    attempt([&] { models::gpt2_config(json, "input"); });
    attempt([&] { tasks::marian_config(json, "input"); });
    attempt([&] { models::make_seq2seq(json, "input"); });
  });
  return 0;
}
