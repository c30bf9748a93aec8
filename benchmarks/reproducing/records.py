"""What is kept of results: docs/results/records.jsonl, one line for each, and what people read, docs/results/PAGE.md.

A record has `name`, what code_state.py asks (`commit`, `code`, `dirty`), `emulated` where anything in the
raw document was, and `numbers`: the raw JSON without what nobody reads (pruning.py). In a file, objects of one list are a
table, {"table": [columns, row, row, ...]}, with "~" where an object has no such field; records_of() and numbers() undo that.
"""
import json
import os
import pathlib
import re

ABSENT = "~"
LONGEST = 28000  # characters of what a result printed
RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "results"


def packed(value):
    if isinstance(value, dict):
        return {key: packed(each) for key, each in value.items()}
    if isinstance(value, float):
        short = float(f"{value:.7g}")
        return int(short) if short.is_integer() else short
    if not isinstance(value, list):
        return value
    if len(value) < 2 or not all(isinstance(each, dict) for each in value):
        return [packed(each) for each in value]
    columns = list(dict.fromkeys(key for each in value for key in each))
    return {"table": [columns, *([packed(each[key]) if key in each else ABSENT for key in columns] for each in value)]}


def unpacked(value):
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"table"}:
        columns, *rows = value["table"]
        return [{key: unpacked(each) for key, each in zip(columns, row, strict=True) if each != ABSENT} for row in rows]
    return {key: unpacked(each) for key, each in value.items()}


def records_of(folder=RESULTS):
    """All records by name."""
    file = pathlib.Path(folder) / "records.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return {record["name"]: unpacked(record) for record in map(json.loads, lines)}


def numbers(name, folder=RESULTS):
    """The numbers that are kept of a result; KeyError where there are none."""
    return records_of(folder)[name]["numbers"]


def documents_of(files, begin=""):
    """Pairs of a name and its numbers: of the files, or of all results kept whose names begin so."""
    if files:
        return [(file, json.loads(pathlib.Path(file).read_text())) for file in files]
    return [(name, record["numbers"]) for name, record in records_of().items() if name.startswith(begin) and "numbers" in record]


def write_whole(file, text):
    """The file has all of the text, or what it had before."""
    beside = file.with_name(f".{file.name}.new")
    with open(beside, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, file)


def by_number(text):
    """A key to sort names by, numbers within them by their value."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def write_records(folder, records):
    lines = (json.dumps(packed(records[name]), separators=(",", ":"), ensure_ascii=False) for name in sorted(records, key=by_number))
    write_whole(pathlib.Path(folder) / "records.jsonl", "".join(line + "\n" for line in lines))


def sections_of(text):
    """A page's head, and its sections by name."""
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return head, {section.partition("\n")[0]: section.partition("\n")[2].strip("\n") for section in sections}


def shortened(printed):
    """Without what people can do without: rules under heads, notes that stand there before, the middle of what is very long."""
    lines = [line.rstrip() for line in printed.splitlines() if not line or line.strip("- ")]
    text = "\n".join(line for index, line in enumerate(lines) if not line.startswith("note: ") or line not in lines[:index])
    if len(text) <= LONGEST:
        return text
    begin, end = text[:LONGEST // 2].rpartition("\n")[0], text[-LONGEST // 2:].partition("\n")[2]
    left_out = len(text.splitlines()) - len(begin.splitlines()) - len(end.splitlines())
    return f"{begin}\n... {left_out} lines are left out here ...\n{end}"


def write_section(folder, page, name, printed):
    """What a result printed, and its picture where it has one, in its place on its page."""
    file = pathlib.Path(folder) / f"{page}.md"
    head = f"# Kept results: {page}\n\nWritten by [benchmarks/reproduce.py](../reproduce.md); [what is what](README.md).\n\n"
    sections = sections_of(file.read_text())[1] if file.exists() else {}
    picture = f"\n\n![{name}]({name}.svg)" if (file.parent / f"{name}.svg").exists() else ""
    sections[name] = f"```text\n{shortened(printed).strip()}\n```{picture}"
    write_whole(file, head + "\n".join(f"## {each}\n\n{sections[each]}\n" for each in sorted(sections, key=by_number)))
