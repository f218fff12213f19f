#!/usr/bin/env python3
"""What an editor shows of a workflow while it is written: hovers, completions, marks, the outline.

    tests/editor/check.py [RUST_ANALYZER]

Drives rust-analyzer by its protocol on the package in `sample/`. A case is the sample with its workflow replaced, and
`$0` where the cursor is. Prints a line for each case; exits with 1 if one fails.
"""

import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from client import LanguageServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GRAPH = "START => validate => <good: charge, redo: charity>;"
ATTRIBUTE = '#[node(retry(max_attempts = 3), timeout = "10s")]'
MAIN = "fn main() {"
AT_CHARGE = "START => validate => <good: char$0ge, redo: charity>;"
SIGNATURE = "async fn charge(order: Order) -> Result<String, std::io::Error>"

# `checkout` is one too.
NODES = ["validate", "charge", "charity", "checkout", "START", "END"]
OPTIONS = ["name", "renamed_from", "retry", "timeout", "at_most_once", "blocking", "max_parallel", "collect"]
OPTIONS_OF_RETRY = ["max_attempts", "initial_delay", "max_delay", "backoff_factor", "jitter", "when"]


class Sample:
    """The package as a copy of its own, with a server that has it open."""

    def __init__(self, analyzer: str, directory: Path):
        shutil.copytree(HERE / "sample", directory, dirs_exist_ok=True)
        manifest = directory / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace("../../../runtime", str(ROOT / "runtime")))
        for file in ["Cargo.lock", "rust-toolchain.toml"]:
            shutil.copy(ROOT / file, directory / file)
        settings = {
            "checkOnSave": False,
            "cachePriming": {"enable": False},
            "cargo": {"targetDir": str(directory / "target")},
            "completion": {"limit": None},
        }
        self.file = directory / "src/main.rs"
        self.text = self.file.read_text()
        self.server = LanguageServer([analyzer], directory, settings)
        self.server.show(self.file, self.text)
        self.server.wait_until_quiescent()

    def at_cursor(self, old: str, new: str):
        """Replaces a part of the sample, shows it, and says where `$0` is in it."""
        if old not in self.text:
            raise ValueError(f"the sample does not contain `{old}`")
        text = self.text.replace(old, new)
        offset = text.index("$0")
        text = text[:offset] + text[offset + 2 :]
        self.server.show(self.file, text)
        line = text.count("\n", 0, offset)
        character = offset - (text.rfind("\n", 0, offset) + 1)
        document = {"uri": self.file.as_uri()}
        return {"textDocument": document, "position": {"line": line, "character": character}}

    def hover(self, old: str, new: str) -> str:
        answer = self.server.request("textDocument/hover", self.at_cursor(old, new))
        return answer["contents"]["value"] if answer else ""

    def completions(self, old: str, new: str) -> list[str]:
        answer = self.server.request("textDocument/completion", self.at_cursor(old, new))
        items = answer["items"] if isinstance(answer, dict) else answer or []
        items.sort(key=lambda item: item.get("sortText", item["label"]))
        return [item["label"].split("(")[0].split(" ")[0].rstrip("{}") for item in items]

    def marks(self, text: str):
        """The lines that are marked as wrong, each with its message and the text that is underlined."""
        self.server.show(self.file, text)
        answer = self.server.request("textDocument/diagnostic", {"textDocument": {"uri": self.file.as_uri()}})
        lines = text.split("\n")
        found = []
        for item in answer["items"]:
            begin, end = item["range"]["start"], item["range"]["end"]
            to = end["character"] if begin["line"] == end["line"] else None
            found.append((item["message"], lines[begin["line"]][begin["character"] : to]))
        return found

    def definitions(self, old: str, new: str) -> list[str]:
        """The lines, up to what they return, that a name leads to."""
        answer = self.server.request("textDocument/definition", self.at_cursor(old, new))
        return [self.line(target["range"]).split(" ->")[0] for target in answer]

    def symbols(self, name: str) -> list[str]:
        """The lines at which something of that name is, by the symbols of the workspace."""
        self.server.show(self.file, self.text)
        answer = self.server.request("workspace/symbol", {"query": name})
        here = [one["location"]["range"] for one in answer if one["location"]["uri"] == self.file.as_uri()]
        return [self.line(place) for place in here]

    def line(self, place: dict) -> str:
        return self.text.split("\n")[place["start"]["line"]].strip()


