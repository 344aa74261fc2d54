// Words for what a head does. The program measures it (attend/look/inspect/head_roles.h); here it gets its names.
const table = {
  previous: ["previous token", "previous"], next: ["next token", "next"], same: ["same word", "same"],
  first: ["first token", "first"], end: ["last token", "last"], punctuation: ["punctuation", "punct."],
  aligned: ["aligned to the word being written", "aligned"], "aligned-previous": ["aligned to the word just written", "al. prev."],
  "": ["no single pattern", "mixed"],
};
const percent = share => `${Math.round(100 * share)} %`;

// { name, brief, share, words } of one head; null where it was not measured: averages, snapshots of a run.
export function roleOf(layer, head) {
  const found = head >= 0 ? layer.roles?.[Math.min(head, layer.roles.length - 1)] : null;
  if (!found) return null;
  const [name, brief] = table[found.role] || table[""], sink = found.token && (found.role === "first" || found.role === "end");
  const whole = sink ? `${name} ‘${found.token}’` : name;
  return { name: whole, brief: sink && /^[[<]/.test(found.token) ? found.token : brief, share: found.share, mixed: !found.role,
    words: found.role ? `${whole}: ${percent(found.share)} of its weight` : `${name}: the strongest has ${percent(found.share)} of its weight` };
}
