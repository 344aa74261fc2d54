#include "attend/look/inspect/text_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>

#include "attend/base/error.h"
#include "attend/look/inspect/head_roles.h"
#include "attend/view/figure_layout.h"
#include "attend/view/heads_figure.h"
#include "attend/view/text_width.h"
#include "attend/view/trace_figure.h"
#include "attend/view/words_figure.h"

namespace attend::look {

namespace {

constexpr std::int64_t kMostDrawnPositions = 48;

// What a person reads: as the page says it (attend/look/web/roles.js).
std::string role_name(const HeadRole& role) {
  if (role.role.empty()) return "mixed";
  if (role.role == "first" || role.role == "end") return role.token;
  if (role.role == "aligned-previous") return "aligned to previous";
  return role.role == "same" ? "same word" : role.role;
}

struct Sides {
  std::vector<std::string> rows, columns;
};

Sides sides_of(const Inspection& seen, const SeenAttention& layer, const std::string& start) {
  const bool translates =
      std::ranges::any_of(seen.attention, [](const SeenAttention& a) { return a.place.kind == "cross"; });
  std::vector<std::string> written = seen.source;
  if (translates) {
    written = {start};
    if (!seen.target.empty()) written.insert(written.end(), seen.target.begin(), seen.target.end() - 1);
  } else {
    written.insert(written.end(), seen.target.begin(), seen.target.end());
  }
  if (layer.place.stack == "encoder") return {seen.source, seen.source};
  return layer.place.kind == "cross" ? Sides{seen.target, seen.source} : Sides{written, written};
}

// How easily a head is read: its rows are decided, and about different tokens.
double clearness(std::span<const float> weights, std::size_t rows, std::size_t columns) {
  std::set<std::ptrdiff_t> tops;
  double sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = weights.subspan(r * columns, columns);
    const auto top = std::ranges::max_element(row);
    tops.insert(top - row.begin()), sum += static_cast<double>(*top);
  }
  return sum / static_cast<double>(rows) * static_cast<double>(tops.size()) /
         static_cast<double>(std::min(rows, columns));
}

std::span<const float> head_of(const SeenAttention& layer, std::int64_t head) {
  const std::size_t size = layer.rows * layer.columns;
  return std::span(layer.weights).subspan(static_cast<std::size_t>(head) * size, size);
}

struct Chosen {
  std::size_t layer = 0;  // of Inspection::attention
  std::int64_t head = 0;
};

Chosen chosen_head(const Inspection& seen, const TextView& view, const std::vector<std::vector<HeadRole>>& roles) {
  const AttentionPlace& last = seen.attention.back().place;
  Chosen best;
  double most = -1;
  for (std::size_t i = 0; i < seen.attention.size(); ++i) {
    const SeenAttention& layer = seen.attention[i];
    const bool wanted = view.stack.empty() ? layer.place.stack == last.stack && layer.place.kind == last.kind
                                           : layer.place.stack == view.stack;
    if (!wanted || (view.layer >= 0 && layer.place.layer != view.layer)) continue;
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const bool shifted =
          roles[i][static_cast<std::size_t>(head)].role == "aligned-previous";  // clear, but not telling
      const double clear = (shifted ? 0.5 : 1) * clearness(head_of(layer, head), layer.rows, layer.columns);
      if ((view.head >= 0 && head != view.head) || clear <= most) continue;
      most = clear, best = {i, head};
    }
  }
  check(most >= 0, "look: this model has no such head; attend info --model lists layers and heads");
  return best;
}

std::string title_of(const Inspector& inspector, const std::string& text, const Inspection& seen) {
  if (inspector.card().kind == "language-model") return text + " …" + seen.text;
  return seen.text.empty() ? text : text + " → " + seen.text;
}

view::Figure map_figure(Inspector& inspector, const Inspection& seen, const std::string& title, const Chosen* main) {
  const auto roles = head_roles(seen, inspector.card().start);
  std::vector<view::HeadsRow> rows;
  for (std::size_t i = 0; i < seen.attention.size(); ++i) {
    const SeenAttention& layer = seen.attention[i];
    view::HeadsRow row{fmt::format("{} {} {}", layer.place.stack, layer.place.kind, layer.place.layer + 1),
                       static_cast<std::size_t>(layer.heads), layer.rows, layer.columns, layer.weights};
    for (const HeadRole& role : roles[i]) row.roles.push_back(role_name(role));
    if (main && main->layer == i)
      row = {fmt::format("{}, head {} ({})", row.label, main->head + 1,
                         role_name(roles[i][static_cast<std::size_t>(main->head)])),
             1, layer.rows, layer.columns, head_of(layer, main->head)};
    if (!main || main->layer == i) rows.push_back(std::move(row));
  }
  const SeenAttention& large = seen.attention[main ? main->layer : seen.attention.size() - 1];
  const Sides sides = sides_of(seen, large, inspector.card().start);
  return view::heads_figure(rows,
                            {.title = title, .main = rows.size() - 1, .words = sides.rows, .onto = sides.columns});
}

