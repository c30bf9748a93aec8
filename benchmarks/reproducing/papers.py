"""The figures and tables of papers, benchmarks/papers/PAPER.json, beside ours: rows, verdicts and the page of all of them."""
import dataclasses

from reproducing import addresses, catalog
from reproducing.records import by_number

TOLERANCE = 0.1
FIELDS = ("what", "model", "batch", "scaled", "setting", "published", "published_from", "unit", "better", "ours", "not_addressed")
NEEDED = ("model", "setting", "published", "published_from", "unit", "better", "ours")
VERDICTS = ("ahead", "matches", "behind", "agrees", "differs")
COLUMNS = ("#", "what", "model", "batch", "setting", "published", "ours", "how", "verdict")
NUMBERS = ("#", "published", "ours")


def verdict_of(ours, published, better):
    """Mechanical: within a tenth of the published number, or of the ends of its range, ours matches."""
    low, high = published
    above, below = ours > high + TOLERANCE * abs(high), ours < low - TOLERANCE * abs(low)
    if better == "neither":
        return "differs" if above or below else "agrees"
    if not above and not below:
        return "matches"
    return "ahead" if above == (better == "higher") else "behind"


@dataclasses.dataclass
class Item:
    """A figure or table."""
    paper: str
    item: str
    title: str
    rows: list
    notes: list = dataclasses.field(default_factory=list)
    number: str = ""  # as its id has it, where the item is "table III"

    @property
    def id(self):
        return f"{self.paper} {self.number or self.item}".lower().replace(" ", "-")

    @property
    def kept(self):
        return list(dict.fromkeys(name for row in self.rows for name in addresses.names_in(row.get("ours", 0))))


def row_of(where, row):
    where = f"{where}: {row.get('what', 'a row')}"
    catalog.check_fields(where, row, FIELDS, ("what",) if "not_addressed" in row else ("what", *NEEDED))
    if "not_addressed" in row:
        return row
    if not addresses.names_in(row["ours"]):
        raise catalog.BadFile(f"{where}: reads no kept result: our figure would be written by hand")
    if row["better"] not in ("higher", "lower", "neither"):
        raise catalog.BadFile(f"{where}: better is one of higher, lower, neither")
    published = row["published"] if isinstance(row["published"], list) else [row["published"]] * 2
    if len(published) != 2 or published[0] > published[1]:
        raise catalog.BadFile(f"{where}: published is a number or [low, high]")
    return {**row, "published": published}


def read_items(root):
    """Of all files, in the order of their ids."""
    items = []
    for file in sorted((root / "benchmarks" / "papers").glob("*.json")):
        document = catalog.read_commented(file)
        catalog.check_fields(file, document, ("paper", "items"), ("paper", "items"))
        for entry in document["items"]:
            where = f"{file}: {entry.get('item', 'an item')}"
            catalog.check_fields(where, entry, ("item", "number", "title", "notes", "all", "rows"), ("item", "title", "rows"))
            rows = [row_of(where, {**({} if "not_addressed" in row else entry.get("all", {})), **row}) for row in entry["rows"]]
            items.append(Item(document["paper"], entry["item"], entry["title"], rows, entry.get("notes", []),
                              entry.get("number", "")))
    return sorted(items, key=lambda item: by_number(item.id))


@dataclasses.dataclass
class Row:
    """A row with our figure in it."""
    row: dict
    ours: float = None
    verdict: str = ""
    how: str = ""
    missing: str = ""
    stale: bool = False
    age_unknown: bool = False

    def verdict_text(self):
        if "not_addressed" in self.row:
            return "not addressed"
        if not self.verdict:
            return "missing"
        return self.verdict + (" (stale)" if self.stale else " (age unknown)" if self.age_unknown else "")


class Evaluation:
    """Items by what is kept now."""

    def __init__(self, kept_of, records, states):
        self.kept_of, self.records, self.states = kept_of, records, states

    def document(self, name):
        if "numbers" not in self.records.get(name, {}):
            raise addresses.Missing(f"{name} is not kept yet")
        return self.records[name]["numbers"]

    def how(self, names, simulated):
        ways, emulated = set(), False
        for name in names:
            kept = self.kept_of.get(name)
            emulated = emulated or bool(self.records.get(name, {}).get("emulated")) or bool(kept and kept.emulated)
            if kept:
                ways.add("simulated" if kept.how == "simulated" or kept.how == "both" and simulated else "executed")
        if ways == {"executed"} and emulated:
            return "executed, emulated"
        return " and ".join(sorted(ways))

    def row(self, row):
        if "not_addressed" in row:
            return Row(row)
        names = addresses.names_in(row["ours"])
        kinds = {self.states.of(name).kind for name in names}
        result = Row(row, stale="stale" in kinds, age_unknown="cannot tell" in kinds)
        try:
            result.ours, simulated = addresses.evaluated(row["ours"], self.document)
        except addresses.Missing as error:
            result.missing = str(error)
            return result
        result.verdict = verdict_of(result.ours, row["published"], row["better"])
        result.how = self.how(names, simulated)
        return result

    def item(self, item):
        return [self.row(row) for row in item.rows]


