"""The look-up page's form; what happens in it is ``assets/lookup.js``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape

#: What the form and its script say, in English and Chinese. ``{0}`` and ``{1}`` are filled in by the script.
_WORDS: Mapping[str, tuple[str, str]] = {
    "intro": (
        "Paste changed paths or a unified diff, or drop a file. The answer is made in this page: nothing is sent.",
        "粘贴改动的路径（每行一个）或 unified diff，也可拖入文件。一切在本页内计算，不会发送到任何地方。",
    ),
    "repo": ("Repository", "仓库"),
    "input": ("Changed paths, or a unified diff", "改动的路径，或 unified diff"),
    "file": ("Or a file", "或选择文件"),
    "ask": ("Which rules apply?", "查询适用规则"),
    "share": ("Link to this question", "此查询的链接"),
    "empty": ("Paste paths or a diff first.", "请先粘贴路径或 diff。"),
    "large": ("This is larger than {0} MiB; ask the command line.", "内容超过 {0} MiB，请改用命令行。"),
    "slow": ("No answer within {0} seconds; ask the command line.", "{0} 秒内没有得到结果，请改用命令行。"),
    "working": ("Working…", "正在计算…"),
    "failed": ("Something went wrong: {0}", "出错了：{0}"),
    "summary": ("{0} rules apply, {1} of them directly.", "适用 {0} 条规则，其中 {1} 条直接相关。"),
    "direct": ("Direct: the change itself shows it", "直接：改动本身表明相关"),
    "possible": ("Possible: the place matches", "可能：位置相符"),
    "missing": ("Not changed along: {0}, because {1}", "未一并改动：{0}，原因：{1}"),
    "reviews": ("Digests worth reading", "值得一读的评审摘要"),
    "unmatched": ("No rule covers", "没有规则覆盖"),
    "unjudged": ("Not judged in a browser: {0}", "浏览器中无法判断：{0}"),
    "more": ("{0} more reasons", "另有 {0} 条理由"),
    "noscript": ("This page needs JavaScript; the command line does not.", "本页需要 JavaScript；也可使用命令行。"),
}


def lookup_form(lang: str, repositories: Sequence[str], assets: str) -> str:
    """The form in a language, as HTML that is trusted.

    Args:
        lang: ``en`` or ``zh``.
        repositories: the aliases to choose from.
        assets: the relative address of the folder with the scripts.
    """
    words = {key: texts[0 if lang == "en" else 1] for key, texts in _WORDS.items()}
    options = "".join(f'<option value="{escape(alias)}">{escape(alias)}</option>' for alias in repositories)
    root = "../" if lang == "en" else "../../"
    return f"""
<p>{escape(words["intro"])}</p>
<noscript><p>{escape(words["noscript"])}</p></noscript>
<form id="rulebook-lookup" class="rulebook-lookup" data-assets="{escape(assets)}/" data-site="{root}"
 data-words="{escape(json.dumps(words, ensure_ascii=False))}">
<p><label for="rulebook-repo">{escape(words["repo"])}</label><select id="rulebook-repo">{options}</select></p>
<p><label for="rulebook-input">{escape(words["input"])}</label>
<textarea id="rulebook-input" rows="8" spellcheck="false" autocomplete="off"></textarea></p>
<p><label for="rulebook-file">{escape(words["file"])}</label><input id="rulebook-file" type="file"></p>
<p><button type="submit" class="md-button md-button--primary">{escape(words["ask"])}</button>
<a id="rulebook-share" href="#" hidden>{escape(words["share"])}</a></p>
</form>
<p id="rulebook-status" role="status" aria-live="polite"></p>
<div id="rulebook-answer"></div>
"""
