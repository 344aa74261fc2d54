#include "attend/look/api/inspection_json.h"
#include "attend/base/json.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "attend/look/inspect/head_roles.h"

namespace attend::look {

namespace {

// Four digits: what an image can show, at a third of the bytes.
Json rounded(float value) { return std::round(static_cast<double>(value) * 1e4) / 1e4; }

// The same for weights, 0 to 1: "0", "0.25", "1".
void append_weight(std::string& text, float weight) {
  const long units = weight > 0 ? std::lround(std::min(weight, 1.0f) * 1e4f) : 0;
  if (units == 0 || units == 10000) {
    text += units == 0 ? '0' : '1';
    return;
  }
  char digits[7] = "0.0000";
  long rest = units;
  for (int i = 5; i >= 2; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  int end = 6;
  while (digits[end - 1] == '0') --end;
  text.append(digits, static_cast<std::size_t>(end));
}

Json roles_json(std::span<const HeadRole> roles) {
  Json list = Json::array();
  for (const HeadRole& one : roles) {
    list.push_back({{"role", one.role}, {"share", rounded(static_cast<float>(one.share))}});
    if (!one.token.empty()) list.back()["token"] = one.token;
  }
  return list;
}

void append_attention(std::string& text, const SeenAttention& seen, std::span<const HeadRole> roles) {
  Json place = place_json(seen.place, seen.heads);
  place["roles"] = roles_json(roles);
  if (seen.causal || seen.window.bars(seen.causal))
    place["reach"] = {{"causal", seen.causal},
                      {"before", seen.window.before},
                      {"after", seen.causal ? 0 : seen.window.after},
                      {"globals", seen.window.globals}};
  if (!seen.marked.empty() && place.contains("reach")) place["reach"]["marked"] = seen.marked;
  std::string head = dumped(place);
  head.back() = ',';
  text += head + "\"weights\":[";
  const float* weight = seen.weights.data();
  for (std::int64_t h = 0; h < seen.heads; ++h) {
    text += h ? ",[" : "[";
    for (std::size_t r = 0; r < seen.rows; ++r) {
      text += r ? ",[" : "[";
      for (std::size_t c = 0; c < seen.columns; ++c) {
        if (c) text += ',';
        append_weight(text, *weight++);
      }
      text += ']';
    }
    text += ']';
  }
  text += "]}";
}

void put_span(Json& json, const text::Span& span) {
  if (span.begin < span.end) json["span"] = {span.begin, span.end};
}

Json step_json(const InspectedStep& step) {
  Json candidates = Json::array();
  for (const Candidate& candidate : step.candidates) {
    candidates.push_back(
        {{"id", candidate.id}, {"text", candidate.text}, {"probability", rounded(candidate.probability)}});
    put_span(candidates.back(), candidate.span);
  }
  Json json = {
      {"chosen", step.chosen}, {"probability", rounded(step.probability)}, {"candidates", std::move(candidates)}};
  if (step.place >= 0) json["place"] = step.place;
  put_span(json, step.span);
  return json;
}

}  // namespace

std::string dumped(const Json& json) { return json.dump(); }

Json place_json(const AttentionPlace& place, std::int64_t heads) {
  return {{"stack", place.stack}, {"kind", place.kind}, {"layer", place.layer}, {"heads", heads}};
}

std::string inspection_text(const Inspection& inspection, const std::string& start) {
  const std::vector<std::vector<HeadRole>> roles = head_roles(inspection, start);
  Json steps = Json::array(), beam = Json::array();
  for (const InspectedStep& step : inspection.steps) steps.push_back(step_json(step));
  for (const BeamPiece& piece : inspection.beam)
    beam.push_back({{"parent", piece.node.parent},
                    {"id", piece.node.token},
                    {"text", piece.text},
                    {"step", piece.node.step},
                    {"score", rounded(piece.node.score)},
                    {"ended", piece.node.ended}});
  std::string text = dumped({{"source", {{"ids", inspection.source_ids}, {"pieces", inspection.source}}},
                             {"target", {{"ids", inspection.target_ids}, {"pieces", inspection.target}}},
                             {"text", inspection.text},
                             {"score", rounded(inspection.score)},
                             {"finished", inspection.finished},
                             {"steps", std::move(steps)},
                             {"beam", std::move(beam)}});
  text.back() = ',';
  text += "\"attention\":[";
  for (std::size_t i = 0; i < inspection.attention.size(); ++i) {
    if (i) text += ',';
    append_attention(text, inspection.attention[i], roles[i]);
  }
  return text + "]}";
}

}  // namespace attend::look
