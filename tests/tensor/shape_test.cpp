// Shapes, windows and reshaping; the way between host and device.
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/tensor/shape.h"
#include "attend/tensor/tensor.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

TEST(Shape, CountsElementsAndRows) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.size(), 30);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape.with_last(7), (Shape{2, 3, 7}));
  EXPECT_EQ(shape.to_string(), "[2, 3, 5]");
  EXPECT_EQ(Shape{}.size(), 1);
  EXPECT_EQ((Shape{0, 4}).size(), 0);
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
}

TEST(Shape, RefusesWhatItCannotHold) {
  Shape shape{1, 2, 3, 4, 5, 6};
  EXPECT_THROW(shape.append(7), Error);
  EXPECT_THROW(shape[6], Error);
  EXPECT_THROW(shape[-7], Error);
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW(shape.set(0, -2), Error);
}

TEST(Tensor, ReshapesWithoutCopying) {
  const Tensor x = tensor_of(cpu(), {2, 6}, counted(12));
  const Tensor y = x.reshape({3, -1});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(y.raw(), x.raw());
  EXPECT_EQ(download(y), counted(12));
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{12}));
  EXPECT_EQ(x.flat_rows().shape(), (Shape{2, 6}));
  EXPECT_THROW(x.reshape({5, -1}), Error);
  EXPECT_THROW(x.reshape({-1, -1}), Error);
  EXPECT_THROW(x.reshape({3, 5}), Error);
}

TEST(Tensor, WindowsOntoColumns) {
  const Tensor x = tensor_of(cpu(), {2, 2, 6}, counted(24));
  const Tensor middle = x.columns(2, 2);
  EXPECT_FALSE(middle.contiguous());
  EXPECT_EQ(middle.row_stride(), 6);
  EXPECT_EQ(download(middle), (std::vector<float>{2, 3, 8, 9, 14, 15, 20, 21}));
  // Leading axes may be folded; the width may not change.
  EXPECT_EQ(download(middle.reshape({4, 2})), download(middle));
  EXPECT_THROW(middle.reshape({8}), Error);
  EXPECT_THROW(x.columns(5, 2), Error);
  EXPECT_THROW(x.columns(-1, 2), Error);
  EXPECT_THROW(upload(middle, counted(8)), Error);
}

TEST(Tensor, WindowsOntoRows) {
  const Tensor x = tensor_of(cpu(), {4, 3}, counted(12));
  const Tensor rows = x.slice_first(1, 2);
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_TRUE(rows.contiguous());
  EXPECT_EQ(download(rows), counted(6, 3));
  EXPECT_EQ(download(tensor_of(cpu(), {5}, counted(5)).slice_first(2, 3)), counted(3, 2));
  EXPECT_EQ(download(x.columns(1, 1).slice_first(2, 2)), (std::vector<float>{7, 10}));
  EXPECT_EQ(download(x.slice_first(4, 0)), std::vector<float>{});
  EXPECT_THROW(x.slice_first(3, 2), Error);
}

TEST(Tensor, ChecksWhatIsReadAs) {
  const Tensor x = tensor_of(cpu(), {3}, counted(3));
  EXPECT_EQ(x.data<float>()[2], 2);
  EXPECT_THROW(x.data<Bf16>(), Error);
  EXPECT_THROW(download_ints(x), Error);
  EXPECT_THROW(upload(x, counted(4)), Error);
  EXPECT_THROW(upload(x, std::vector<std::int32_t>{1, 2, 3}), Error);
}

TEST(Tensor, ConvertsOnTheWayToAndFromTheDevice) {
  const Tensor x = tensor_of(cpu(), {3}, {1, 1.00390625f, -3.14159274f}, DType::bf16);
  EXPECT_EQ(download(x), (std::vector<float>{1, 1, -3.140625f}));  // to nearest even
}

class Copies : public OnDevice {};

TEST_P(Copies, ComeBackAsTheyWent) {
  const std::vector<float> values = counted(1037, -500);
  EXPECT_EQ(download(tensor_of(backend(), {17, 61}, values)), values);
  EXPECT_EQ(download(tensor_of(backend(), {0, 5}, {})), std::vector<float>{});
  Tensor ids = make_tensor(backend(), {3}, DType::i32);
  upload(ids, std::vector<std::int32_t>{5, -7, 1 << 30});
  EXPECT_EQ(download_ints(ids), (std::vector<std::int32_t>{5, -7, 1 << 30}));
}

TEST_P(Copies, FillTakesWindowsAndEveryDtype) {
  Tensor x = tensor_of(backend(), {2, 3}, counted(6));
  backend().fill(x.columns(1, 2), 9);
  EXPECT_EQ(download(x), (std::vector<float>{0, 9, 9, 3, 9, 9}));
  Tensor half = make_tensor(backend(), {5}, DType::bf16);
  backend().fill(half, 0.5f);
  EXPECT_EQ(download(half), std::vector<float>(5, 0.5f));
  Tensor ids = make_tensor(backend(), {5}, DType::i32);
  backend().fill(ids, -3);
  EXPECT_EQ(download_ints(ids), std::vector<std::int32_t>(5, -3));
}

INSTANTIATE_TEST_SUITE_P(On, Copies, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
