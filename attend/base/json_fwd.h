// For headers that name Json and do not look inside.
#pragma once

namespace attend {

class Json;

}  // namespace attend
