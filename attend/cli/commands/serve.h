// attend serve: models behind the HTTP interfaces that existing clients speak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/limits.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/streams.h"
#include "attend/tasks/embedder.h"

namespace attend::cli {

class Flags;

struct ServeOptions {
  std::vector<std::string> models;  // [NAME=]FOLDER, or the name of a shipped one; none: all that are shipped
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string unix_path;
  std::string api_key_file;
  std::string cors_origin;
  std::int64_t max_connections = 1024, max_concurrent = 512, max_batch_tokens = 4096, max_rows = 16, kept_prompts = 4,
               batch_wait_us = 0;
  std::int64_t max_client_batch_size = 2048, max_pixels = limits::kMostPixels;
  std::string max_body = "2MB", max_image = "20MB", max_memory;
  double request_timeout = 30, idle_timeout = 75, drain_timeout = 30;  // seconds
  std::string access_log = "text";
  bool look = true;
  std::string pooling = {};  // empty: as each model says
  DeviceFlags device = {};
};

// "2MB", "512K", "1000" -> bytes. Throws Error for what is none.
std::size_t bytes_named(const std::string& text, const std::string& flag, double most = 4e9);

void run_serve(const ServeOptions& options, const Streams& streams);
void add_serve_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
