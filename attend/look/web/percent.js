// Probabilities in words, as the program writes them (percent_of in attend/look/inspect/candidates.cpp): never a certainty
// that is none.
export function percent(p) {
  const x = 100 * p;
  if (x > 0 && x < 0.05) return "under 0.1 %";
  if (x >= 99.95 && x < 100) return "over 99.9 %";
  return `${x.toFixed(x < 10 || (x > 99 && x < 100) ? 1 : 0)} %`;
}
