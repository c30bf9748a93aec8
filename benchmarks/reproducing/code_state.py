"""Whether a kept result is older than the code that it measures.

Its record notes a commit and one hash: of its commands, and of the measured files as they were, changes that were not
committed among them. Tests do not count, comments do. Needs git.
"""
import dataclasses
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

MOST_NAMED = 3


@dataclasses.dataclass
class State:
    kind: str  # kept, cannot tell, stale, missing
    why: str = ""

    def __str__(self):
        return self.kind + (f" {self.why}" if self.kind == "stale" else f": {self.why}" if self.why else "")


def git(root, *words, **environment):
    ran = subprocess.run(["git", *words], cwd=root, env={**os.environ, **environment}, capture_output=True, text=True)
    if ran.returncode != 0:
        raise OSError(f"git {words[0]}: {ran.stderr.strip()}")
    return ran.stdout.rstrip("\n")


class Tree:
    """The files of a commit, or of the working folder, by path."""

    def __init__(self, root, name, **environment):
        self.blobs = {}
        for line in git(root, "ls-tree", "-r", "-z", "--full-tree", name, **environment).split("\0"):
            about, _, path = line.partition("\t")
            if path and not path.endswith(("_test.cpp", "_test.py")):
                self.blobs[path] = about.split()[2]

    def files(self, path):
        return {file: blob for file, blob in self.blobs.items() if file == path or file.startswith(path.rstrip("/") + "/")}

    def hash_of(self, kept, paths):
        text = repr([shown_commands(kept), [(path, sorted(self.files(path).items())) for path in paths]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def working_tree(root):
    """By an index and objects of its own, so that nothing in the repository changes."""
    if pathlib.Path(git(root, "rev-parse", "--show-toplevel")).resolve() != pathlib.Path(root).resolve():
        raise OSError(f"{root} is not the top of a git repository")
    index = git(root, "rev-parse", "--path-format=absolute", "--git-path", "index")
    objects = git(root, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    with tempfile.TemporaryDirectory() as scratch:
        if os.path.exists(index):
            shutil.copy2(index, os.path.join(scratch, "index"))  # with its time: by it git knows what it need not read
        os.mkdir(os.path.join(scratch, "objects"))
        own = {"GIT_INDEX_FILE": os.path.join(scratch, "index"), "GIT_OBJECT_DIRECTORY": os.path.join(scratch, "objects"),
               "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
        git(root, "add", "--all", **own)
        return Tree(root, git(root, "write-tree", **own), **own)


class States:
    """Of all results of a checkout, as its files are now."""

    def __init__(self, catalog, records):
        self.catalog, self.records = catalog, records
        try:
            self.now, self.head = working_tree(catalog.root), git(catalog.root, "rev-parse", "--short", "HEAD")
        except OSError as error:
            self.now, self.why = None, str(error)

    @functools.cache
    def commit(self, name):
        try:
            return Tree(self.catalog.root, git(self.catalog.root, "rev-parse", "--verify", "--quiet", name + "^{commit}"))
        except OSError:
            return None

    def made_now(self, kept):
        """What a record notes of a result that is made now: nothing without git."""
        if self.now is None:
            return {}
        paths = self.catalog.measured(kept)
        made = {"commit": self.head, "code": self.now.hash_of(kept, paths)}
        committed = self.commit("HEAD")
        return made if committed and committed.hash_of(kept, paths) == made["code"] else {**made, "dirty": True}

    @functools.cache
    def of(self, name):
        kept, record = self.catalog.kept.get(name), self.records.get(name)
        if record is None:
            return State("missing", "" if kept else "and nothing in benchmarks/kept makes it")
        if kept is None:
            return State("cannot tell", "nothing in benchmarks/kept makes it")
        if self.now is None:
            return State("cannot tell", self.why)
        if "code" not in record:
            return State("cannot tell", "its record names no code")
        paths = self.catalog.measured(kept)
        if self.now.hash_of(kept, paths) == record["code"]:
            return State("kept")
        return State("stale", f"since {record.get('commit', 'it was made')}: {self.changed(record.get('commit', ''), paths)} changed")

    def changed(self, commit, paths):
        then = self.commit(commit)
        changed = [path for path in paths if then and then.files(path) != self.now.files(path)]
        if not changed:
            return "its command or its code"
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        return ", ".join(changed[:MOST_NAMED]) + more


def shown_commands(kept):
    return [shown_command(kept, words) for words in kept.commands()]


def shown_command(kept, words):
    """As people read it, and would type it: without this machine's folders."""
    shown = {"$sluice": "sluice", "$out": f"{kept.name}.json", "$folder": ".", "$root": ".",
             "$spill": "SPILL", "$name": kept.name}
    return " ".join(quoted(filled_places(word, shown)) for word in words)


def filled_places(word, places):
    for place, value in places.items():
        word = word.replace(place, value)
    return word


def quoted(word):
    plain = word and all(each.isalnum() or each in "_-./:=,@%+" for each in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"
