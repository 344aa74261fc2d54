#!/usr/bin/env python3
"""Writes the tables of characters: their properties, and how they decompose and compose.

  tools/make_unicode_tables.py properties > attend/base/unicode/unicode_tables.h
  tools/make_unicode_tables.py normalization > attend/base/unicode/normalization_tables.h
  tools/make_unicode_tables.py categories > attend/base/unicode/category_tables.h

Categories come from the `regex` module, which is what sacreBLEU's intl tokenizer asks; lower case is Python's own
str.lower(), and so is the rule for a final sigma: which characters it counts as letters with case, and which it looks
through, is found by asking it. Decompositions are those of Python's unicodedata.
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
    print(f"// {comment}\ninline constexpr {kind} {name}[] = {{\n{body}\n}};\n")


def properties():
    print(f"""\
// Ranges of characters by property, in order. Made by tools/make_unicode_tables.py: do not edit.
// regex {regex.__version__} for the categories, Python {sys.version.split()[0]} (Unicode \
{unicodedata.unidata_version}) for case.
// clang-format off
#pragma once

#include <cstdint>

namespace attend {{

struct CharacterRange {{
  char32_t first, last;
}};

// Every stride-th character of [first, last] has its lower case at a distance.
struct LowerRun {{
  char32_t first, last;
  std::int32_t stride, distance;
}};
""")
    for name, category in [("Letter", "L"), ("Number", "N"), ("Punctuation", "P"), ("Symbol", "S"), ("Mark", "M")]:
        pattern = regex.compile(rf"\p{{{category}}}")
        table(f"k{name}", "CharacterRange", f"Category {category}.", ranges(pattern.match))
    word = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")
    table("kWord", "CharacterRange", "What \\w matches (Unicode technical standard 18, annex C).", ranges(word.match))
    table("kWhiteSpace", "CharacterRange", "White_Space.", ranges(regex.compile(r"\p{White_Space}").match))
    table("kLower", "LowerRun", "Upper case letters.", lower_runs())
    table("kCased", "CharacterRange", "A sigma after one of these, and before none, is final.", ranges(cased))
    table("kCaseIgnorable", "CharacterRange", "What the final sigma looks through.", ranges(case_ignorable))
    print("}  // namespace attend")


def categories():
    print(f"""\
// Characters by general category where the properties of base/unicode.h are too coarse for BERT's normalizer, in order.
// Made by tools/make_unicode_tables.py from Python {sys.version.split()[0]} (Unicode \
{unicodedata.unidata_version}): do not edit.
// clang-format off
#pragma once

#include <cstdint>

namespace attend {{

struct CharacterRange {{
  char32_t first, last;
}};
""")
    for name, wanted, comment in [
            ("kSpacingMarks", {"Mc", "Me"},
             "Marks that take room of their own or enclose (Mc, Me); the others are non-spacing (Mn)."),
            ("kOtherCharacters", {"Cc", "Cf", "Co"}, "Controls, format characters and private use (Cc, Cf, Co).")]:
        table(name, "CharacterRange", comment, ranges(lambda c: unicodedata.category(c) in wanted))
    print("}  // namespace attend")


def hangul(character):
    return 0xAC00 <= ord(character) <= 0xD7A3


def numbers(name, kind, comment, values):
    lines, line = [], ""
    for value in values:
        cell = f"0x{value:X},"
        if len(line) + len(cell) + 1 > 116:
            lines.append(line)
            line = ""
        line += (" " if line else "") + cell
    lines.append(line)
    body = "\n".join("    " + line for line in lines)
    print(f"// {comment}\ninline constexpr {kind} {name}[] = {{\n{body}\n}};\n")


def normalization():
    print(f"""\
// Canonical and compatible decompositions, combining classes and compositions (Unicode standard annex 15), without the
// Hangul syllables, which are computed. Made by tools/make_unicode_tables.py from Python {sys.version.split()[0]} \
(Unicode {unicodedata.unidata_version}): do
// not edit.
// clang-format off
#pragma once

#include <cstdint>

namespace attend {{

// A character and where its decomposition, length characters, stands in kDecomposed.
struct Decomposition {{
  char32_t character;
  std::uint16_t begin, length;
}};

struct CombiningRun {{
  char32_t first, last;
  std::uint8_t combining_class;
}};

struct Composition {{
  char32_t first, second, composed;
}};
""")
    pool = ""
    for name, form, base, comment in [("kCanonical", "NFD", "NFC", "Canonical decompositions, full."),
                                      ("kCompatible", "NFKD", "NFD", "Where the compatible decomposition differs.")]:
        rows = []
        for character in CHARACTERS:
            if hangul(character):
                continue
            full = unicodedata.normalize(form, character)
            if full == (character if form == "NFD" else unicodedata.normalize(base, character)):
                continue
            at = pool.find(full)
            if at < 0:
                at = len(pool)
                pool += full
            rows.append([ord(character), at, len(full)])
        body, line = [], ""
        for row in rows:
            cell = f"{{0x{row[0]:X}, {row[1]}, {row[2]}}},"
            if len(line) + len(cell) + 1 > 116:
                body.append("    " + line)
                line = ""
            line += (" " if line else "") + cell
        body.append("    " + line)
        print(f"// {comment}\ninline constexpr Decomposition {name}[] = {{\n" + "\n".join(body) + "\n};\n")
    assert len(pool) < 65536
    numbers("kDecomposed", "char32_t", "The decompositions' characters.", [ord(c) for c in pool])
    runs = []
    for character in CHARACTERS:
        combining, code = unicodedata.combining(character), ord(character)
        if combining and runs and runs[-1][1] == code - 1 and runs[-1][2] == combining:
            runs[-1][1] = code
        elif combining:
            runs.append([code, code, combining])
    table("kCombining", "CombiningRun", "Combining classes other than 0.", runs)
    pairs = []
    for character in CHARACTERS:
        parts = unicodedata.decomposition(character).split()
        if hangul(character) or len(parts) != 2 or parts[0].startswith("<"):
            continue
        if unicodedata.normalize("NFC", character) == character:  # not excluded from composition
            pairs.append([int(parts[0], 16), int(parts[1], 16), f"0x{ord(character):X}"])
    table("kCompositions", "Composition", "Pairs that compose, in order.", sorted(pairs))
    print("}  // namespace attend")


{"properties": properties, "normalization": normalization, "categories": categories}[sys.argv[1]]()
