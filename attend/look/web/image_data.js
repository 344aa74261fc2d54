// Numbers about an image: weights that came packed, and where queries and keys of a layer lie over the image.
import { model, state } from "look/state";

// 16 bits each in base64, 65535 for 1; kept with what they came in.
const unpacked = new WeakMap();
export function shares(owner, name) {
  if (!unpacked.has(owner)) unpacked.set(owner, {});
  const kept = unpacked.get(owner);
  if (!kept[name]) {
    const bytes = atob(owner[name]);
    kept[name] = Float32Array.from({ length: bytes.length / 2 }, (_, i) => (bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8) / 65535);
  }
  return kept[name];
}

// The layer that is looked at, and one of its heads; -1: all averaged.
export const layerNow = () => model.attention[Math.max(0, Math.min(state.layer, model.attention.length - 1))];
export const headNow = place => Math.max(-1, Math.min(state.head, place.heads - 1));

const mean = (count, one) => {
  const parts = Array.from({ length: count }, (_, i) => one(i));
  return parts[0].map((_, k) => parts.reduce((sum, part) => sum + part[k], 0) / count);
};

// Where a head looks on the whole: from the class token, or the mean over all places. {rows, columns, weights}
export function heat(result, place, head) {
  const layer = result.attention[place.layer], [rows, columns] = layer.keys, size = rows * columns, all = shares(layer, "heat");
  const one = i => all.subarray(i * size, (i + 1) * size);
  return { rows, columns, weights: head < 0 ? mean(layer.heads, one) : one(head) };
}

// As ImageAttention::lies(): windows are cut out of a grid that was moved up and left by the shift.
function lies(place, [rows, columns], window, index) {
  const w = place.window;
  if (!w) return index - place.tokens;
  const across = Math.ceil(columns / w), down = Math.ceil(rows / w);
  const y = (Math.floor(window / across) * w + Math.floor(index / w) + place.shift) % (down * w);
  const x = (window % across * w + index % w + place.shift) % (across * w);
  return y < rows && x < columns ? y * columns + x : -1;
}

// The window of a place of the queries' grid, and its row there.
export function rowOf(place, query) {
  const [rows, columns] = place.queries, w = place.window;
  if (!w) return { window: 0, row: query + place.tokens };
  const across = Math.ceil(columns / w), down = Math.ceil(rows / w);
  const y = (Math.floor(query / columns) - place.shift + down * w) % (down * w), x = (query % columns - place.shift + across * w) % (across * w);
  return { window: Math.floor(y / w) * across + Math.floor(x / w), row: y % w * w + x % w };
}

// Where one place looks; full is all of a layer's attention.
export function heatFrom(full, head, query) {
  const [rows, columns] = full.keys, all = shares(full, "weights"), { window, row } = rowOf(full, query);
  const one = i => {
    const weights = new Float32Array(rows * columns), begin = ((window * full.heads + i) * full.rows + row) * full.columns;
    for (let c = 0; c < full.columns; ++c) {
      const at = lies(full, full.keys, window, c);
      if (at >= 0) weights[at] += all[begin + c];
    }
    return weights;
  };
  return { rows, columns, weights: head < 0 ? mean(full.heads, one) : one(head) };
}

export const largest = heat => heat.weights.reduce((most, w) => Math.max(most, w), 1e-9);
// Rows of shares of the largest, for thumbnails.
export const scaled = heat => {
  const most = largest(heat);
  return Array.from({ length: heat.rows }, (_, r) => Array.from({ length: heat.columns }, (_, c) => heat.weights[r * heat.columns + c] / most));
};
export const placeName = (index, columns) => `row ${Math.floor(index / columns) + 1}, column ${index % columns + 1}`;
export const titleOfPlace = place => `layer ${place.layer + 1}` + (place.window ? `, windows of ${place.window} × ${place.window}${place.shift ? `, shifted by ${place.shift}` : ""}` : "");