def read_paths(items, name, document):
    """What rows read of a document: those paths a record has to keep."""
    read = set()
    for address in {each for item in items for row in item.rows for each in addresses.addresses_in(row.get("ours", 0))}:
        if address.partition("#")[0] == name:
            try:
                read |= addresses.Walk(document, address).read
            except addresses.Missing:
                pass  # the row says so
    return read


def with_unit(digits, unit):
    return digits + unit if unit in ("", "x") else f"{digits} {unit}"


def figure_text(figure, unit):
    digits = f"{figure:.0f}" if abs(figure) >= 1000 else f"{figure:#.3g}".removesuffix(".")
    return with_unit(digits, unit)


def published_text(row):
    low, high = (f"{each}".removesuffix(".0") for each in row["published"])
    high = with_unit(high, row["unit"])
    return high if row["published"][0] == row["published"][1] else f"{low} to {high}"


def cells(number, result):
    row = result.row
    said = [str(number), row["what"], row.get("model", ""), str(row.get("batch", "")), row.get("setting", "")]
    if "not_addressed" in row:
        return [*said, "", "", "", "not addressed"]
    said[3] += " (scaled)" if row.get("scaled") else ""
    ours = figure_text(result.ours, row["unit"]) if result.verdict else ""
    return [*said, published_text(row), ours, result.how, result.verdict_text()]


def rows_text(rows):
    """rows 1, 3 to 5"""
    runs = []
    for row in rows:
        if runs and runs[-1][-1] == row - 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    parts = [f"{run[0]}" + ("" if len(run) == 1 else ", " if len(run) == 2 else " to ") + (f"{run[-1]}" if len(run) > 1 else "")
             for run in runs]
    return f"{'row' if len(rows) == 1 else 'rows'} {', '.join(parts)}"


def notes_of(item, results):
    rows_of = {}
    for number, result in enumerate(results, 1):
        for kind, text in (("Scaled", result.row.get("scaled")), ("Published numbers from", result.row.get("published_from")),
                           ("Not addressed", result.row.get("not_addressed")), ("Missing", result.missing)):
            if text:
                rows_of.setdefault(f"{kind}: {text}", []).append(number)
    return item.notes + [text if len(rows) == len(results) else f"{text} ({rows_text(rows)})" for text, rows in rows_of.items()]


def count_text(evaluated):
    """`evaluated`: pairs of an item and its rows."""
    results = [result for _, rows in evaluated for result in rows]
    counts = [f"{sum(result.verdict == verdict for result in results)} {verdict}" for verdict in VERDICTS]
    counts.append(f"{sum(bool(result.missing) for result in results)} missing")
    counts.append(f"{sum('not_addressed' in result.row for result in results)} not addressed")
    return f"{len(evaluated)} items; {len(results)} rows: {', '.join(each for each in counts if each[0] != '0')}."


def stale_text(evaluated):
    stale = sum(bool(result.verdict) and result.stale for _, rows in evaluated for result in rows)
    return f"{stale} of these rows read results that are older than the code they measure (stale)." if stale else ""


def text_table(head, rows, right=NUMBERS):
    """Columns as wide as what is in them, for a terminal; those called as in `right` end at the same place."""
    lines = [list(head), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(cell.rjust(width) if title in right else cell.ljust(width)
                               for title, cell, width in zip(head, line, widths)).rstrip() for line in lines)


def item_text(item, results):
    table = text_table(COLUMNS, [cells(number, result) for number, result in enumerate(results, 1)])
    return f"{item.paper}, {item.item}: {item.title}\n\n{table}\n\n" + "".join(f"- {note}\n" for note in notes_of(item, results))


HEAD = """# The papers' figures and tables, beside ours

Written by `benchmarks/reproduce.py all`; [reproduce.md](../reproduce.md) says how rows and verdicts come about. *Published* is
what the paper's authors measured on their machine, *ours* what this repository keeps from a small one. Verdicts are
computed: within a tenth of what is published ours *matches* (or *agrees*, where neither more nor less is better), else
it is *ahead*, *behind* or *differs*. *Emulated*: a slower memory, link or processor was imitated. *Simulated*: nothing
was run.
"""


def escaped(text):
    return "".join("\\" + each if each in "|*_<" else each for each in text)


def item_markdown(item, results):
    line = "| " + " | ".join(COLUMNS) + " |\n" + "".join("|---:" if title in NUMBERS else "|---" for title in COLUMNS) + "|\n"
    for number, result in enumerate(results, 1):
        line += "| " + " | ".join(map(escaped, cells(number, result))) + " |\n"
    notes = "".join(f"* {escaped(note)}\n" for note in notes_of(item, results))
    return (f"\n### {item.paper}, {item.item}\n\n{escaped(item.title)}. `benchmarks/reproduce.py {item.id}`\n\n{line}\n{notes}"
            f"* Ours from: `{'`, `'.join(item.kept)}`\n")


def papers_page(evaluated):
    text = f"{HEAD}\n{count_text(evaluated)}\n"
    if stale := stale_text(evaluated):
        text += f"\n{stale}\n"
    paper = None
    for item, results in evaluated:
        text += f"\n## {item.paper}\n" if item.paper != paper else ""
        paper = item.paper
        text += item_markdown(item, results)
    return text
