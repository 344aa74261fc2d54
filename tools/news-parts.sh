# What tools/news-data, news-distil, news-back and news-models have in common. They source it in the repository's root.
# shellcheck shell=bash
data=.data

# Copies of pairs that newspapers need and the corpora hardly have. Only English headlines capitalise their words.
variants=(--quotes 0.5 --no-full-stop 0.03 --quoted 0.02)
variants_of() {  # LANGUAGES
  if [ "${1%-*}" = en ]; then echo --title-case 0.02 "${variants[@]}"; else echo "${variants[@]}"; fi
}

# Test and validation sets of two languages: no line of them may be in a training set.
held_out_sets() {  # en-fr or en-de
  local prefix language
  for prefix in "$data"/newstest/newstest20{13,14-enfr,14-ende} "$data/tatoeba-$1"/{valid,test} "$data/parallel-$1"/europarl.{dev,test} \
                "$data/parallel-$1/wmt22.test" "$data"/europarl-de-en/short30.{dev,test} "$data"/multi30k/{val,test_2016_flickr}; do
    for language in en "${1#en-}"; do
      if [ -f "$prefix.$language" ]; then echo "$prefix.$language"; fi
    done
  done
}

# TEXT TO SECONDS FLAGS...: translates a text greedily with $PROCESSES (3) of attend translate, for SECONDS at most (0: until all is
# done), into TEXT.source and TEXT.target. What a process had when time was up counts; a later call with more time continues. The lines
# of TEXT should be in no order, so that those that are left are like the others.
translate_for() {
  local text=$1 to=$2 seconds=$3 shard processes=${PROCESSES:-3} failed=0 jobs=()
  shift 3
  if [ ! -d "$text.shards" ]; then
    rm -rf "$text.shards.new"
    mkdir "$text.shards.new"
    split -n "r/$processes" -a 2 -d "$text" "$text.shards.new/"
    mv "$text.shards.new" "$text.shards"
  fi
  for shard in "$text.shards"/??; do
    [ -s "$shard" ] || continue
    timeout --signal TERM "$seconds" "$ATTEND" translate --beams 1 --batch "${BATCH:-512}" "$@" --output "$shard.$to" --resume "$shard" \
      2> "$shard.log" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    local code=0
    wait "$job" || code=$?
    if [ $code != 0 ] && [ $code != 124 ]; then failed=$code; fi
  done
  if [ $failed != 0 ]; then
    tail -n 3 "$text.shards"/*.log >&2
    echo "a translation of $text failed with exit code $failed: its messages are above, and in $text.shards/*.log" >&2
    return 1
  fi
  : > "$text.source"
  : > "$text.target"
  for shard in "$text.shards"/??; do
    local done=$shard.$to
    [ -f "$done" ] || done=$done.partial
    [ -s "$done" ] || continue
    cat "$done" >> "$text.target"
    head -n "$(wc -l < "$done")" "$shard" >> "$text.source"
  done
  printf 'translated %d of %d lines of %s\n' "$(wc -l < "$text.target")" "$(wc -l < "$text")" "$text"
  [ -s "$text.target" ] || { echo "not one batch of $text was translated in $seconds s: give it more time" >&2; return 1; }
}

# A text in an order that depends on nothing but the text itself.
in_no_order() { awk 'BEGIN { srand(41) } { printf "%.9f\t%s\n", rand(), $0 }' | LC_ALL=C sort | cut -f2-; }
