// TensorBoard's event files, as far as curves need them: records with checksums (TFRecord), each an Event of protocol
// buffers with a step and numbers under names. The fields are those of TensorFlow's event.proto and summary.proto, the
// records those of its record_writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::train {

// Castagnoli's CRC, as iSCSI has it (RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

// length, its checksum, the bytes, their checksum.
std::string event_record(std::string_view event);

// What every such file begins with.
std::string event_file_header(double wall_time);

struct CurvePoint {
  std::string name;
  double value = 0;
};
std::string curve_event(double wall_time, std::int64_t step, const std::vector<CurvePoint>& points);

// The records at the beginning of a file that are whole, of the header and of steps up to this one, without those of an
// average, which is the end of a run.
std::string kept_events(std::string_view file, std::int64_t step);

}  // namespace attend::train
