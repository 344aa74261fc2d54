// Reference counts of memory and of the records that describe it.
#include "attend/tensor/storage.h"

#include "attend/tensor/backend.h"
#include "attend/tensor/packed_weight.h"
#include "attend/tensor/pass.h"

namespace attend {

namespace {

void drop_memory(Storage* storage) {
  if (storage->block >= 0) storage->home->arena.give_back(storage->block);
  if (storage->owned) storage->backend->free(storage->data, storage->bytes);
  storage->block = -1;
  storage->owned = false;
  storage->data = nullptr;
  storage->parent = Memory();
  storage->packed.reset();
  storage->forget_sums();
}

void drop_record(Storage* storage) {
  storage->gradient = Memory();
  storage->whole = Memory();
  if (storage->home)
    storage->home->recycle(storage);
  else
    delete storage;
}

}  // namespace

// All strong references together hold one weak one.
void acquire(Storage* storage, bool weak) {
  if (weak || storage->strong.fetch_add(1, std::memory_order_relaxed) == 0)
    storage->weak.fetch_add(1, std::memory_order_relaxed);
}

void release(Storage* storage, bool weak) {
  if (!weak) {
    if (storage->strong.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    drop_memory(storage);
  }
  if (storage->weak.fetch_sub(1, std::memory_order_acq_rel) == 1) drop_record(storage);
}

Storage* PassMemory::make() {
  if (spare.empty()) {
    all.push_back(std::make_unique<Storage>());
    spare.reserve(all.size());
    spare.push_back(all.back().get());
  }
  Storage* storage = spare.back();
  spare.pop_back();
  storage->home = this;
  return storage;
}

void PassMemory::recycle(Storage* storage) {
  storage->pass = nullptr;
  storage->bytes = 0;
  storage->differentiable = storage->keeps_gradient = storage->written = storage->gradient_f32 = false;
  storage->asks_for_sums = false;
  spare.push_back(storage);
  if (orphaned && spare.size() == all.size()) delete this;
}

}  // namespace attend
