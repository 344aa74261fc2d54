// attend rerank: documents in the order of their relevance for a query.
#pragma once

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

void add_rerank_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
