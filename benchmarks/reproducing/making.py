"""Makes results, each whole or not at all: what was made stays when the rest is interrupted, or fails."""
import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from reproducing import papers, pruning, records
from reproducing.code_state import filled_places, shown_command

GRACE_SECONDS = 20
LAST_LINES = 5


class Failed(Exception):
    """Why a result could not be made."""


def run_program(words, folder, output=subprocess.DEVNULL, errors=subprocess.DEVNULL):
    """Its exit status. It has a session of its own, and is interrupted with all that it has started when this process is."""
    try:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                   start_new_session=True)
    except OSError as error:
        raise Failed(f"{words[0]}: {error.strerror}") from error
    try:
        return process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise


class Needs:
    """What a result needs of this machine, asked once each."""

    def __init__(self, root, spill):
        self.places, self.has = {"$root": str(root), "$spill": str(spill)}, {}

    def lacks(self, kept):
        """What is not there; nothing where all is."""
        for what, words in kept.needs.items():
            if what not in self.has:
                try:
                    self.has[what] = run_program([filled_places(word, self.places) for word in words], self.places["$root"]) == 0
                except Failed:
                    self.has[what] = False
            if not self.has[what]:
                return what
        return ""


class Maker:
    """One at a time in a checkout; a context manager, which cleans up."""

    def __init__(self, catalog, items, states, sluice, spill):
        self.catalog, self.items, self.states = catalog, items, states
        self.sluice, self.spill = pathlib.Path(sluice).absolute(), pathlib.Path(spill).absolute()
        self.scratch = catalog.results / ".making"
        self.lock = None

    def __enter__(self):
        for folder in (self.spill, self.catalog.results):
            folder.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(self.catalog.results, os.O_RDONLY)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self.lock)
            raise Failed(f"another reproduce.py is at work in {self.catalog.root}") from error
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.close(self.lock)

    def places(self, kept):
        files = self.scratch / "files"
        return {"$sluice": str(self.sluice), "$out": str(files / f"{kept.name}.json"),
                "$folder": str(files), "$root": str(self.catalog.root), "$spill": str(self.spill), "$name": kept.name}

    def run(self, kept, words, output):
        with open(self.scratch / "errors", "w+") as errors:
            status = run_program([filled_places(word, self.places(kept)) for word in words], self.catalog.root, output, errors)
            errors.seek(0)
            if status != 0:
                why = "\n".join(errors.read().rstrip().splitlines()[-LAST_LINES:])
                raise Failed(f"{shown_command(kept, words)} ended with {status}: {why}")

    def make(self, kept):
        shutil.rmtree(self.scratch, ignore_errors=True)
        (self.scratch / "files").mkdir(parents=True)
        made = self.states.made_now(kept)
        for words in kept.before:
            self.run(kept, words, subprocess.DEVNULL)
        with open(self.scratch / "printed", "w+") as printed:
            self.run(kept, kept.command, printed)
            printed.seek(0)
            text = printed.read()
        if any("$out" in word for word in kept.command) and not (self.scratch / "files" / f"{kept.name}.json").exists():
            raise Failed("it wrote no JSON")
        self.keep(kept, made, text)

    def documents(self):
        """The numbers that it wrote, by name."""
        for file in sorted((self.scratch / "files").iterdir()):
            try:
                if file.suffix == ".json":
                    yield file.stem, json.loads(file.read_text())
                elif file.suffix == ".jsonl":
                    yield file.stem, {"rows": [json.loads(line) for line in file.read_text().splitlines()]}
            except ValueError as error:
                raise Failed(f"it wrote no good JSON: {file.name}: {error}") from error

    def keep(self, kept, made, text):
        """The page first: the records, written last and whole, say that it is made."""
        new = {kept.name: {"name": kept.name, **made}}
        for name, document in self.documents():
            numbers = pruning.pruned(document, papers.read_paths(self.items, name, document))
            new[name] = {"name": name, **made, **({"emulated": True} if pruning.is_emulated(document) else {}),
                         **({"numbers": numbers} if numbers else {})}
        records.write_section(self.catalog.results, kept.page, kept.name, self.head(kept, made) + self.clean(kept, text))
        records.write_records(self.catalog.results, {**records.records_of(self.catalog.results), **new})

    def head(self, kept, made):
        commit = f"commit {made['commit']}{' dirty' if made.get('dirty') else ''}\n" if made else ""
        note = kept.note + "\n" if kept.note else ""
        return "".join(f"$ {shown_command(kept, words)}\n" for words in kept.commands()) + commit + note

    def clean(self, kept, text):
        """Without this machine's folders."""
        places = self.places(kept)
        for folder, shown in ((places["$folder"] + "/", ""), (places["$sluice"], "sluice"), (places["$spill"], "SPILL"),
                              (places["$root"] + "/", "")):
            text = text.replace(folder, shown)
        return text


@dataclasses.dataclass
class Task:
    """A result that is to be made, or why it is skipped."""
    kept: object
    state: object
    skipped: str

    def __str__(self):
        what = f"would skip ({self.skipped})" if self.skipped else f"would make ({self.kept.minutes:g} minutes)"
        return f"{what} {self.kept.name}: {self.state}"


def tasks_of(selection, catalog, states, needs, again):
    """Of what is missing or stale, or `again`, in the order of the selection."""
    tasks = []
    for name in selection.kept:
        kept, state = catalog.kept.get(name), states.of(name)
        if kept is None or (not again and state.kind in ("kept", "cannot tell")):
            continue
        skipped = ""
        if kept.only_if_asked and name not in selection.asked:
            skipped = f"only if asked for by its name: {kept.only_if_asked}"
        elif lacking := needs.lacks(kept):
            skipped = f"this machine lacks {lacking}"
        tasks.append(Task(kept, state, skipped))
    return tasks


def minutes_of(tasks):
    return sum(task.kept.minutes for task in tasks if not task.skipped)


@dataclasses.dataclass
class Outcome:
    """Names, and reasons by name."""
    made: list = dataclasses.field(default_factory=list)
    failed: dict = dataclasses.field(default_factory=dict)
    skipped: dict = dataclasses.field(default_factory=dict)
    interrupted: bool = False


def make_all(tasks, maker, tell):
    """One after the other; `tell` gets a line about each."""
    outcome, left = Outcome(), minutes_of(tasks)
    for task in tasks:
        name, begin = task.kept.name, time.monotonic()
        if task.skipped:
            outcome.skipped[name] = task.skipped
            tell(f"skipped {name}: {task.skipped}")
            continue
        tell(f"making {name}, about {task.kept.minutes:g} of the {left:g} minutes that are left")
        try:
            maker.make(task.kept)
        except KeyboardInterrupt:
            outcome.interrupted = True
            return outcome
        except (Failed, OSError) as error:
            outcome.failed[name] = str(error)
            tell(f"failed {name}: {error}")
        else:
            outcome.made.append(name)
            tell(f"made {name} in {(time.monotonic() - begin) / 60:.1f} minutes")
        left -= task.kept.minutes
    return outcome
