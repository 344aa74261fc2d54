// Opening, closing, reading results: all of attend/c.h but the calls that compute.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "attend/capi/guard.h"
#include "attend/capi/model.h"

namespace attend::capi {

namespace {

// Of fixed size: keeping a message must not fail.
thread_local char last_message[2048] = "";

void keep_message(const char* text) noexcept {
  std::strncpy(last_message, text, sizeof last_message - 1);
  last_message[sizeof last_message - 1] = 0;
}

}  // namespace

attend_status failed() noexcept {
  try {
    throw;
  } catch (const ArgumentError& error) {
    keep_message(error.what());
    return ATTEND_ARGUMENT;
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return ATTEND_NO_MEMORY;
  } catch (const std::exception& error) {
    keep_message(error.what());
  } catch (...) {
    keep_message("something that is no error was thrown");
  }
  return ATTEND_ERROR;
}

}  // namespace attend::capi

using attend::capi::check_argument;
using attend::capi::guarded;

extern "C" {

const char* attend_message(void) { return attend::capi::last_message; }
const char* attend_version(void) { return ATTEND_VERSION; }

attend_status attend_open(const char* path_or_name, const attend_open_options* options, attend_model** model) {
  return guarded([&] {
    check_argument(model, "attend_open: the place for the model is null");
    *model = nullptr;
    check_argument(path_or_name, "attend_open: the name of the folder is null");
    attend_open_options given = {};
    if (options) {
      check_argument(options->size >= sizeof(size_t), "attend_open: 'size' of the options is {}, but must be {}",
                     options->size, sizeof given);
      std::memcpy(&given, options, std::min(options->size, sizeof given));
    }
    *model = attend::capi::keep_open(attend::capi::open_model(path_or_name, given));
  });
}

void attend_close(attend_model** model) {
  if (!model) return;
  attend::capi::close(*model);
  *model = nullptr;
}

const char* attend_task(const attend_model* model) {
  const char* name = "";
  guarded([&] { name = attend::catalogue::name_of(attend::capi::opened("attend_task", model)->task).data(); });
  return name;  // names are literals, and end with 0
}

size_t attend_results_lines(const attend_results* results) { return results ? results->lines.size() : 0; }

size_t attend_results_count(const attend_results* results, size_t line) {
  return results && line < results->lines.size() ? results->lines[line].size() : 0;
}

attend_status attend_results_item(const attend_results* results, size_t line, size_t index, attend_item* item) {
  return guarded([&] {
    check_argument(results && item, "attend_results_item: {} is null", results ? "the place for the item" : "results");
    check_argument(line < results->lines.size(), "attend_results_item: line {} was asked for, but there are {}", line,
                   results->lines.size());
    check_argument(index < results->lines[line].size(),
                   "attend_results_item: item {} of line {} was asked for, but there are {}", index, line,
                   results->lines[line].size());
    const attend_results::Item& found = results->lines[line][index];
    *item = {.text = found.text.c_str(),
             .label = found.label.c_str(),
             .score = found.score,
             .begin = found.begin,
             .end = found.end,
             .box = {found.box[0], found.box[1], found.box[2], found.box[3]}};
  });
}

const char* attend_results_text(const attend_results* results, size_t line, size_t index) {
  if (index >= attend_results_count(results, line)) return "";
  const attend_results::Item& item = results->lines[line][index];
  return item.text.empty() ? item.label.c_str() : item.text.c_str();
}

void attend_results_free(attend_results** results) {
  if (!results) return;
  delete *results;
  *results = nullptr;
}

void attend_tensor_free(attend_tensor* tensor) {
  if (!tensor) return;
  std::free(tensor->data);
  *tensor = {};
}

}  // extern "C"
