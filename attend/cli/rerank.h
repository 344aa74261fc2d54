// attend rerank: documents in the order of their relevance for a query.
#pragma once

#include "attend/cli/streams.h"

namespace attend {

class Flags;

void add_rerank_command(Flags& program, const Streams& streams);

}  // namespace attend
