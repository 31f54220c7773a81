"""Knowledge bases of any size for the benchmarks, always the same for the same arguments."""

from __future__ import annotations

import random
from pathlib import Path

WORDS = (
    "kernel cache graph worker stage token route gate expert layer batch rank device stream queue shard plan image "
    "driver socket codec schema field config registry factory runner hook patch replay capture profile"
).split()
CHINESE = "控制面连接器注册白名单校验元数据权重加载显存图模式回放捕获门禁用例补丁豁免镜像"


def write_rules(root: Path, count: int, *, pages: bool = False) -> None:
    """Writes a knowledge base of ``count`` rules; as pages of 100 rules each where ``pages`` says so."""
    random.seed(count)
    (root / "rules/demo").mkdir(parents=True)
    (root / "rulebook.toml").write_text('[repos.demo]\nurl = "https://example.invalid/demo.git"\n')
    if pages:
        for page in range(count // 100):
            sections = [f"## R-{page * 100 + n} — {_title()}\n\n{_text()}" for n in range(100)]
            head = f"---\ntitle: Page {page}\nrepo: demo\napplies_to: [{', '.join(_patterns(page))}]\n---\n"
            (root / f"rules/demo/page-{page}.md").write_text(head + "\n\n".join(sections), encoding="utf-8")
        return
    for number in range(count):
        (root / f"rules/demo/R-{number}.md").write_text(rule_text(number), encoding="utf-8")


def rule_text(number: int) -> str:
    """One rule in the full shape of a real one."""
    patterns = "\n".join(f"  - {pattern}" for pattern in _patterns(number))
    names = [f"{random.choice(WORDS)}_{random.choice(WORDS)}_{number}" for _ in range(4)]
    return (
        f"---\nid: R-{number}\ntitle: {_title()}\nstatus: active\nseverity: warning\nrepo: demo\n"
        f"applies_to:\n{patterns}\n"
        f"look_for:\n  - identifiers: [{names[0]}, {names[1]}]\n  - lines: '\\b{names[2]}\\('\n    on: added\n"
        f"sources:\n  - demo@{number:040x}:pkg{number % 97}/mod{number}.py#{names[0]}\n"
        f"tags: [{random.choice(WORDS)}]\ncreated: 2026-01-02\nupdated: 2026-03-04\n---\n\n"
        f"## What it demands\n\n{_text()} `{names[0]}` {_text()}\n\n## Why\n\n{_text()}\n\n"
        f"## What to check\n\n- `{names[1]}()` {_text()}\n- {_text()}\n\n## References\n\n- {_text()}\n"
    )


def write_paths(count: int, rules: int) -> list[str]:
    """Paths that fall into the places of such a knowledge base."""
    random.seed(count + rules)
    found = []
    for _ in range(count):
        number = random.randrange(rules)
        found.append(f"pkg{number % 97}/area{number}/{random.choice(WORDS)}.py")
    return found


def _patterns(number: int) -> list[str]:
    area = f"pkg{number % 97}/area{number}"
    return [f'"{area}/**"', f'"!{area}/gen/**"', f'"tests/**/test_{number}_*.py"']


def _title() -> str:
    return " ".join(random.choices(WORDS, k=7)).capitalize()


def _text() -> str:
    chinese = "".join(random.choices(CHINESE, k=30))
    return " ".join(random.choices(WORDS, k=25)) + f" {chinese}."