// Which of these tokens a person means.
std::ptrdiff_t token_named(const std::vector<std::string>& tokens, const std::string& word) {
  if (word.empty()) return -1;
  std::string all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string shown = view::printable(tokens[i]);
    const std::size_t begin = std::min(shown.find_first_not_of(' '), shown.size());
    if (shown.substr(begin) == word) return static_cast<std::ptrdiff_t>(i);
    all += (i ? ", " : "") + shown.substr(begin);
  }
  fail("look: there is no token '{}' here; the tokens are {}", word, all);
}

struct DrawnHead {
  Chosen chosen;
  const std::vector<HeadRole>& roles;  // of its layer
  std::string title;
};

// One head, or all heads of its layer in colours.
view::Figure between_words(Inspector& inspector, const Inspection& seen, const DrawnHead& drawn, const TextView& view) {
  const SeenAttention& layer = seen.attention[drawn.chosen.layer];
  const bool all = view.view == "all-heads" && view.head < 0, cross = layer.place.kind == "cross";
  const Sides sides = sides_of(seen, layer, inspector.card().start);
  const std::string which = all ? fmt::format("all {} heads", layer.heads)
                                : fmt::format("head {}: {}", drawn.chosen.head + 1,
                                              role_name(drawn.roles[static_cast<std::size_t>(drawn.chosen.head)]));
  return view::words_figure({.title = drawn.title,
                             .note = fmt::format("{} {}-attention, layer {}, {}", layer.place.stack, layer.place.kind,
                                                 layer.place.layer + 1, which),
                             .words = sides.rows,
                             .onto = sides.columns,
                             .words_name = cross ? "translation" : "attending",
                             .onto_name = cross ? "source" : "attended",
                             .weights = all ? std::span<const float>(layer.weights) : head_of(layer, drawn.chosen.head),
                             .heads = all ? static_cast<std::size_t>(layer.heads) : 1,
                             .word = token_named(sides.rows, view.word)});
}

// One token through the chosen head: the named one, or the one whose row is the most decided.
view::Figure steps_of_head(Inspector& inspector, const Inspection& seen, const DrawnHead& drawn, const TextView& view,
                           const std::string& text) {
  const SeenAttention& layer = seen.attention[drawn.chosen.layer];
  SeenAttention own = layer;
  own.place.kind = "self";  // the tokens that the layer reads, also where it attends to others
  std::ptrdiff_t token = token_named(sides_of(seen, own, inspector.card().start).rows, view.word);
  if (token < 0) {
    const std::span<const float> weights = head_of(layer, drawn.chosen.head);
    token = (std::ranges::max_element(weights) - weights.begin()) / static_cast<std::ptrdiff_t>(layer.columns);
  }
  const view::Trace trace = inspector.trace({.text = text,
                                             .target = seen.target_ids,
                                             .place = layer.place,
                                             .head = drawn.chosen.head,
                                             .token = static_cast<std::int64_t>(token)});
  return view::trace_figure(trace, fmt::format("{} ({} {}-attention, layer {})", drawn.title, layer.place.stack,
                                               layer.place.kind, layer.place.layer + 1));
}

// The last attention of an answer, its heads averaged, between the words.
view::Figure answer_figure(const Inspection& seen, const std::string& start, const std::string& title) {
  const SeenAttention& last = seen.attention.back();
  const std::size_t size = last.rows * last.columns;
  std::vector<float> mean(size);
  for (std::size_t i = 0; i < last.weights.size(); ++i)
    mean[i % size] += last.weights[i] / static_cast<float>(last.heads);
  const Sides sides = sides_of(seen, last, start);
  const bool cross = last.place.kind == "cross";
  return view::words_figure(
      {.title = title,
       .note = fmt::format("{} {}-attention, layer {}, {}", last.place.stack, last.place.kind, last.place.layer + 1,
                           last.heads > 1 ? "all heads averaged" : "its only head"),
       .words = sides.rows,
       .onto = sides.columns,
       .words_name = cross ? "written" : "attending",
       .onto_name = cross ? "source" : "attended",
       .weights = mean});
}

