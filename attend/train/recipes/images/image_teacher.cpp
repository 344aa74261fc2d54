#include "attend/train/recipes/images/image_teacher.h"

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"

namespace attend::train {

namespace {

void check_same_images(const std::string& folder, const tasks::ImageEncoder& teacher, const models::ImageModel& student,
                       const image::PreprocessorConfig& images) {
  const Extent2 reads = teacher.model().size(), given = student.size();
  check(teacher.model().any_size() || (reads.h == given.h && reads.w == given.w),
        "{}: the teacher reads images of {} x {}, but the student of {} x {}; set --image-size {}", folder, reads.w,
        reads.h, given.w, given.h, reads.w);
  const image::PreprocessorConfig& its = teacher.preprocessor().config();
  check(its.mean == images.mean && its.std == images.std,
        "{}: the teacher's images have mean {} and std {}, but the student's {} and {}; set --mean and --std to the "
        "teacher's",
        folder, joined(its.mean, ","), joined(its.std, ","), joined(images.mean, ","), joined(images.std, ","));
  check(teacher.model().labels() == student.labels(),
        "{}: the teacher's labels are {}, but the student's {}; they must be the same, in the same order", folder,
        joined(teacher.model().labels(), ", "), joined(student.labels(), ", "));
}

}  // namespace

// log Σ exp z of a row is its cross entropy with class 0 plus z₀, so all is made of ops that have gradients:
//   CE(z, 0) + Σ (e₀ - p) · z
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probabilities) {
  const Tensor z = logits.dtype() == DType::f32 ? logits : ops::cast(logits, DType::f32);
  Backend& backend = z.backend();
  const Tensor zeros = like(z, {z.rows()}, DType::i32), first = like(z, {z.width()});
  backend.fill(zeros, 0);
  backend.fill(first, 0);
  backend.fill(first.slice_first(0, 1), 1);
  const Tensor rest = ops::add(ops::scale(probabilities, -1), first);          // [B, V]
  const Tensor products = ops::sum(ops::multiply(z, rest), 1);                 // [B]
  return ops::add(ops::cross_entropy(z, zeros).mean, ops::mean(products, 0));  // [1]
}

ImageTeacher::ImageTeacher(const std::filesystem::path& folder, const Student& student,
                           const DistillationOptions& options)
    : options_(options),
      encoder_(folder, catalogue::Task::classify_images, student.backend, nn::ModelFormat(student.dtype)),
      dtype_(student.dtype),
      pass_(student.backend),
      graph_(pass_) {
  check_same_images(folder.string(), encoder_, student.model, student.images);
}

void ImageTeacher::look(const Tensor& batch) {
  if (!labels_.defined()) {
    const auto classes = static_cast<std::int64_t>(encoder_.model().labels().size());
    labels_ = make_tensor(pass_.backend(), {batch.dim(0)}, DType::i32);
    probabilities_ = make_tensor(pass_.backend(), {batch.dim(0), classes}, DType::f32);
  }
  graph_.run(0, 0, [&] {
    const Tensor pixels = pass_.input(batch);
    const Tensor logits = encoder_.model().logits(dtype_ == DType::f32 ? pixels : ops::cast(pixels, dtype_));
    const Tensor t = logits.dtype() == DType::f32 ? logits : ops::cast(logits, DType::f32);  // [B, V]
    Backend& backend = t.backend();
    if (options_.hard) {
      backend.strided_copy({ops::max(t, 1).index, 0, {1}}, {labels_, 0, {1}}, labels_.shape(), false);
    } else {
      backend.scale(ops::softmax(ops::scale(t, 1 / options_.temperature)), 1, {probabilities_});
    }
  });
}

Tensor ImageTeacher::loss(const Tensor& logits, const Tensor& of_labels) const {
  Pass& pass = *logits.pass();
  const float tau = options_.temperature;
  const Tensor of_teacher =
      options_.hard
          ? ops::cross_entropy(logits, pass.input(labels_)).mean
          : ops::scale(soft_cross_entropy(ops::scale(logits, 1 / tau), pass.input(probabilities_)), tau * tau);
  return ops::add(ops::scale(of_labels, 1 - options_.weight), ops::scale(of_teacher, options_.weight));
}

}  // namespace attend::train
