// Opening, closing, reading results: all of attend/c.h but the calls that compute.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "attend/base/unicode/unicode.h"
#include "attend/capi/guard.h"
#include "attend/capi/model.h"

namespace attend::capi {

namespace {

// Of fixed size: keeping a message must not fail.
thread_local char last_message[2048] = "";

// UTF-8, though it may name a file that is not, and is cut where it is too long.
void keep_message(std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), sizeof last_message - 1);
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::memcpy(last_message, text.data(), length);
  last_message[length] = 0;
}

void keep_message(const std::exception& error) noexcept {
  try {
    keep_message(replace_invalid_utf8(error.what()));
  } catch (...) {
    keep_message("out of memory");
  }
}

}  // namespace

attend_status failed() noexcept {
  try {
    throw;
  } catch (const ArgumentError& error) {
    keep_message(error);
    return ATTEND_ARGUMENT;
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return ATTEND_NO_MEMORY;
  } catch (const std::exception& error) {
    keep_message(error);
  } catch (...) {
    keep_message("something that is no error was thrown");
  }
  return ATTEND_ERROR;
}

}  // namespace attend::capi

using attend::capi::check_argument;
using attend::capi::guarded;
using attend::capi::held;
using attend::capi::release;
using attend::capi::Results;

extern "C" {

const char* attend_message(void) { return attend::capi::last_message; }
const char* attend_version(void) { return ATTEND_VERSION; }

attend_status attend_open(const char* path_or_name, const attend_open_options* options, attend_model** model) {
  return guarded([&] {
    check_argument(model, "attend_open: the place for the model is null");
    *model = nullptr;
    check_argument(path_or_name, "attend_open: the name of the folder is null");
    const attend_open_options given = attend::capi::options_of("attend_open", options);
    *model = attend::capi::keep<attend_model>(attend::capi::open_model(path_or_name, given));
  });
}

void attend_close(attend_model** model) {
  if (!model) return;
  release(*model);
  *model = nullptr;
}

const char* attend_task(const attend_model* model) {
  const char* name = "";
  guarded([&] { name = attend::catalogue::name_of(attend::capi::opened("attend_task", model)->task).data(); });
  return name;  // names are literals, and end with 0
}

size_t attend_results_lines(const attend_results* results) {
  const auto found = held(results);
  return found ? found->lines.size() : 0;
}

size_t attend_results_count(const attend_results* results, size_t line) {
  const auto found = held(results);
  return found && line < found->lines.size() ? found->lines[line].size() : 0;
}

attend_status attend_results_item(const attend_results* results, size_t line, size_t index, attend_item* item) {
  return guarded([&] {
    check_argument(results && item, "attend_results_item: {} is null", results ? "the place for the item" : "results");
    const auto found = held(results);
    check_argument(found != nullptr, "attend_results_item: these results were freed, or are none");
    check_argument(line < found->lines.size(), "attend_results_item: line {} was asked for, but there are {}", line,
                   found->lines.size());
    check_argument(index < found->lines[line].size(),
                   "attend_results_item: item {} of line {} was asked for, but there are {}", index, line,
                   found->lines[line].size());
    const Results::Item& from = found->lines[line][index];
    attend::capi::write_out("attend_results_item", item,
                            {.size = 0,
                             .text = from.text.c_str(),
                             .label = from.label.c_str(),
                             .score = from.score,
                             .begin = from.begin,
                             .end = from.end,
                             .box = {from.box[0], from.box[1], from.box[2], from.box[3]}});
  });
}

const char* attend_results_text(const attend_results* results, size_t line, size_t index) {
  const auto found = held(results);
  if (!found || line >= found->lines.size() || index >= found->lines[line].size()) return "";
  const Results::Item& item = found->lines[line][index];  // which the handle keeps
  return item.text.empty() ? item.label.c_str() : item.text.c_str();
}

void attend_results_free(attend_results** results) {
  if (!results) return;
  release(*results);
  *results = nullptr;
}

void attend_tensor_free(attend_tensor* tensor) {
  if (!tensor) return;
  release(tensor->owner);
  *tensor = {};
}

}  // extern "C"