view::Figure ablate_figure(Inspector& inspector, const Inspection& seen, const Chosen& chosen, const TextView& view,
                           const std::string& text) {
  const AttentionPlace& place = seen.attention[chosen.layer].place;
  InspectOptions options;
  std::string without;
  if (view.without == "head") {
    options.ablation.heads.push_back({place, chosen.head, 0});
    without =
        fmt::format("{} {}-attention, layer {}, head {}", place.stack, place.kind, place.layer + 1, chosen.head + 1);
  } else if (view.without == "layer") {
    options.ablation.layers.push_back({place.stack, place.layer});
    without = fmt::format("{} layer {}", place.stack, place.layer + 1);
  } else if (view.without == "word") {
    check(!view.word.empty(), "look: --without word needs --word");
    options.ablation.masked.push_back(token_named(seen.source, view.word));
    without = fmt::format("“{}”", view.word);
  } else {
    check(view.without == "positions", "look: --without is head, layer, word or positions, not '{}'", view.without);
    options.ablation.positions = false;
    without = "positions";
  }
  const Inspection changed = inspector.inspect(text, options);
  const std::string& start = inspector.card().start;
  return view::beside({answer_figure(seen, start, fmt::format("As it is: {}", seen.text)),
                       answer_figure(changed, start, fmt::format("Without {}: {}", without, changed.text))});
}

}  // namespace

view::Figure compare_page(const std::vector<ComparedModel>& models, const std::string& text) {
  std::vector<view::Figure> plain, attending;
  for (const ComparedModel& model : models) {
    const Inspection seen = model.inspector->inspect(text);
    const std::string title = fmt::format("{}: {}", model.title, seen.text);
    if (!seen.attention.empty()) {
      attending.push_back(answer_figure(seen, model.inspector->card().start, title));
      continue;
    }
    const EncoderStates states = model.inspector->states({.text = text});  // one vector is all it hands over
    plain.push_back(view::vectors_figure(title, states.summary, states.summary.size()));
  }
  plain.push_back(view::beside(attending));
  return view::stacked(plain);
}

std::vector<std::string> text_views() {
  return {"map", "heads", "words", "all-heads", "steps", "generate", "positions", "ablate"};
}

view::Figure text_page(Inspector& inspector, const std::string& text, const TextView& view) {
  const std::vector<std::string> views = text_views();
  check(std::ranges::count(views, view.view) > 0, "look: there is no view '{}' of a text", view.view);
  const Inspection seen = inspector.inspect(text);
  const std::string title = view.title.empty() ? title_of(inspector, text, seen) : view.title;
  if (view.view == "positions") {
    const PositionTable table =
        inspector.positions(std::min<std::int64_t>(kMostDrawnPositions, inspector.card().max_tokens));
    check(!table.values.empty(), "look: this model has no position vectors");
    return view::vectors_figure(view.title.empty() ? "Position vectors" : view.title, table.values, table.width);
  }
  if (view.view == "generate") {
    std::vector<view::StepBars> steps;
    for (std::size_t i = 0; i < seen.steps.size(); ++i) {
      view::StepBars& step = steps.emplace_back(view::StepBars{i < seen.target.size() ? seen.target[i] : "", {}});
      for (const Candidate& one : seen.steps[i].candidates) step.candidates.emplace_back(one.text, one.probability);
    }
    return view::steps_figure(title, steps);
  }
  check(!seen.attention.empty(), "look: this model has no attention to show");
  if (view.view == "map") return map_figure(inspector, seen, title, nullptr);
  const std::vector<std::vector<HeadRole>> roles = head_roles(seen, inspector.card().start);
  const Chosen chosen = chosen_head(seen, view, roles);
  if (view.view == "heads") return map_figure(inspector, seen, title, &chosen);
  if (view.view == "ablate") return ablate_figure(inspector, seen, chosen, view, text);
  if (view.view == "steps") return steps_of_head(inspector, seen, {chosen, roles[chosen.layer], title}, view, text);
  return between_words(inspector, seen, {chosen, roles[chosen.layer], title}, view);
}

}  // namespace attend::look
