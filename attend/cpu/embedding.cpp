// Rows of a table by id, with their positions; and the gradient, which sorts the ids so that each row of the table
// is summed once, in f32, in the order of the tokens, by one thread.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/packed_weight.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

// Rows of a table, plain or packed; the latter in memory of the thread that reads them.
class TableRows {
 public:
  explicit TableRows(const Tensor& table)
      : dtype_(table.dtype()), width_(table.dim(-1)), packed_(cpu::packed_weight_of(table)) {
    if (packed_ == nullptr) table_ = table;
  }

  const void* operator()(std::int64_t row) const {
    if (packed_ == nullptr) return table_.at(row);
    thread_local std::vector<float> wide;
    thread_local std::vector<Bf16> narrow;
    wide.resize(static_cast<std::size_t>(width_));
    packed_->weights().read_row(row, wide.data());
    if (dtype_ == DType::f32) return wide.data();
    narrow.resize(wide.size());
    for (std::size_t i = 0; i < wide.size(); ++i) narrow[i] = Bf16(wide[i]);
    return narrow.data();
  }

 private:
  cpu::View table_;
  DType dtype_;
  std::int64_t width_;
  const cpu::CpuPackedWeight* packed_;
};

}  // namespace

void CpuBackend::embedding(const Tensor& ids, const Tensor& table, float scale, const Tensor& positions,
                           const Tensor& position_ids, const Tensor& y) {
  const std::int64_t tokens = ids.size(), width = table.dim(-1), T = std::max<std::int64_t>(1, ids.width());
  const std::int32_t* id = ids.data<std::int32_t>();
  const std::int32_t* place = position_ids.defined() ? position_ids.data<std::int32_t>() : nullptr;
  const auto embed = [=, rows = TableRows(table), places = cpu::View(positions), y = cpu::View(y),
                      entries = table.dim(0),
                      kernel = rows_.embed[cpu::kind_of(y)]](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      void* out = cpu::at(y.data, i * width, y.dtype);
      const std::int64_t position = place ? place[i] : i % T;
      const bool known = id[i] >= 0 && id[i] < entries && (!places.data || (position >= 0 && position < places.rows));
      if (!known) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (std::int64_t c = 0; c < width; ++c)
          if (y.dtype == DType::bf16)
            static_cast<Bf16*>(out)[c] = Bf16(nan);
          else
            static_cast<float*>(out)[c] = nan;
        continue;
      }
      const void* added = places.data ? places.at(position) : nullptr;
      kernel(rows(id[i]), scale, added, out, width);
    }
  };
  run(cpu::RowWork{tokens, width, embed});
}

void CpuBackend::embedding_backward(const Tensor& dy, const Tensor& ids, float scale, const Grad& table) {
  if (!table) return;
  const std::int64_t tokens = ids.size(), entries = table.into.dim(0), width = table.into.dim(1);
  const std::int32_t* id = ids.data<std::int32_t>();
  // A counting sort: order[first[e] .. first[e + 1]) are the tokens of entry e. Ids outside the table are left out.
  auto* first = reinterpret_cast<std::int32_t*>(scratch(entries + 2 + tokens));
  std::int32_t* order = first + entries + 2;
  std::memset(first, 0, static_cast<std::size_t>(entries + 2) * sizeof(std::int32_t));
  const auto known = [&](std::int32_t e) { return e >= 0 && e < entries; };
  for (std::int64_t i = 0; i < tokens; ++i)
    if (known(id[i])) ++first[id[i] + 2];
  for (std::int64_t e = 0; e < entries; ++e) first[e + 2] += first[e + 1];
  for (std::int64_t i = 0; i < tokens; ++i)
    if (known(id[i])) order[first[id[i] + 1]++] = static_cast<std::int32_t>(i);
  // Blocks of entries and of columns: a frequent entry (padding) is shared out by columns.
  constexpr std::int64_t kColumns = 256;
  const std::int64_t columns = (width + kColumns - 1) / kColumns;
  const std::int64_t grain = std::max<std::int64_t>(1, cpu::kPiece / kColumns);
  const std::int64_t blocks = (entries + grain - 1) / grain;
  const auto kernel = rows_.gather_sum[cpu::kind_of(dy)][cpu::kind_of(table.into)];
  pool().for_each(blocks * columns, [&](std::int64_t task) {
    const std::int64_t column = task % columns * kColumns, n = std::min(kColumns, width - column);
    const std::int64_t begin = task / columns * grain, end = std::min(entries, begin + grain);
    for (std::int64_t e = begin; e < end; ++e) {
      void* row = cpu::at(table.into.raw(), e * table.into.row_stride() + column, table.into.dtype());
      const std::int64_t count = first[e + 1] - first[e];
      if (count > 0)
        kernel(cpu::at(dy.raw(), column, dy.dtype()), width, order + first[e], count, scale,
               cpu::Out{row, table.accumulate}, n);
      else if (!table.accumulate)
        std::memset(row, 0, static_cast<std::size_t>(n) * bytes_of(table.into.dtype()));
    }
  });
}

void CpuBackend::put_rows(const Tensor& x, const Tensor& ids, const Tensor& table) {
  const bool parted = table.rank() == 4;
  const std::int64_t width = table.dim(-1), parts = parted ? table.dim(1) : 1, entries = table.rows() / parts;
  const std::int64_t places = parted ? table.dim(2) : entries;
  const auto kernel = x.dtype() == table.dtype() ? nullptr : rows_.scale[cpu::kind_of(x)][cpu::kind_of(table)];
  const auto put = [=, x = cpu::View(x), table = cpu::View(table), id = ids.data<std::int32_t>()](std::int64_t begin,
                                                                                                  std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (id[i] < 0 || id[i] >= entries) continue;
      for (std::int64_t part = 0; part < parts; ++part) {
        void* to = table.at((id[i] / places * parts + part) * places + id[i] % places);
        if (kernel)
          kernel(x.at(i, part * width), 1.0f, {to, false}, width);
        else
          std::memcpy(to, x.at(i, part * width), static_cast<std::size_t>(width) * bytes_of(x.dtype));
      }
    }
  };
  run(cpu::RowWork{ids.size(), parts * width, put});
}

}  // namespace attend
