"""The look-up page's form and words; what happens in it is ``assets/lookup.js``, what it shows ``assets/answer.js``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape

from rulebook.model import ReasonKind, Relevance, Severity
from rulebook.render.text import MEANINGS, ONLY_PLACES, WORDS
from rulebook.site.words import LANGUAGES, value_word

#: What the form and its scripts say, in English and Chinese. ``{0}``, ``{1}`` … are filled in by the scripts; where
#: there is a ``|``, what stands before it is for one, and what follows it for any other number. What the text output
#: of ``rulebook applies`` says as well comes from :mod:`rulebook.render.text`.
_WORDS: Mapping[str, tuple[str, str]] = {
    # The form.
    "intro": (
        "Paste changed paths or a unified diff, or drop a file. The answer is made in this page: nothing is sent.",
        "粘贴改动的路径（每行一个）或 unified diff，也可拖入文件。一切在本页内计算，不会发送到任何地方。",
    ),
    "repo": ("Repository", "仓库"),
    "choose": ("choose one", "请选择"),
    "input": ("Changed paths, or a unified diff", "改动的路径，或 unified diff"),
    "file": ("Or a file", "或选择文件"),
    "drop": ("Drop the file: it is read in this page.", "松开即可：文件只在本页内读取。"),
    "ask": ("Which rules apply?", "查询适用规则"),
    "stop": ("Stop", "停止"),
    "clear": ("Clear", "清空"),
    "example": ("Try an example", "试用示例"),
    "how": ("How to get it", "如何得到这些内容"),
    "how_diff": ("the diff: places and changed lines are judged", "diff：判断位置和改动的行"),
    "how_pull": ("the diff of a pull request", "某个 pull request 的 diff"),
    "how_names": ("paths with what happened to each: only places are judged", "路径及其变化：只判断位置"),
    "noscript": ("This page needs JavaScript; the command line does not.", "本页需要 JavaScript；也可使用命令行。"),
    # What becomes of a question.
    "empty": ("Paste paths or a diff first.", "请先粘贴路径或 diff。"),
    "no_repo": ("Choose the repository that the paths belong to.", "请选择这些路径所属的仓库。"),
    "unknown_repo": (
        "The link asks about the repository {0}, which is not known here: choose another one.",
        "链接所指的仓库 {0} 在此没有规则：请另选一个。",
    ),
    "large": ("This is larger than {0} MiB; ask the command line.", "内容超过 {0} MiB，请改用命令行。"),
    "several": ("Drop one file at a time.", "一次只能拖入一个文件。"),
    "unreadable": ("{0} cannot be read: {1}", "无法读取 {0}：{1}"),
    "slow": ("No answer within {0} seconds; ask the command line.", "{0} 秒内没有得到结果，请改用命令行。"),
    "slow_rule": (
        "No answer within {0} seconds: the expressions of {1} take too long on these lines. Ask the command line.",
        "{0} 秒内没有得到结果：{1} 的正则表达式在这些行上耗时过长。请改用命令行。",
    ),
    "stopped": ("Stopped.", "已停止。"),
    "working": ("Working…", "正在计算…"),
    "failed": ("Something went wrong: {0}", "出错了：{0}"),
    "cannot": ("This cannot be read: {0}", "无法读取此内容：{0}"),
    "hint": ("{0}.", "提示：{0}。"),
    "held": ("{0}, {1}", "{0}，{1}"),
    "pasted": ("pasted text", "粘贴的文本"),
    # The answer.
    "comma": (", ", "，"),
    "heading": ("{0}: {1}", "{0}：{1}"),
    "changed_paths": ("{0} changed path|{0} changed paths", "{0} 个改动的路径"),
    "direct_count": ("{0} direct", "{0} 条直接相关"),
    "possible_count": ("{0} possible", "{0} 条可能相关"),
    "missing_count": ("{0} not changed along", "{0} 处未一并改动"),
    "unmatched_count": ("{0} path uncovered|{0} paths uncovered", "{0} 个路径无规则覆盖"),
    "paths": ("{0} path|{0} paths", "{0} 个路径"),
    "examined": ("{0} and {1} examined", "查阅了{0}和{1}"),
    "rules": ("{0} rule|{0} rules", " {0} 条规则"),
    "digests": ("{0} digest|{0} digests", " {0} 篇评审摘要"),
    "incomplete": (
        "The list of changed paths is cut: what is missing from it was not looked at.",
        "改动路径的列表不完整：缺少的部分没有查阅。",
    ),
    "only_places": (f"{ONLY_PLACES} Paste the diff for more.", "只看了位置，没有看改动的行。粘贴 diff 可以得到更多。"),
    "some_places": (
        "Of {0} the changed lines are not known, only the place.",
        "有 {0}只知道位置，不知道改动的行。",
    ),
    "nothing_changed": ("The change is empty: was it made without an error?", "改动为空：生成时是否出错？"),
    "want_functions": (
        "{0} ask which function a line stands in, of which a diff shows little: a diff made with -W tells more.",
        "{0} 需要知道改动的行在哪个函数中，而 diff 显示得很少：用 -W 生成的 diff 可以得到更多。",
    ),
    "elsewhere": (
        "No path is covered by any rule: do they belong to {0}?",
        "没有任何路径被规则覆盖：它们属于 {0} 吗？",
    ),
    "direct": (f"Direct ({{0}}): {MEANINGS[Relevance.DIRECT]}", "直接相关（{0}）：改动本身表明"),
    "possible": (f"Possible ({{0}}): {MEANINGS[Relevance.POSSIBLE]}", "可能相关（{0}）：只有位置相符"),
    "no_rule": ("No rule applies.", "没有适用的规则。"),
    "reviews": ("Related reading ({0})", "相关阅读（{0}）"),
    "unmatched": ("No rule covers ({0})", "没有规则覆盖（{0}）"),
    "meets": (f"{{0}}{{1}} {WORDS[ReasonKind.PATH]} {{2}}", "{0}{1} 符合 {2}"),
    "line": (f"{{0}} {WORDS[ReasonKind.LINE]} {{1}}", "{0} 匹配 {1}"),
    "identifier": (f"{{0}} {WORDS[ReasonKind.IDENTIFIER]} {{1}}", "{0} 出现名称 {1}"),
    "function": (f"{{0}} {WORDS[ReasonKind.FUNCTION]} {{1}}", "{0} 位于 {1} 之内"),
    "source": (f"{{0}} {WORDS[ReasonKind.SOURCE]}{{1}}", "{0} 是此规则的来源{1}"),
    "source_at": (" at #{0}", " #{0}"),
    "source_as_of": (", as of {0}", "，以 {0} 为准"),
    "moved_to": (" (moved to {0})", "（移到 {0}）"),
    "moved_from": (" (moved from {0})", "（从 {0} 移来）"),
    "copied_from": (" (copied from {0})", "（复制自 {0}）"),
    "added": (" (added)", "（新增）"),
    "deleted": (" (deleted)", "（删除）"),
    "more_paths": ("and {0} more path|and {0} more paths", "以及另外 {0} 个路径"),
    "more_reasons": ("and {0} more reason|and {0} more reasons", "另有 {0} 条理由"),
    "more_rules": ("and {0} more rule|and {0} more rules", "另有 {0} 条规则"),
    "more_digests": ("and {0} more digest|and {0} more digests", "另有 {0} 篇"),
    "more_in_json": ("{0} more: the JSON has them all", "还有 {0} 项：JSON 中有全部内容"),
    "missing": ("not changed along:", "未一并改动："),
    "asked_by": ("asked for by {0}", "由 {0} 要求"),
    "waived_by": ("waived by {0}", "由 {0} 豁免"),
    "unjudged": (
        "Not judged in a browser, so the rule may be direct: {0} ({1})",
        "浏览器中无法判断，因此规则可能直接相关：{0}（{1}）",
    ),
    "touched": ("touched {0}, as {1} does", "改过 {0}，{1} 也在其中"),
    "labelled": ("shares the label {0}", "有相同的标签 {0}"),
    "source_state": ("a source: {0}", "来源：{0}"),
    "minutes": ("{0} minute|{0} minutes", "{0} 分钟"),
    "root": ("in the root", "根目录"),
    # What reading is worth.
    "is_close": ("read closely", "细读"),
    "is_skim": ("skim", "略读"),
    "is_skip": ("skip", "可跳过"),
    # What can be taken along.
    "markdown": ("Copy as Markdown", "复制为 Markdown"),
    "json": ("Download JSON", "下载 JSON"),
    "share": ("Copy a link to this question", "复制此查询的链接"),
    "copied": ("Copied.", "已复制。"),
    "link_copied": ("The link is copied, and stands in the address bar.", "链接已复制，也显示在地址栏中。"),
    "copy_here": ("The browser does not let the page copy: copy it from here.", "浏览器不允许复制，请从这里手动复制。"),
    "too_long": (
        "Too long to share as a link: {0} characters, where {1} are safe. Share the file instead.",
        "内容太长，无法用链接分享：链接有 {0} 个字符，上限为 {1}。请直接分享文件。",
    ),
    "no_link": (
        "What a file holds is not put into a link: share the file itself.",
        "文件的内容不会放进链接：请直接分享文件。",
    ),
    # The Markdown that is copied, as `rulebook applies --format md` writes it.
    "md_heading": ("Rules for this change of {0}", "此改动适用的规则：{0}"),
    "md_incomplete": (
        "**The list of changed paths is cut**: what is missing from it was not looked at.",
        "**改动路径的列表不完整**：缺少的部分没有查阅。",
    ),
    "md_only_places": (ONLY_PLACES, "只看了位置，没有看改动的行。"),
    "md_reason": ("{0}{1} {2} {3}", "{0}{1} {2} {3}"),
    "md_removed": (" (removed)", "（删除的行）"),
    "md_more": ("and {0} more", "另有 {0} 个"),
    "md_unmatched": (
        "{0} changed path that no rule covers|{0} changed paths that no rule covers",
        "{0} 个改动的路径没有规则覆盖",
    ),
    "md_path": (WORDS[ReasonKind.PATH], "符合"),
    "md_line": (WORDS[ReasonKind.LINE], "匹配"),
    "md_identifier": (WORDS[ReasonKind.IDENTIFIER], "出现名称"),
    "md_function": (WORDS[ReasonKind.FUNCTION], "位于其内："),
    "md_source": (f"{WORDS[ReasonKind.SOURCE]}:", "是此规则的来源："),
    "md_more_digests": ("and {0}", "另有 {0}"),
    "more_of_places": ("{0} of the same places", "{0} 篇涉及相同的位置"),
    "more_of_labels": ("{0} that only share a label", "{0} 篇只有相同的标签"),
    "and": (" and ", "，"),
}
#: The values that the scripts show, by the family that the site's own words file them under.
_VALUES: Mapping[str, Sequence[str]] = {
    "severity": tuple(Severity),
    "status": ("contested",),
    "freshness": ("fresh", "changed", "moved", "gone", "unverifiable", "invalid"),
}
#: Seconds after which the page gives up on a question.
_PATIENCE = 60


def lookup_words(lang: str) -> dict[str, str]:
    """What the scripts say in ``en`` or ``zh``, by the names that they use."""
    words = {key: texts[LANGUAGES.index(lang)] for key, texts in _WORDS.items()}
    return words | {f"is_{value}": value_word(family, value, lang) for family in _VALUES for value in _VALUES[family]}


def lookup_form(lang: str, repositories: Sequence[str], assets: str) -> str:
    """The form in a language, as HTML that is trusted.

    Args:
        lang: ``en`` or ``zh``.
        repositories: the aliases to choose from; where there are several, none is chosen beforehand, since an answer
            about another repository looks like one that is right.
        assets: the relative address of the folder with the scripts.
    """
    words = lookup_words(lang)
    say = {key: escape(text) for key, text in words.items()}
    options = "".join(f'<option value="{escape(alias)}">{escape(alias)}</option>' for alias in repositories)
    if len(repositories) != 1:
        options = f'<option value="">{say["choose"]}</option>{options}'
    root = "../" if lang == "en" else "../../"
    ways = "".join(
        f"<li><code>{command}</code> {say[key]}</li>"
        for command, key in (
            ("git diff main...HEAD", "how_diff"),
            ("gh pr diff 123", "how_pull"),
            ("git diff --name-status main...HEAD", "how_names"),
        )
    )
    return f"""
