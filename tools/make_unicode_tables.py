#!/usr/bin/env python3
"""Writes attend/metrics/unicode_tables.h: the properties of characters that sacreBLEU's tokenizers look at.

  tools/make_unicode_tables.py > attend/metrics/unicode_tables.h

Categories come from the `regex` module, which is what sacreBLEU's intl tokenizer asks; lower case is Python's own
str.lower(), and so is the rule for a final sigma: which characters it counts as letters with case, and which it looks
through, is found by asking it.
"""
import sys
import unicodedata

import regex

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]


def ranges(test):
    """The characters that pass the test, as [first, last] pairs."""
    found = []
    for character in CHARACTERS:
        if not test(character):
            continue
        code = ord(character)
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def ends_final(text):
    return text.lower()[-1] == "ς"


def cased(character):
    return ends_final(character + "Σ")


def case_ignorable(character):
    return not cased(character) and ends_final("A" + character + "Σ")


def lower_runs():
    """[first, last, stride, distance] of the upper case letters; alternating alphabets have stride 2."""
    runs = []
    for character in CHARACTERS:
        lower = character.lower()
        # U+0130 alone becomes two characters and the sigma depends on its neighbours: code handles both.
        if lower == character or character in "\u0130Σ":
            continue
        assert len(lower) == 1, hex(ord(character))
        code, distance = ord(character), ord(lower) - ord(character)
        if runs and runs[-1][3] == distance:
            first, last, stride, _ = runs[-1]
            gap = code - last
            if gap == stride or (first == last and gap <= 2):
                runs[-1] = [first, code, gap, distance]
                continue
        runs.append([code, code, 1, distance])
    return runs


def table(name, kind, comment, rows):
    lines, line = [], ""
    for row in rows:
        cell = "{" + ", ".join([f"0x{row[0]:X}", f"0x{row[1]:X}"] + [str(v) for v in row[2:]]) + "},"
        if len(line) + len(cell) + 1 > 116:
            lines.append(line)
            line = ""
        line += (" " if line else "") + cell
    lines.append(line)
    body = "\n".join("    " + line for line in lines)
    print(f"// {comment}\nconstexpr {kind} {name}[] = {{\n{body}\n}};\n")


print(f"""\
// Ranges of characters by property, in order. Made by tools/make_unicode_tables.py: do not edit.
// regex {regex.__version__} for the categories, Python {sys.version.split()[0]} (Unicode \
{unicodedata.unidata_version}) for case.
// clang-format off
#pragma once

#include <cstdint>

namespace attend::metrics {{

struct CharacterRange {{
  char32_t first, last;
}};

// Every stride-th character of [first, last] has its lower case at a distance.
struct LowerRun {{
  char32_t first, last;
  std::int32_t stride, distance;
}};
""")
for name, category in [("Punctuation", "P"), ("Symbol", "S"), ("Number", "N")]:
    pattern = regex.compile(rf"\p{{{category}}}")
    table(f"k{name}", "CharacterRange", f"Category {category}.", ranges(pattern.match))
table("kLower", "LowerRun", "Upper case letters.", lower_runs())
table("kCased", "CharacterRange", "A sigma after one of these, and before none, is final.", ranges(cased))
table("kCaseIgnorable", "CharacterRange", "What the final sigma looks through.", ranges(case_ignorable))
print("}  // namespace attend::metrics")
