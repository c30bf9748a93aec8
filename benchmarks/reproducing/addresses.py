"""Where a number of a kept result is, and what rows of papers compute of such numbers.

An address is NAME#/step/step...: a key, an index, `key=value&other=value` for the one element of a list that is so, `*` for all
elements, `*key=value` for all that are so. An expression is a number, an address, or {"operation": expressions}.
"""
import math
import statistics

OPERATIONS = {  # name: (least, most numbers, what)
    "add": (1, math.inf, sum), "subtract": (2, 2, lambda n: n[0] - n[1]), "multiply": (1, math.inf, math.prod),
    "divide": (2, 2, lambda n: n[0] / n[1]), "mean": (1, math.inf, lambda n: sum(n) / len(n)),
    "geometric_mean": (1, math.inf, statistics.geometric_mean), "max": (1, math.inf, max),
    "min": (1, math.inf, min), "count": (0, math.inf, len), "percent": (1, 1, lambda n: 100 * n[0])}


class Missing(Exception):
    """Why there is no number."""


def text_of(value):
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def is_value(value, text):
    try:
        return not isinstance(value, (bool, str, list)) and float(text) == value or text_of(value) == text
    except (TypeError, ValueError):
        return text_of(value) == text


class Walk:
    """One address in one document: the numbers that it finds, and the paths that it has read."""

    def __init__(self, document, address):
        self.name, _, path = address.partition("#")
        if not self.name or not path.startswith("/"):
            raise Missing(f"\"{address}\" is no address, NAME#/path")
        self.steps = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
        self.found, self.read, self.simulated = [], set(), False
        self.go(document, 0, ())

    def wrong(self, at, what):
        return Missing(f"{what} in {self.name}#/{'/'.join(self.steps[:at])}")

    def go(self, value, at, path):
        if isinstance(value, dict) and value.get("simulated") is True:
            self.simulated = True
            self.read.add((*path, "simulated"))
        if at == len(self.steps):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise self.wrong(at, "null" if value is None else "no number")
            self.found.append(value)
            self.read.add(path)
            return
        for key, each in self.into(value, at, path):
            self.go(each, at + 1, (*path, key))

    def into(self, value, at, path):
        step = self.steps[at]
        if not isinstance(value, (dict, list)):
            raise self.wrong(at, "nothing to step into")
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        if step == "*":
            return list(pairs)
        if isinstance(value, dict):
            if step not in value:
                raise self.wrong(at, f"no \"{step}\"")
            return [(step, value[step])]
        if "=" in step:
            return self.chosen(list(pairs), at, path)
        if not step.isdigit() or int(step) >= len(value):
            raise self.wrong(at, f"{len(value)} elements, none of number {step}")
        return [(int(step), value[int(step)])]

    def chosen(self, pairs, at, path):
        step = self.steps[at]
        conditions = [part.partition("=")[::2] for part in step.removeprefix("*").split("&")]
        met = [(index, each) for index, each in pairs if isinstance(each, dict) and
               all(key in each and is_value(each[key], text) for key, text in conditions)]
        if not met:
            raise self.wrong(at, f"no element with {step}")
        if len(met) > 1 and not step.startswith("*"):
            raise self.wrong(at, f"{len(met)} elements with {step} (add &key=value)")
        self.read |= {(*path, index, key) for index, _ in met for key, _ in conditions}
        return met


def names_in(expression):
    """Of the results that it reads, in its order."""
    if isinstance(expression, str):
        return [expression.partition("#")[0]]
    parts = expression.values() if isinstance(expression, dict) else expression if isinstance(expression, list) else []
    return list(dict.fromkeys(name for part in parts for name in names_in(part)))


def addresses_in(expression):
    if isinstance(expression, str):
        return [expression]
    parts = expression.values() if isinstance(expression, dict) else expression if isinstance(expression, list) else []
    return [address for part in parts for address in addresses_in(part)]


def values_of(expression, find, walks):
    """The numbers of an expression; `find` gives the document of a name, and every Walk is added to `walks`."""
    if isinstance(expression, str):
        walks.append(Walk(find(expression.partition("#")[0]), expression))
        return walks[-1].found
    if isinstance(expression, list):
        return [value for part in expression for value in values_of(part, find, walks)]
    if not isinstance(expression, dict):
        return [expression]
    (operation, parts), = expression.items()
    if operation not in OPERATIONS:
        raise Missing(f"unknown \"{operation}\"; known: {', '.join(OPERATIONS)}")
    least, most, compute = OPERATIONS[operation]
    numbers = values_of(parts, find, walks)
    if not least <= len(numbers) <= most:
        raise Missing(f"{operation} of {len(numbers)} numbers")
    try:
        return [compute(numbers)]
    except (ArithmeticError, ValueError) as error:
        raise Missing(f"{operation} gives no finite number") from error


def evaluated(expression, find):
    """Its one number, and whether something that it reads was simulated."""
    walks = []
    numbers = values_of(expression, find, walks)
    if len(numbers) != 1:
        raise Missing(f"{len(numbers)} numbers where one is wanted (a mean, a maximum?)")
    return numbers[0], any(walk.simulated for walk in walks)
