"""The site's own words, in each language that it is written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: The languages of the site; the first one stands at its root.
LANGUAGES = ("en", "zh")

_WORDS: Mapping[str, tuple[str, str]] = {
    "all": ("all", "全部"),
    "anywhere": ("anywhere", "任意目录"),
    "applies": ("Where it applies", "适用范围"),
    "applies_nowhere": ("It names no place, so it applies to nothing.", "未写明路径，因此不适用于任何改动。"),
    "ask": ("Which rules apply to my change?", "我的改动适用哪些规则？"),
    "ask_button": ("Look up", "查询"),
    "ask_field": ("Changed paths, or a unified diff", "改动的路径（每行一个），或 unified diff"),
    "ask_places": ("Ask which other rules apply to the same places", "查询这些位置还适用哪些规则"),
    "author": ("Author", "作者"),
    "because": ("Because", "原因"),
    "called_from": ("Called from", "调用脚本"),
    "change_first": ("When this changes", "改动此处时"),
    "change_then": ("This has to change along", "须一并改动"),
    "choose": ("choose one", "请选择"),
    "cited_names": (
        (
            "It states nothing, so the names of code that its text cites serve: those that few rules share make a "
            "match direct."
        ),
        "未写明查找内容，因此以正文引用的代码名称为准：很少有其他规则引用的名称，命中即为直接相关。",
    ),
    "cochanges": ("What has to change together", "须一并改动之处"),
    "configs": ("Configurations", "适用的配置"),
    "contradicts": ("Contradicts", "与之冲突"),
    "created": ("Created", "创建于"),
    "default_branch": ("Default branch", "默认分支"),
    "digests": ("Review digests", "评审摘要"),
    "digests_intro": (
        (
            "What pull requests taught, filed by label: how closely each is worth reading, for how long, and what to "
            "take away."
        ),
        "从合并请求中学到的东西，按标签归档：值不值得细读、要读多久、可以借鉴什么。",
    ),
    "documentation": ("Documentation", "文档（英文）"),
    "edit": ("Edit this text", "编辑此文"),
    "excluded": ("excluded", "排除"),
    "expires": ("Expires", "有效期至"),
    "filter": ("Filter the rules", "筛选规则"),
    "filter_text": ("Text", "文本"),
    "filter_reset": ("Show all", "显示全部"),
    "findings": ("What is wrong in this file", "此文件中的问题"),
    "freshness": ("Freshness", "时效"),
    "freshness_none": (
        "Nothing was checked when this site was built: no clone of a target repository was at hand.",
        "构建本站时没有目标仓库的克隆，因此未检查任何来源。",
    ),
    "history": ("History of its sources", "来源的变更历史"),
    "history_cut": ("Older commits are not in this clone.", "更早的提交不在此克隆中。"),
    "history_loose": ("not committed yet", "尚未提交"),
    "history_added": ("added", "新增"),
    "history_dropped": ("dropped", "移除"),
    "history_repinned": ("renewed", "更新"),
    "home": ("Home", "首页"),
    "home_intro": (
        (
            "The rules of a team's repositories: what each demands, where it applies, and whether the sources that it "
            "was read from still say so."
        ),
        "团队各仓库的规则：每条规则要求什么、适用于哪里，以及它所依据的来源是否仍然如此。",
    ),
    "images": ("Images", "适用的镜像"),
    "judged": ("Judged against", "对照的提交"),
    "labels": ("Labels", "标签"),
    "look_up": ("Which rules apply?", "查询适用规则"),
    "look_up_copy": (
        "This page answers in the browser. The same answer on the command line: `rulebook applies --repo ALIAS PATH…`.",
        "本页在浏览器中作答。命令行中的等价命令：`rulebook applies --repo ALIAS PATH…`。",
    ),
    "looks_for": ("What it looks for in a change", "在改动中查找什么"),
    "minutes": ("Minutes", "分钟"),
    "missing": ("This page does not exist", "找不到此页面"),
    "missing_field": ("Word, name or id", "词语、名称或编号"),
    "missing_search": ("Search", "搜索"),
    "missing_why": (
        (
            "Nothing is at this address. A rule that was renamed keeps its old address only where the site says so; "
            "the search finds it by its words."
        ),
        "此地址没有内容。规则改名后，只有在站点配置中登记过的旧地址才会跳转；可以按词语搜索。",
    ),
    "neighbours": ("The rules before and after", "前后的规则"),
    "neighbours_other": ("The documents before and after", "前后的文档"),
    "next": ("Next", "下一条"),
    "no_twin": ("This text has no English version yet.", "此文尚无中文版，以下为原文。"),
    "none_digests": ("There are no review digests.", "暂无评审摘要。"),
    "none_rules": ("There are no rules.", "暂无规则。"),
    "none_waivers": ("There are no waivers.", "暂无豁免。"),
    "not_checked": ("not checked", "未检查"),
    "nothing_but_paths": (
        "Nothing but paths: every change in its places is of interest.",
        "只看路径：范围内的任何改动都相关。",
    ),
    "opened": ("Opened", "提出于"),
    "owner": ("Document", "文档"),
    "patches": ("What it patches", "所打的补丁"),
    "pin": ("Source", "来源"),
    "pins": ("Sources", "来源"),
    "places": ("Places", "代码位置"),
    "places_intro": (
        (
            "The folders of each repository with the rules that apply there. A pattern stands at the last folder that "
            "it names; one that begins with a wildcard can match anywhere and stands first."
        ),
        "各仓库的目录，以及每处适用的规则。路径模式列在它所写明的最后一级目录之下；以通配符开头的模式可匹配任意位置，列在最前。",
    ),
    "previous": ("Previous", "上一条"),
    "provenance": ("First said in", "出处"),
    "pull_request": ("Pull request", "合并请求"),
    "reading": ("Reading", "阅读建议"),
    "reading_close": ("read closely", "值得精读"),
    "reading_skim": ("skim", "快速浏览"),
    "reading_skip": ("skip", "可以不读"),
    "reason": ("Reason", "原因"),
    "recent": ("Recently changed rules", "最近变更的规则"),
    "related": ("Related", "相关"),
    "related_digests": ("Digests about the same code", "涉及相同代码的评审摘要"),
    "removal": ("Goes when", "移除条件"),
    "repo": ("Repository", "仓库"),
    "root": ("(root)", "（根目录）"),
    "rule": ("Rule", "规则"),
    "rules": ("Rules", "规则"),
    "rules_intro": (
        "All rules. The filters stand in the address, so that a selection can be shared.",
        "全部规则。筛选条件会写入网址，便于分享。",
    ),
    "severity": ("Severity", "严重程度"),
    "since": ("Since", "始于"),
    "source_file": ("The file of this text", "此文的源文件"),
    "stale": ("Freshness", "来源时效"),
    "stale_intro": (
        "Whether the sources that the rules were read from still say what they said, the worst first.",
        "规则所依据的来源是否仍与当时一致，最需要处理的排在最前。",
    ),
    "state": ("State", "状态"),
    "status": ("Status", "状态"),
    "superseded_by": ("Superseded by", "取代者"),
    "supersedes": ("Supersedes", "取代了"),
    "tag": ("Tag", "标签"),
    "tags": ("Tags", "标签"),
    "title": ("Title", "标题"),
    "touches": ("What it touched", "涉及的位置"),
    "trail": ("Where you are", "当前位置"),
    "twin": ("Also in", "另有语言"),
    "twin_name": ("中文", "English"),
    "unlabelled": ("without a label", "未加标签"),
    "updated": ("Updated", "更新于"),
    "upstream": ("Upstream", "上游"),
    "waiver": ("Waiver", "豁免"),
    "waivers": ("Waivers", "豁免"),
    "waivers_intro": (
        "Filed exceptions from rules: what each holds for, its state, and what ends it.",
        "已备案的规则例外：各自的适用对象、当前状态，以及何时终止。",
    ),
    # The words that stand in frontmatter and in JSON.
    "status_active": ("active", "生效"),
    "status_contested": ("contested", "有争议"),
    "status_superseded": ("superseded", "已被取代"),
    "status_retired": ("retired", "已废止"),
    "status_reserved": ("reserved", "预留"),
    "severity_error": ("error", "错误"),
    "severity_warning": ("warning", "警告"),
    "severity_note": ("note", "提示"),
    "freshness_gone": ("gone", "已消失"),
    "freshness_invalid": ("invalid", "无效"),
    "freshness_moved": ("moved", "已移动"),
    "freshness_changed": ("changed", "已改动"),
    "freshness_unverifiable": ("unverifiable", "无法核实"),
    "freshness_fresh": ("fresh", "仍一致"),
    "waiver_in force": ("in force", "有效"),
    "waiver_expired": ("expired", "已过期"),
    "waiver_orphan": ("orphan", "已无对象"),
    "waiver_incomplete": ("incomplete", "不完整"),
    "meaning_gone": (
        "What the source pointed at is no longer there.",
        "来源所指的内容已不存在。",
    ),
    "meaning_invalid": ("The source cannot be read as a pin.", "来源的写法有误，无法识别。"),
    "meaning_moved": ("The text is the same, at another place.", "内容相同，但位置已变。"),
    "meaning_changed": ("The text at the place is another one.", "位置未变，但内容已改动。"),
    "meaning_unverifiable": ("Not looked at, for the reason that is given.", "因所列原因未能核实。"),
    "meaning_fresh": ("The text is the same at the same place.", "位置与内容均未变。"),
}

#: For one, for several, and in Chinese.
_COUNTED: Mapping[str, tuple[str, str, str]] = {
    "rules": ("{} rule", "{} rules", "{} 条规则"),
    "waivers": ("{} waiver", "{} waivers", "{} 份豁免"),
    "digests": ("{} digest", "{} digests", "{} 篇摘要"),
    "repositories": ("{} repository", "{} repositories", "{} 个仓库"),
    "sources": ("{} source", "{} sources", "{} 处来源"),
    "minutes": ("{} minute", "{} minutes", "{} 分钟"),
}


def word(key: str, lang: str) -> str:
    """One of the site's words.

    Raises:
        KeyError: there is none of that name.
        ValueError: the site is not written in ``lang``.
    """
    return _WORDS[key][LANGUAGES.index(lang)]


def value_word(family: str, value: str, lang: str) -> str:
    """A value of frontmatter or JSON in a language, as it is where the site has no word for it."""
    found = _WORDS.get(f"{family}_{value}")
    return found[LANGUAGES.index(lang)] if found else value


def counted(key: str, number: int, lang: str) -> str:
    """A number of things: ``1 rule``, ``2 rules``, ``2 条规则``."""
    one, several, chinese = _COUNTED[key]
    return (chinese if lang == "zh" else one if number == 1 else several).format(number)


def alternatives(items: Sequence[str], lang: str) -> list[str]:
    """What stands between several things of which one is enough: a list one shorter than ``items``.

    >>> alternatives(["a", "b", "c"], "en")
    [', ', ' or ']
    """
    between, last = ("、", " 或 ") if lang == "zh" else (", ", " or ")
    return [between] * (len(items) - 2) + [last] * (len(items) > 1)
