"""Documents as rows: flat dictionaries, of which `pandas.DataFrame(rows)` makes a table."""

from __future__ import annotations

from typing import Any, Iterator

# Lists of rows by command, as docs/json.md names their fields; other documents are one row.
LISTS = {
    "characterize": "lifetimes",
    "compare": "results",
    "doctor": "checks",
    "explain": "found.events",
    "inspect": "ops",
    "machine": "tiers",
    "max-batch": "trials",
    "models": "models",
    "planners": "planners",
    "profile": "ops",
    "report": "comparison.results",
    "verify": "violations",
}
SWEPT = ("models.points", "models.no_loss")


def rows(document: dict[str, Any], of: str | None = None) -> list[dict[str, Any]]:
    """The rows of a document that plan(), sweep() and the others give back.

    Args:
        document: what they returned.
        of: the list of which each element is a row, such as "page_migration" or "locality.series"; of lists in lists,
            the outer ones' fields stand in each row. By default what repeats in a document of this command (points of a
            sweep, trials of max_batch), or one row of all its single values (plan, simulate).

    Returns:
        flat dictionaries: what is in an object has its name and a dot before its own, `measured.step_ms`. Bytes, seconds
        and milliseconds are as in the document.
    """
    command = document.get("command")
    if of is not None:
        return list(_elements(document, of.split(".")))
    if command == "sweep":
        return [row for path in SWEPT for row in _elements(document, path.split("."))]
    if command in LISTS:
        return list(_elements(document, LISTS[command].split(".")))
    return [_flat({name: value for name, value in document.items() if name not in ("format", "version", "run")})]


def _elements(parent: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
    """What is found at the path, with the single values of the lists' elements on the way."""
    name, *rest = path
    if name not in parent:
        return
    found = parent[name]
    if isinstance(found, dict):
        yield from _elements(found, rest) if rest else [_flat(found)]
        return
    for element in found:
        if not rest:
            yield _flat(element)
            continue
        outer = {key: value for key, value in element.items() if not isinstance(value, (list, dict))}
        for row in _elements(element, rest):
            yield {**outer, **row}


def _flat(element: Any, prefix: str = "") -> dict[str, Any]:
    """Without lists of objects, which are rows of their own."""
    if not isinstance(element, dict):
        return {"value": element}
    row: dict[str, Any] = {}
    for name, value in element.items():
        if isinstance(value, dict):
            row.update(_flat(value, f"{prefix}{name}."))
        elif not (isinstance(value, list) and value and isinstance(value[0], dict)):
            row[prefix + name] = value
    return row