<p>{say["intro"]}</p>
<noscript><p>{say["noscript"]}</p></noscript>
<form id="rulebook-lookup" class="rulebook-lookup" data-assets="{escape(assets)}/" data-site="{root}"
 data-seconds="{_PATIENCE}" data-words="{escape(json.dumps(words, ensure_ascii=False))}">
<p><label for="rulebook-repo">{say["repo"]}</label><select id="rulebook-repo" required>{options}</select></p>
<p><label for="rulebook-input">{say["input"]}</label>
<textarea id="rulebook-input" rows="8" spellcheck="false" autocomplete="off" autocapitalize="off"></textarea></p>
<p><label for="rulebook-file">{say["file"]}</label><input id="rulebook-file" type="file">
<output id="rulebook-held" for="rulebook-file rulebook-input"></output></p>
<p class="rulebook-lookup__buttons">
<button type="submit" class="md-button md-button--primary" disabled>{say["ask"]}</button>
<button type="button" id="rulebook-stop" class="md-button" disabled>{say["stop"]}</button>
<button type="button" id="rulebook-clear" class="md-button">{say["clear"]}</button>
<button type="button" id="rulebook-example" class="md-button" disabled>{say["example"]}</button></p>
<p class="rulebook-lookup__drop" aria-hidden="true">{say["drop"]}</p>
</form>
<p id="rulebook-status" class="rulebook-status" role="status"></p>
<div id="rulebook-answer" class="rulebook-answer">
<h2>{say["how"]}</h2>
<ul>{ways}</ul>
</div>
"""
