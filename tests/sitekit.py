"""Runs the site's look-up scripts in Node.js, and builds sites, for tests."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rulebook import site
from rulebook.answer import applies
from rulebook.changes import from_path_list
from rulebook.diffs import parse_diff
from rulebook.errors import RulebookError
from rulebook.render.data import applies_data, dump
from rulebook.render.md import applies_markdown
from rulebook.site.form import lookup_words

if TYPE_CHECKING:
    from rulebook.store.query import Store

ASSETS = Path(site.__file__).parent / "assets"
ROOT = Path(__file__).parent.parent

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")

_ASK = """
const { Lookup, readChange, InputError } = await import("./engine.js");
const { toMarkdown } = await import("./markdown.js");
const { toJson } = await import("./text.js");
const { speaker } = await import("./words.js");
const { matchList, PlaceIndex } = await import("./patterns.js");
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { data, inputs, words, patterns, regexes } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
const answers = [];
if (data) {
  const lookup = new Lookup(data);
  for (const input of inputs) {
    try {
      const found = lookup.ask(readChange(new Uint8Array(Buffer.from(input, "base64"))));
      if (!words) answers.push(found.answer);
      else {
        const markdown = toMarkdown(found, { say: speaker(words, "en"), words, title: (item) => item.title });
        answers.push({ json: toJson(found.answer), markdown });
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      answers.push({ error: error.message, hint: error.hint });
    }
  }
}
for (const [compiled, path] of patterns ?? []) {
  const [found] = new PlaceIndex([compiled]).match(path);
  answers.push([matchList(compiled, path.split("/")), found ? found[1] : -1]);
}
for (const [source, flags, text] of regexes ?? []) {
  const found = new RegExp(source, flags).exec(text);
  answers.push(found ? found[0] : null);
}
process.stdout.write(JSON.stringify(answers));
"""


def run_scripts(folder: Path, **question: Any) -> list[Any]:
    """Asks the scripts; ``folder`` is where they are put as modules of Node.js."""
    if not (folder / "ask.js").exists():
        shutil.copytree(ASSETS, folder, dirs_exist_ok=True)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "ask.js").write_text(_ASK)
    asked = subprocess.run(
        ["node", "ask.js"],
        cwd=folder,
        input=json.dumps(question).encode(),
        capture_output=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr.decode()
    return list(json.loads(asked.stdout))


def ask_page(folder: Path, data: dict[str, Any], inputs: Sequence[bytes]) -> list[dict[str, Any]]:
    """What the look-up page answers to each pasted input."""
    return run_scripts(folder, data=data, inputs=[base64.b64encode(text).decode() for text in inputs])


def ask_page_for_texts(folder: Path, data: dict[str, Any], inputs: Sequence[bytes]) -> list[dict[str, str]]:
    """What the page gives to download and to copy, for each pasted input that it can read."""
    pasted = [base64.b64encode(text).decode() for text in inputs]
    return run_scripts(folder, data=data, inputs=pasted, words=lookup_words("en"))


def ask_command(store: Store, repo: str, text: bytes, *, diff: bool) -> dict[str, Any]:
    """What the command answers to the same input, or what it says against it."""
    try:
        change = parse_diff(text) if diff else from_path_list(text, nul=b"\0" in text)
    except RulebookError as error:
        return {"error": error.message, "hint": error.hint}
    return dict(json.loads(json.dumps(applies_data(applies(store, change, repo)))))


def ask_command_for_texts(store: Store, repo: str, text: bytes, *, diff: bool) -> dict[str, str]:
    """What the command writes as JSON and as Markdown."""
    report = applies(store, parse_diff(text) if diff else from_path_list(text), repo)
    return {"json": dump(applies_data(report)), "markdown": applies_markdown(report)}


def build(root: Path, out: Path) -> list[str]:
    """Builds the site of a knowledge base and returns the build's warnings."""
    from rulebook.site.build import build_site

    return build_site(str(root), str(out))
