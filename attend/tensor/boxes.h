// Boxes of an image, and how far two of them are apart. As models have them: centre, width and height, all in parts of
// the image. Every function here is constexpr, so that both devices and the host ask the same ones.
#pragma once

namespace attend::boxes {

template <class T>
struct Corners {
  T left, top, right, bottom;
  constexpr T area() const { return (right - left) * (bottom - top); }
};

// From centre x, centre y, width, height.
template <class T>
constexpr Corners<T> corners(const T* box) {
  return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
}

template <class T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
constexpr T l1_distance(const T* a, const T* b) {
  T sum = 0;
  for (int i = 0; i < 4; ++i) sum += a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
  return sum;
}

// What two boxes share, what they cover together, and the smallest box around both.
template <class T>
struct Overlap {
  T shared_width, shared_height, hull_width, hull_height;  // at least 0
  T shared, together, hull;

  constexpr Overlap(const Corners<T>& a, const Corners<T>& b)
      : shared_width(larger(smaller(a.right, b.right) - larger(a.left, b.left), T{0})),
        shared_height(larger(smaller(a.bottom, b.bottom) - larger(a.top, b.top), T{0})),
        hull_width(larger(larger(a.right, b.right) - smaller(a.left, b.left), T{0})),
        hull_height(larger(larger(a.bottom, b.bottom) - smaller(a.top, b.top), T{0})),
        shared(shared_width * shared_height),
        together(a.area() + b.area() - shared),
        hull(hull_width * hull_height) {}
};

// Intersection over union, less the part of the box around both that neither covers (Rezatofighi et al. 2019): 1 for
// the same box, towards -1 for small ones far apart. Two boxes without any area have 0.
template <class T>
constexpr T giou(const Corners<T>& a, const Corners<T>& b) {
  const Overlap<T> o(a, b);
  if (!(o.together > 0) || !(o.hull > 0)) return 0;
  return o.shared / o.together - (o.hull - o.together) / o.hull;
}

// The slopes of giou(a, b) by a's corners.
template <class T>
constexpr Corners<T> giou_slopes(const Corners<T>& a, const Corners<T>& b) {
  const Overlap<T> o(a, b);
  if (!(o.together > 0) || !(o.hull > 0)) return {0, 0, 0, 0};
  const T by_together = 1 / o.hull - o.shared / (o.together * o.together);
  const T by_shared = 1 / o.together - by_together;  // together = a + b - shared
  const T by_hull = -o.together / (o.hull * o.hull);
  const bool meet = o.shared_width > 0 && o.shared_height > 0;
  const T width = a.right - a.left, height = a.bottom - a.top;
  // An edge of a moves the shared part where it is the inner one, and the hull where it is the outer one.
  const auto edge = [&](T area, bool inner, T shared, T hull) {
    return by_together * area + (inner && meet ? by_shared * shared : T{0}) + (inner ? T{0} : by_hull * hull);
  };
  return {-edge(height, a.left > b.left, o.shared_height, o.hull_height),
          -edge(width, a.top > b.top, o.shared_width, o.hull_width),
          edge(height, a.right < b.right, o.shared_height, o.hull_height),
          edge(width, a.bottom < b.bottom, o.shared_width, o.hull_width)};
}

// The slopes of by_l1 · l1_distance(a, b) + by_giou · (1 - giou(a, b)) by a.
template <class T>
constexpr void distance_slopes(const T* a, const T* b, T by_l1, T by_giou, T (&slopes)[4]) {
  const Corners<T> of = giou_slopes(corners(a), corners(b));
  slopes[0] = -by_giou * (of.left + of.right);
  slopes[1] = -by_giou * (of.top + of.bottom);
  slopes[2] = -by_giou * (of.right - of.left) / 2;
  slopes[3] = -by_giou * (of.bottom - of.top) / 2;
  for (int i = 0; i < 4; ++i) slopes[i] += a[i] > b[i] ? by_l1 : a[i] < b[i] ? -by_l1 : T{0};
}

}  // namespace attend::boxes
