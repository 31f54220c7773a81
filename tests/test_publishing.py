"""pages.yml: its steps' shell runs as a runner would run it, on real repositories, and what it published is read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from basekit import pin, target, write_rule
from publishkit import SITE_URL, STEPS, WORKFLOW, Repository

pytest.importorskip("mike", reason="mike is not installed")


def test_no_expression_is_in_a_script_and_actions_are_pinned() -> None:
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["publish"]["permissions"] == {"contents": "write"}
    assert all("${{" not in step.get("run", "") for step in STEPS)
    assert all(re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", step["uses"]) for step in STEPS if "uses" in step)
    # Files that are ignored, and a branch that is local, may be forced; nothing else.
    scripts = "".join(step.get("run", "") for step in STEPS)
    harmless = re.compile(r"add --all --force |branch --quiet --delete --force |Never by force")
    assert "force" not in harmless.sub("", scripts)
    assert not re.search(r"push[^\n]* (?:-f|\+)", scripts)
    [checkout] = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.slow
def test_the_newest_state_and_versions_beside_it(repository: Repository) -> None:
    page = "rules/target/R-1/index.html"
    repository.publish("main")
    assert "Text before." in repository.read(page)
    assert repository.versions() == []
    assert ".nojekyll" in repository.names()

    first = repository.tip()
    repository.publish("main")
    assert repository.tip() == first

    repository.tag("v1.0")
    repository.publish("v1.0")
    assert repository.versions() == [("v1.0", ["latest"])]
    assert "Text before." in repository.read(f"v1.0/{page}")
    assert repository.git("rev-parse", f"gh-pages:{page}") == repository.git("rev-parse", f"{first}:{page}")
    version = repository.git("rev-parse", "gh-pages:v1.0")

    repository.commit("Text after.")
    repository.publish("main")
    assert "Text after." in repository.read(page)
    assert "Text after." not in repository.read(f"v1.0/{page}")
    assert repository.git("rev-parse", "gh-pages:v1.0") == version
    assert repository.versions() == [("v1.0", ["latest"])]
    assert repository.git("rev-list", "--count", "gh-pages") == "3"
    # The whole way from the first publication: nothing was pushed by force.
    assert repository.git("merge-base", "--is-ancestor", first, "gh-pages") == ""

    root, older = json.loads(repository.read("rules.json")), json.loads(repository.read("v1.0/rules.json"))
    assert root["rules"][0]["url"] == f"{SITE_URL}rules/target/R-1/"
    assert older["rules"][0]["url"] == f"{SITE_URL}v1.0/rules/target/R-1/"
    for place, address in (("", SITE_URL), ("v1.0/", f"{SITE_URL}v1.0/")):
        assert f'<link rel="canonical" href="{address}rules/target/R-1/">' in repository.read(place + page)
        assert f"<loc>{address}zh/rules/target/R-1/</loc>" in repository.read(f"{place}sitemap.xml")
        ids = ET.fromstring(repository.read(f"{place}feed.atom")).iter("{http://www.w3.org/2005/Atom}id")
        assert all((item.text or "").startswith(address) for item in ids)


@pytest.mark.slow
def test_a_page_that_is_gone_goes_and_a_domain_stays(repository: Repository) -> None:
    repository.commit("other", "R-2")
    repository.publish("main")
    assert "other" in repository.read("rules/target/R-2/index.html")
    clone = repository.folder / "by-hand"
    repository.work.git("clone", "--quiet", "--branch", "gh-pages", str(repository.origin), str(clone))
    (clone / "CNAME").write_text("rules.example.invalid\n")
    for line in (["add", "CNAME"], ["commit", "--quiet", "-m", "Domain"], ["push", "--quiet"]):
        subprocess.run(["git", "-C", str(clone), *line], check=True, env=repository.work.environ)
    (repository.work.path / "rules/R-2.md").unlink()
    repository.commit("third")
    repository.publish("main")
    assert repository.read("CNAME") == "rules.example.invalid"
    assert "R-2" not in repository.git("ls-tree", "-r", "--name-only", "gh-pages")


@pytest.mark.slow
def test_the_highest_release_is_the_latest(repository: Repository) -> None:
    for name in ("v2.0", "v1.9", "v10.0-rc.1"):
        repository.tag(name)
        repository.publish(name)
    assert dict(repository.versions()) == {"v10.0-rc.1": [], "v2.0": ["latest"], "v1.9": []}
    repository.tag("v10.0")
    repository.publish("v10.0")
    assert dict(repository.versions())["v10.0"] == ["latest"]
    assert dict(repository.versions())["v2.0"] == []
    # A version before the newest state was ever published has no root, and gets one.
    assert "index.html" not in repository.names()
    repository.publish("main")
    assert {"index.html", "v2.0", "v1.9", "v10.0", "latest"} <= set(repository.names())


@pytest.mark.slow
def test_runs_at_the_same_time_lose_nothing(repository: Repository) -> None:
    names = ["v1.0", "v1.1"]
    for name in names:
        repository.tag(name)
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(repository.run, ["main", *names]))
    assert [run.returncode for run in done] == [0, 0, 0], [run.stdout + run.stderr for run in done]
    assert {"index.html", "v1.0", "v1.1", "versions.json"} <= set(repository.names())
    assert {name for name, _ in repository.versions()} == set(names)
    assert dict(repository.versions())["v1.1"] == ["latest"]


@pytest.mark.slow
def test_a_version_can_be_deleted(repository: Repository) -> None:
    for name in ("v1", "v2"):
        repository.tag(name)
        repository.publish(name)
    repository.publish("main")
    clone = repository.folder / "maintainer"
    repository.work.git("clone", "--quiet", str(repository.origin), str(clone))
    environ = repository.work.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["mike", "delete", "--push", "v1"], cwd=clone, env=environ, check=True, capture_output=True)
    assert repository.versions() == [("v2", ["latest"])]
    repository.commit("after")
    repository.publish("main")
    assert "v1" not in repository.names()
    assert {"v2", "latest", "index.html"} <= set(repository.names())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v1;id", "v$(id)", "v'1"])
def test_a_tag_with_another_name_is_refused(repository: Repository, name: str) -> None:
    repository.tag(name)
    done = repository.run(name, steps=("Publish",))
    assert done.returncode == 2
    assert "::error" in done.stdout
    assert repository.git("for-each-ref", "refs/heads/gh-pages") == ""


@pytest.mark.slow
def test_content_with_errors_is_not_published(repository: Repository) -> None:
    rule = repository.work.path / "rules/R-1.md"
    rule.write_text(rule.read_text().replace("status: active", "status: alive"))
    repository.commit("wrong", "R-2")
    done = repository.run("main")
    assert done.returncode == 1
    assert repository.git("for-each-ref", "refs/heads/gh-pages") == ""


JUDGED = ("Judge freshness and patches where the targets can be fetched", "Build", "Publish")


@pytest.mark.slow
def test_what_cannot_be_judged_is_said_and_does_not_stop_the_site(repository: Repository) -> None:
    done = repository.run("main", steps=JUDGED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not checked" in repository.read("rules/target/R-1/index.html")


@pytest.mark.slow
def test_freshness_is_that_of_the_fetched_targets(repository: Repository) -> None:
    made, old = target(repository.folder)
    (repository.work.path / "rulebook.toml").write_text(f'[repos.target]\nurl = "{made.path}"\n')
    write_rule(repository.work.path, "R-3", [pin(old, "gone.py")])
    repository.commit("One whose source is gone.", "R-4")
    done = repository.run("main", steps=JUDGED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no freshness" not in done.stdout
    states = {rule["id"]: rule["freshness"] for rule in json.loads(repository.read("rules.json"))["rules"]}
    assert states["R-3"] == "gone"
    repository.tag("v1")
    repository.run("v1", steps=JUDGED)
    states = {rule["id"]: rule["freshness"] for rule in json.loads(repository.read("v1/rules.json"))["rules"]}
    assert states["R-3"] == "gone"
