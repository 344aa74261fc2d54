// Attention computed by hand, in double precision, with every step kept: the formula of Vaswani et al. 2017 for any
// numbers of queries (n), keys (m), d_k and d_v, and the scores that other papers use instead of q·k.
//   q [n, d_q]   k [m, d_k]   v [m, d_v]   scores, scaled, weights [n, m]   output [n, d_v]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/view/figure.h"
#include "attend/view/named_matrix.h"

namespace attend::view {

enum class Score : std::uint8_t {
  dot,       // q·k (Luong et al. 2015); with the scale 1/√d_k that of Vaswani et al. 2017
  additive,  // w·tanh(q + k) (Bahdanau et al. 2015), q and k projected already; w [1, d_k], ones if empty
  general,   // q W kᵀ (Luong et al. 2015); w [d_q, d_k], the identity if empty
  cosine,    // q·k / (|q| |k|) (Graves et al. 2014)
};

struct AttentionSettings {
  Score score = Score::dot;
  bool scaled = true;   // divide the scores by √d_k
  bool causal = false;  // query i sees the keys up to i + (m - n): the last query sees all
};

struct WorkedAttention {
  AttentionSettings settings = {};
  NamedMatrix q = {}, k = {}, v = {}, w = {};  // w is empty where the score needs none
  NamedMatrix scores = {}, scaled = {}, weights = {}, output = {};
  double divisor = 1;  // √d_k, or 1

  bool visible(std::size_t query, std::size_t key) const { return !settings.causal || key + q.rows <= query + k.rows; }
};

// Rows without names are called q1, k1 and so on. Throws Error naming both shapes when they do not fit.
WorkedAttention work_attention(NamedMatrix q, NamedMatrix k, NamedMatrix v, NamedMatrix w,
                               const AttentionSettings& settings);

struct WorkedStep {
  std::string formula;        // "scaled = scores / √64 = scores / 8"
  const NamedMatrix* matrix;  // one of the result's
  bool hides = false;         // masked places are shown as a dash
};
std::vector<WorkedStep> steps_of(const WorkedAttention& worked);

// Every step as a table of numbers with so many digits behind the point. Long tables are cut, and say so.
std::string worked_tables(const WorkedAttention& worked, int digits);
// The steps from left to right as grids; the stronger the colour, the larger the number.
Figure worked_figure(const WorkedAttention& worked, int digits);

}  // namespace attend::view
