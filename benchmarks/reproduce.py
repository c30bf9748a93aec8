#!/usr/bin/env python3
"""The papers' figures and tables beside ours; makes the kept results that are missing or older than the code they measure.

    reproduce.py list                        every item and kept result: kept, stale and why, missing, how many minutes
    reproduce.py sentinel-figure-7           an item of a paper; makes what it reads first
    reproduce.py sentinel --no-run           a whole paper, by what is kept
    reproduce.py resnet50_b16 "joint_*"      kept results, by name or how names begin
    reproduce.py all                         everything; ends in docs/results/papers.md

docs/reproduce.md has the rest. Status: 0, 1 where a result could not be made, 2 for a wrong word or file, 130 if interrupted.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys

from reproducing import catalog, code_state, making, papers, records

MOST_LIKE = 5


@dataclasses.dataclass
class Selection:
    """What was asked for."""
    items: list = dataclasses.field(default_factory=list)
    kept: list = dataclasses.field(default_factory=list)   # to make where they are stale
    asked: list = dataclasses.field(default_factory=list)  # by their own names
    all: bool = False


def kept_by(known, found, word):
    if word.endswith("*"):
        return [name for name in known.kept if name.startswith(word[:-1])]
    return [word] if word in known.kept or word in found else []


def select(known, items, found, words):
    selection = Selection(all="all" in words)
    for word in words:
        chosen = [item for item in items if word.lower() in ("all", item.id, item.paper.lower())]
        asked = kept_by(known, found, word)
        if not chosen and not asked and word != "all":
            like = [name for name in [*(item.id for item in items), *known.kept] if word.lower() in name][:MOST_LIKE]
            raise catalog.BadFile(f"\"{word}\" is no paper, item or kept result{f' (like it: {chr(44).join(like)})' if like else ''}; "
                                  "reproduce.py list names them")
        selection.items += [item for item in chosen if item not in selection.items]
        selection.asked += asked
        selection.kept += [name for item in chosen for name in item.kept] + asked
    selection.kept = list(dict.fromkeys(selection.kept + (list(known.kept) if selection.all else [])))
    return selection


def kept_json(known, states):
    return [{"name": kept.name, "how": kept.how, "minutes": kept.minutes, "state": states.of(kept.name).kind,
             "why": states.of(kept.name).why, "only_if_asked": kept.only_if_asked} for kept in known.kept.values()]


def item_json(item, results):
    rows = [{**result.row, "ours": result.ours, "missing": result.missing, "how": result.how, "verdict": result.verdict or None,
             "stale": result.stale, "age_unknown": result.age_unknown} for result in results]
    return {"id": item.id, "paper": item.paper, "item": item.item, "title": item.title, "kept": item.kept, "notes": item.notes,
            "rows": rows}


def write_json(options, document):
    if options.json:
        records.write_whole(pathlib.Path(options.json), json.dumps({"format": "sluice-json", "version": 2, "command": "reproduce",
                                                                    **document}, indent=1) + "\n")


def counted(words):
    return ", ".join(f"{words.count(word)} {word}" for word in ("kept", "cannot tell", "stale", "missing") if word in words)


def show_list(options, known, items, states, needs):
    def state_words(kept):
        words = str(states.of(kept.name)) + (f"; only if asked: {kept.only_if_asked}" if kept.only_if_asked else "")
        return words + (f"; this machine lacks {needs.lacks(kept)}" if needs.lacks(kept) else "")

    print(papers.text_table(["item", "rows", "kept results", "what"],
                            [[item.id, str(len(item.rows)), counted([states.of(name).kind for name in item.kept]), item.title]
                             for item in items]) + "\n")
    print(papers.text_table(["kept result", "how", "minutes", "state"],
                            [[kept.name, kept.how, f"{kept.minutes:g}", state_words(kept)] for kept in known.kept.values()]) + "\n")
    tasks = making.tasks_of(Selection(kept=list(known.kept)), known, states, needs, False)
    print(f"{counted([states.of(name).kind for name in known.kept])}, reproduce.py all would take about "
          f"{making.minutes_of(tasks):.0f} minutes.")
    write_json(options, {"items": [item_json(item, []) for item in items], "kept": kept_json(known, states)})
    return 0


def show(known, selection, states, found):
    evaluation = papers.Evaluation(known.kept, found, states)
    evaluated = [(item, evaluation.item(item)) for item in selection.items]
    for item, results in evaluated:
        print(papers.item_text(item, results))
    for name in selection.asked:
        print(f"{name}: {states.of(name)}")
    if evaluated:
        print("\n".join(filter(None, [papers.count_text(evaluated), papers.stale_text(evaluated)])))
    if selection.all:
        records.write_whole(known.results / "papers.md", papers.papers_page(evaluated))
        print("written: docs/results/papers.md")
    return {"items": [item_json(item, results) for item, results in evaluated], "kept": kept_json(known, states)}


def run(options):
    known, items = catalog.Catalog(options.root), papers.read_items(options.root)
    found = records.records_of(known.results)
    states, needs = code_state.States(known, found), making.Needs(options.root, options.spill_dir)
    if "list" in options.words:
        return show_list(options, known, items, states, needs)
    selection, outcome = select(known, items, found, options.words), making.Outcome()
    tasks = [] if options.no_run else making.tasks_of(selection, known, states, needs, options.again)
    if options.dry_run:
        print("\n".join([*map(str, tasks), f"about {making.minutes_of(tasks):.0f} minutes on two idle cores"]))
        return 0
    if tasks:
        with making.Maker(known, items, states, options.sluice, options.spill_dir) as maker:
            outcome = making.make_all(tasks, maker, lambda line: print(line, flush=True))
    if outcome.interrupted:
        print(f"reproduce: interrupted; {len(outcome.made)} made in this run stay, and the same command goes on", file=sys.stderr)
        return 130
    if outcome.made:
        found = records.records_of(known.results)
        states = code_state.States(known, found)
    document = show(known, selection, states, found)
    write_json(options, {**document, "made": outcome.made, "failed": outcome.failed, "skipped": outcome.skipped})
    return 1 if outcome.failed else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="ID", help="list, all, a paper, an item, a kept result")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the checkout (default: this one)")
    parser.add_argument("--sluice", help="the command (default: build/release/tools/sluice of the checkout)")
    parser.add_argument("--spill-dir", help="for large files (default: $SLUICE_SPILL, or build/ of the checkout)")
    parser.add_argument("--no-run", action="store_true", help="make nothing: show what is kept")
    parser.add_argument("--again", action="store_true", help="make what is kept and not stale, too")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be made, and how long that takes")
    parser.add_argument("--json", metavar="FILE", help="also write everything there")
    options = parser.parse_args()
    if "list" in options.words and len(options.words) > 1:
        parser.error("list stands alone: it shows everything")
    if options.no_run and (options.again or options.dry_run):
        parser.error("--no-run makes nothing: it excludes --again and --dry-run")
    options.root = options.root.resolve()
    options.sluice = options.sluice or options.root / "build/release/tools/sluice"
    options.spill_dir = options.spill_dir or os.environ.get("SLUICE_SPILL") or options.root / "build"
    return options


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = arguments()
    try:
        return run(options)
    except (catalog.BadFile, making.Failed, OSError) as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
