"""What is wrong with the results of a student's program, by the numbers: the first one that differs, and the known mistake that
computes the same."""
import math

from values import TOLERANCE, finite, flat, same, same_number


def place(shape, index):
    places = []
    for size in reversed(shape):
        places.append(index % size)
        index //= size
    return "".join(f"[{at}]" for at in reversed(places))


def shown(value):
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def shape_text(value):
    kind, shape, items = flat(value)
    if kind == "text":
        return repr(items[0])
    if kind == "texts":
        return f"{len(items)} texts"
    return "[" + ", ".join(map(str, shape)) + "]" if shape else shown(items[0]) if items else kind


def difference(got, right):
    """The first number or text that differs, in words."""
    kind, shape, items = flat(got)
    right_kind, right_shape, wanted = flat(right)
    if kind in ("ragged", "unknown") or (kind != right_kind and items and wanted):
        return f"the result is {kind}, but should be {right_kind} {shape_text(right)}"
    if shape != right_shape:
        detail = f": {items} instead of {wanted}" if kind == "texts" or right_kind == "texts" else ""
        return f"the result has the shape {list(shape)}, but should have {list(right_shape)}{detail}"
    compare = same_number if kind == "numbers" else (lambda a, b: a == b)
    wrong = [i for i, (a, b) in enumerate(zip(items, wanted)) if not compare(a, b)]
    first = wrong[0]
    return (f"result{place(shape, first)} is {shown(items[first])}, but should be {shown(wanted[first])}"
            f" (the first of {len(wrong)} of {len(items)} that differ)")


def pattern(gots, rights):
    """A mistake that no reference lists, but that shows in the numbers: a factor, a sign, an offset, a transposed result."""
    pairs = []
    for got, right in zip(gots, rights):
        kind, shape, items = flat(got)
        right_kind, right_shape, wanted = flat(right)
        if kind != "numbers" or right_kind != "numbers":
            return None
        if any(math.isnan(x) or math.isinf(x) for x in items):
            return ("numbers that are not finite", "There is nan or inf in the result: a division by 0, the log of 0, or exp of a large"
                    " number. Subtract the largest number before exp.")
        if len(shape) == 2 and shape == right_shape[::-1] and shape != right_shape:
            columns = [wanted[r * right_shape[1] + c] for c in range(right_shape[1]) for r in range(right_shape[0])]
            if all(map(same_number, items, columns)):
                return ("the result is transposed", "Its rows are the columns of the right one.")
        if shape != right_shape:
            return None
        pairs += zip(items, wanted)
    large = [(a, b) for a, b in pairs if abs(b) > 1e-3]
    if not large:
        return None
    factor = large[0][0] / large[0][1]
    if all(abs(a - factor * b) <= TOLERANCE * max(1.0, abs(a)) for a, b in pairs):
        if abs(factor) < 1e-9:
            return ("all numbers are 0", "Is the result ever written?")
        return ("a constant factor", f"Every number is {factor:.6g} times the right one.")
    offset = pairs[0][0] - pairs[0][1]
    if all(same_number(a - offset, b) for a, b in pairs):
        return ("a constant offset", f"Every number is {offset:.6g} too large.")
    return None


def matching(cases, results, why):
    """Names of the known mistakes whose results agree with all that the student's program returned, best first."""
    names = []
    for name in why:
        told = False
        for case, result in zip(cases, results):
            if name not in case["wrong"]:
                continue
            wrong = case["wrong"][name]
            if "error" in result or not finite(result["value"]):  # NumPy has nan where Python has an exception
                agrees = wrong is None
            else:
                agrees = wrong is not None and same(result["value"], wrong)
            if not agrees:
                break
            told |= wrong is None or not same(wrong, case["right"])
        else:
            if told:
                names.append(name)
    return names


def judged(cases, results, why):
    """One entry per function that is wrong: {function, where, name, why}."""
    findings = []
    for function in dict.fromkeys(case["function"] for case in cases):
        own = [i for i, case in enumerate(cases) if case["function"] == function]
        bad = [i for i in own if "error" in results[i] or not same(results[i]["value"], cases[i]["right"])]
        if not bad:
            continue
        first = cases[bad[0]]
        inputs = ", ".join(shape_text(value) for value in first["arguments"])
        result = results[bad[0]]
        where = f"{function}({inputs}): " + (result["error"] if "error" in result else difference(result["value"], first["right"]))
        mine, answers = [cases[i] for i in own], [results[i] for i in own]
        names = matching(mine, answers, why)
        if names:
            name, reason = names[0], why[names[0]]
        elif all("value" in answer for answer in answers):
            found = pattern([answer["value"] for answer in answers], [case["right"] for case in mine])
            name, reason = found or (None, None)
        else:
            name, reason = None, None
        findings.append({"function": function, "where": where, "name": name, "why": reason, "bad": len(bad), "of": len(own)})
    return findings