COMPLETIONS = [
    ("the first node", GRAPH, "START => $0", NODES),
    ("the first node, begun", GRAPH, "START => cha$0", NODES),
    ("the first node, before a `;`", GRAPH, "START => cha$0;", NODES),
    ("the middle of a node", GRAPH, "START => validate => <good: char$0ge, redo: charity>;", NODES),
    ("a node in a chain", GRAPH, "START => validate => cha$0;", NODES),
    ("the target of an arm", GRAPH, "START => validate => <good: cha$0, redo: charity>;", NODES),
    ("the target of an arm, not begun", GRAPH, "START => validate => <good: $0>;", NODES),
    ("a place of a join", GRAPH, "START => (charge, cha$0) => validate;", NODES),
    ("an item", GRAPH, "START => [cha$0] => validate;", NODES),
    ("the beginning of a statement", GRAPH, f"{GRAPH} $0", NODES),
    ("the beginning of a statement, begun", GRAPH, f"{GRAPH} cha$0", NODES),
    ("an empty graph", GRAPH, "$0", NODES),
    ("START", GRAPH, "STA$0 => validate => <good: charge, redo: charity>;", NODES),
    ("END", GRAPH, "START => validate => <good: charge, redo: EN$0>;", NODES),
    ("the right side of a let", GRAPH, f"let again = cha$0; {GRAPH}", NODES),
    ("the right side of a let, not begun", GRAPH, f"let again = $0; {GRAPH}", NODES),
    ("a node of a flow", MAIN, "fn main() { let flow = workflow! { START => cha$0 };", NODES),
    ("a label", GRAPH, "START => validate => <go$0: charge, redo: charity>;", ["good", "redo"]),
    ("the last label", GRAPH, "START => validate => <good: charge, re$0>;", ["good", "redo"]),
    ("the first label", GRAPH, "START => validate => <$0>;", ["good", "redo"]),
    ("a label in braces", GRAPH, "START => validate => {$0: charge};", ["good", "redo"]),
    ("a label of a node that fails", GRAPH, "START => charge => <$0>;", ["ok", "err"]),
    ("a label of a flow", MAIN, "fn main() { let flow = workflow! { START => validate => <go$0> };", ["good", "redo"]),
    ("an option of a node", ATTRIBUTE, "#[node(ti$0)]", OPTIONS),
    ("an option of a node, not begun", ATTRIBUTE, "#[node($0)]", OPTIONS),
    ("an option of a retry", ATTRIBUTE, "#[node(retry(max_$0))]", OPTIONS_OF_RETRY),
    ("an option in a let", GRAPH, f"let again = charge(time$0); {GRAPH}", OPTIONS),
    ("an option of a retry in a let", GRAPH, f"let again = charge(retry(ji$0)); {GRAPH}", OPTIONS_OF_RETRY),
]

HOVERS = [
    ("a node", GRAPH, AT_CHARGE, [SIGNATURE, "Charges the card"]),
    ("the options of a node", GRAPH, AT_CHARGE, ["retry(max_attempts = 3), timeout = \"10s\""]),
    ("a node of a flow", MAIN, "fn main() { let flow = workflow! { START => char$0ge };", [SIGNATURE]),
    ("the type of a flow", MAIN, "fn main() { let fl$0ow = workflow! { START => charge };", ["Flow<Order, String>"]),
    ("a let", GRAPH, "let again = charge(); START => ag$0ain;", ["charge(Order)", "Result<String"]),
    ("START", GRAPH, "STA$0RT => validate => <good: charge, redo: charity>;", ["The start of a workflow"]),
    ("END", GRAPH, "START => validate => <good: charge, redo: E$0ND>;", ["The end of a workflow"]),
    ("a label", GRAPH, "START => validate => <go$0od: charge, redo: charity>;", ["good(Order)"]),
    ("retry", ATTRIBUTE, "#[node(ret$0ry(max_attempts = 3), timeout = \"10s\")]", ["another attempt"]),
    ("max_attempts", ATTRIBUTE, "#[node(retry(max_att$0empts = 3), timeout = \"10s\")]", ["the number of attempts"]),
    ("timeout", ATTRIBUTE, "#[node(retry(max_attempts = 3), time$0out = \"10s\")]", ["how long one attempt"]),
    ("an option in a let", GRAPH, "let again = charge(time$0out = \"1s\"); START => again;", ["how long one attempt"]),
    ("a limit of a run", "    /// From", "    #[time$0out = \"1h\"]\n    /// From", ["how long a run"]),
]


def check(sample: Sample):
    """Yields what each case is of, and what is wrong with it."""
    for name, old, new, wanted in COMPLETIONS:
        offered = sample.completions(old, new)
        # What has nothing to do with the place comes behind everything that has.
        first = offered[: len(wanted)]
        yield f"completion: {name}", sorted(first) != sorted(wanted) and f"wants {wanted} first, is offered {offered[:12]}"
    for name, old, new, wanted in HOVERS:
        shown = sample.hover(old, new)
        missing = [text for text in wanted if text not in shown]
        also = [text for text in ["struct charge", "__gw", "graphweft::typed::edge", "Cast between"] if text in shown]
        yield f"hover: {name}", (missing or also) and f"does not show {missing}, shows {also}:\n{shown}"
    targets = sample.definitions(GRAPH, AT_CHARGE)
    yield "definition: a node", targets != ["async fn charge(order: Order)"] and f"leads to {targets}"
    marks = sample.marks(sample.text)
    yield "mark: none in a sound program", marks and f"has {marks}"
    marks = sample.marks(sample.text.replace(GRAPH, "START => validate => <good: charge>;"))
    is_at_map = marks and all("redo" in message and marked == "<" for message, marked in marks)
    yield "mark: a missing label", not is_at_map and f"is marked at {marks}"
    marks = sample.marks(sample.text.replace(GRAPH, "START => ;"))
    is_at_arrow = marks and all("leads nowhere" in message and marked == "=" for message, marked in marks)
    yield "mark: an arrow that leads nowhere", not is_at_arrow and f"is marked at {marks}"
    # The outline of a file has items only, and a macro call is none; symbols of the workspace come from expansions.
    symbols = sample.symbols("checkout")
    yield "symbol: the workflow", symbols != ["pub checkout(Order) -> String {"] and f"has {symbols}"


def main():
    analyzer = sys.argv[1] if len(sys.argv) > 1 else "rust-analyzer"
    # On a machine whose /tmp is small, TMPDIR says where to put 200 MiB.
    failed = passed = 0
    with tempfile.TemporaryDirectory() as directory:
        sample = Sample(analyzer, Path(directory))
        for name, problem in check(sample):
            failed += bool(problem)
            passed += not problem
            print(f"{'FAILED' if problem else 'ok    '} {name}{': ' + problem if problem else ''}", flush=True)
        sample.server.stop()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
