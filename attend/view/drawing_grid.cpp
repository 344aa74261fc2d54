#include "attend/view/drawing_grid.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/view/image_heat.h"

namespace attend::view {

namespace {

constexpr double kDrawingSide = 64, kDrawingGap = 4;
constexpr Color kPlaceMark = {230, 60, 40};

double cell(std::size_t i) { return kDrawingGap + (kDrawingSide + kDrawingGap) * static_cast<double>(i); }

Figure page_of(std::size_t rows, std::size_t columns) { return {.width = cell(columns), .height = cell(rows)}; }

void put(Figure& page, std::size_t row, std::size_t column, const image::Image& pixels) {
  page.pixels.push_back({cell(column), cell(row), kDrawingSide, kDrawingSide, pixels});
}

// The frame of a place, in the square of a drawing.
void mark(Figure& page, std::size_t row, std::size_t column, const LookingPlaces& of,
          const LookingPlaces::Place& place) {
  const double width = kDrawingSide / static_cast<double>(of.columns),
               height = kDrawingSide / static_cast<double>(of.rows);
  page.rects.push_back({.x = cell(column) + width * static_cast<double>(place.column),
                        .y = cell(row) + height * static_cast<double>(place.row),
                        .width = width,
                        .height = height,
                        .color = kPlaceMark,
                        .outline = true});
}

}  // namespace

Figure drawing_grid(std::span<const image::Image> drawings, std::size_t columns) {
  check(columns >= 1, "grid: it needs at least one column");
  Figure page = page_of((drawings.size() + columns - 1) / columns, std::min(columns, drawings.size()));
  for (std::size_t i = 0; i < drawings.size(); ++i) put(page, i / columns, i % columns, drawings[i]);
  return page;
}

Figure looking_places(std::span<const LookingPlaces> drawings) {
  std::size_t most = 0;
  for (const LookingPlaces& drawing : drawings) most = std::max(most, drawing.places.size());
  Figure page = page_of(drawings.size(), most + 1);
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    const LookingPlaces& drawing = drawings[i];
    put(page, i, 0, drawing.drawing);
    for (std::size_t j = 0; j < drawing.places.size(); ++j) {
      const LookingPlaces::Place& place = drawing.places[j];
      check(place.row < drawing.rows && place.column < drawing.columns, "looking places: {}, {} is not within {} x {}",
            place.row, place.column, drawing.rows, drawing.columns);
      put(page, i, j + 1, lit(drawing.drawing, {drawing.key_rows, drawing.key_columns, place.weights}));
      mark(page, i, 0, drawing, place);
      mark(page, i, j + 1, drawing, place);
    }
  }
  return page;
}

}  // namespace attend::view
