"""What people write: benchmarks/kept/*.json, how each result is made, and benchmarks/measured_code.json, what it measures.

`//` begins a comment. Every mistake is a BadFile that names the file; docs/reproduce.md has the fields.
"""
import dataclasses
import itertools
import json
import pathlib
import re

HOWS = ("executed", "simulated", "both")
PLACES = ("$sluice", "$out", "$folder", "$root", "$spill", "$name")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
BUILT = "build/release/"


class BadFile(Exception):
    """A file that is not as docs/reproduce.md says."""


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise BadFile(f"the key \"{next(each for each in keys if keys.count(each) > 1)}\" stands twice in one object")
    return dict(pairs)


def read_commented(file):
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda found: found[1] or "", file.read_text())
    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, BadFile) as error:
        raise BadFile(f"{file}: {error}") from error


def check_fields(where, entry, known, needed=()):
    for field in entry:
        if field not in known:
            raise BadFile(f"{where}: unknown field \"{field}\"; known: {', '.join(known)}")
    for field in needed:
        if field not in entry:
            raise BadFile(f"{where}: no \"{field}\"")


@dataclasses.dataclass
class Kept:
    """How one result is made."""
    name: str
    how: str
    command: list
    minutes: float
    page: str = ""  # docs/results/PAGE.md has what it printed: the name of its file in benchmarks/kept
    before: list = dataclasses.field(default_factory=list)
    measures: list = dataclasses.field(default_factory=list)
    needs: dict = dataclasses.field(default_factory=dict)
    emulated: str = ""
    note: str = ""
    only_if_asked: str = ""

    def commands(self):
        return [*self.before, self.command]


FIELDS = tuple(field.name for field in dataclasses.fields(Kept) if field.name != "page")


def filled(value, words, used):
    """`value` with ${word} replaced everywhere; a list takes the place of an element that is nothing but its word."""
    if isinstance(value, dict):
        return {key: filled(each, words, used) for key, each in value.items()}
    if isinstance(value, list):
        lists = [(each, filled(each, words, used)) for each in value]
        return [one for before, after in lists
                for one in (after if isinstance(before, str) and isinstance(after, list) else [after])]
    if not isinstance(value, str):
        return value
    names = re.findall(r"\$\{(\w+)\}", value)
    for name in names:
        if name not in words:
            raise BadFile(f"nothing in \"each\" defines ${{{name}}}")
    used.update(names)
    if len(names) == 1 and value == f"${{{names[0]}}}":
        return words[names[0]]
    return re.sub(r"\$\{(\w+)\}", lambda found: words[found[1]], value)


def expanded(entry):
    """The entry for every combination of its lists of words."""
    entry = dict(entry)
    each = entry.pop("each", [{}])
    for combination in itertools.product(*(each if isinstance(each[0], list) else [each])):
        words, used = unique([pair for part in combination for pair in part.items()]), set()
        yield filled(entry, words, used)
        if unused := words.keys() - used:
            raise BadFile(f"nothing uses ${{{min(unused)}}}")


def check_words(where, words):
    if not words or not words[0]:
        raise BadFile(f"{where}: a command names no program")
    for word in words:
        if re.search(r"\$(?!(?:%s))" % "|".join(place[1:] for place in PLACES), word):
            raise BadFile(f"{where}: unknown place in \"{word}\"; known: {', '.join(PLACES)}")


def kept_of(entry, file):
    where = f"{file}: {entry.get('name', 'a result without a name')}"
    check_fields(where, entry, FIELDS, ("name", "how", "command", "minutes"))
    kept = Kept(page=file.stem, **{**entry, "minutes": float(entry["minutes"])})
    if not NAME.fullmatch(kept.name):
        raise BadFile(f"{where}: no name for a result (letters, digits, _, - and .)")
    if kept.how not in HOWS:
        raise BadFile(f"{where}: how is one of {', '.join(HOWS)}")
    for words in [*kept.commands(), *kept.needs.values()]:
        check_words(where, words)
    return kept


class Catalog:
    """All of it, in one checkout."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.results = self.root / "docs" / "results"
        self.kept = {}
        for file in sorted((self.root / "benchmarks" / "kept").glob("*.json")):
            self.add(file)
        code = self.root / "benchmarks" / "measured_code.json"
        self.sets = read_commented(code) if code.exists() else {}
        for kept in self.kept.values():
            self.measured(kept)

    def add(self, file):
        document = read_commented(file)
        check_fields(file, document, ("results",), ("results",))
        try:
            entries = [each for entry in document["results"] for each in expanded(entry)]
        except BadFile as error:
            raise BadFile(f"{file}: {error}") from error
        for entry in entries:
            kept = kept_of(entry, file)
            if kept.name in self.kept:
                raise BadFile(f"{file}: {kept.name} is in {self.kept[kept.name].page}.json, too")
            self.kept[kept.name] = kept

    def measured(self, kept):
        """The paths whose files it measures, sorted; by its command where it does not list them."""
        paths = set()
        for each in kept.measures:
            if "/" not in each and each not in self.sets:
                raise BadFile(f"{kept.name} measures \"{each}\", neither a path nor a set of measured_code.json")
            paths.update([each] if "/" in each else self.sets[each])
        return sorted(paths or self.by_command(kept))

    def by_command(self, kept):
        sets = {"executed": ["executed"], "simulated": ["simulated"], "both": ["executed", "simulated"]}[kept.how]
        paths = set()
        for word in kept.command:
            if word.startswith("benchmarks/"):
                paths.add(word)
            if word.startswith(BUILT):
                paths.add(str(pathlib.PurePath(word.removeprefix(BUILT)).parent))
            # the planners in "fast-only,sentinel:additions=none@20%"
            sets += [name for name in re.findall(r"(?:^|,)([^,:@]+)", word) if name not in ("executed", "simulated")]
        for name in sets:
            paths.update(self.sets.get(name, ()))
        return paths
