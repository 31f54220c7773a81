r"""How many steps Python's matcher can take for a regular expression, whatever the line: a bound, not an estimate.

``re`` tries one way of matching after the other and goes back where one fails. So the steps of a search that finds
nothing are the parts of all the ways in which beginnings of the expression can be laid on the line, from every place
of it. This module bounds their number by a polynomial in the line's length, from the expression's parse tree alone:

1. The tree becomes an automaton. A *state* is a place in the expression; an *edge* reads one character of a class.
   Bounded repeats are written out where that is short, and else taken for endless ones, which have more ways.
2. Its strongly connected components are its *loops*. A loop that can read one text in two ways from a state back to it
   makes the ways multiply with every turn: exponential (``(a|a)*``). In every other loop a text leads from one state
   to another in one way at most, so that a way through the automaton is given by where it left each loop.
   (A. Weber, H. Seidl: On the degree of ambiguity of finite automata, 1991; for matchers that backtrack:
   M. Berglund, F. Drewes, B. van der Merwe: Analyzing catastrophic backtracking behavior, 2014.)
3. A loop can be left at any of its turns (``.*`` before ``a``), or, where what follows cannot stand inside of it
   (``[^,]*`` before ``,``), at its end only. Summing up the ways behind each place where a loop can be left gives the
   bound, from the last loop back to the first; the search, which begins anywhere in the line, is the outermost loop.
   Where a loop is entered through a character that it cannot read itself (``"[^"]*``), its turns from different
   entries never share a character, and all of them together take no more than the line is long.

What cannot be told is taken for the worse: assertions are passed, classes that may share a character do. Hence the
true number of steps is often lower, and never higher.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

from rulebook.charsets import Alphabet, subtrees, union

if sys.version_info >= (3, 11):
    from re import _constants as _codes
else:
    import sre_constants as _codes

#: A bounded repeat is written out where that takes no more than so many characters.
_WRITTEN_OUT = 64
_ENDLESS = int(_codes.MAXREPEAT)
#: An automaton with more states or edges than this is not looked through.
_MAX_STATES, _MAX_EDGES = 4_000, 20_000
#: Groups stand in each other, and parts that can be empty one after the other, up to that number.
_MAX_DEPTH = 100
#: So many pairs of states of a loop are looked at to tell whether it is ambiguous.
_MAX_PAIRS = 20_000


class TooMuch(ValueError):
    """No bound is known; the message completes "the expression …", the hint says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Bound(tuple[int, ...]):
    """A polynomial in the length ``n`` of a line: the sum of ``self[k] * comb(n, k)``, no coefficient negative.

    Sums over all shorter lengths are exact in this form: ``comb(0, k) + … + comb(n - 1, k) == comb(n, k + 1)``.
    """

    __slots__ = ()

    @property
    def degree(self) -> int:
        """The highest power of the length in it."""
        return len(self) - 1

    def at(self, length: int) -> int:
        """The steps for a line of ``length`` characters, at most."""
        return sum(factor * comb(length, power) for power, factor in enumerate(self))

    def longest(self, steps: int, most: int) -> int:
        """The length, up to ``most`` characters, to which ``steps`` are enough; -1 where they are for none."""
        low, high = -1, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.at(middle) <= steps:
                low = middle
            else:
                high = middle - 1
        return low


_NOTHING, _ONE = Bound(), Bound((1,))


def _sum(parts: Iterable[Bound]) -> Bound:
    total: list[int] = []
    for part in parts:
        total += [0] * (len(part) - len(total))
        for power, factor in enumerate(part):
            total[power] += factor
    return Bound(total)


def _most(parts: Iterable[Bound]) -> Bound:
    """What is no less than each of ``parts``, for every length."""
    total: list[int] = []
    for part in parts:
        total += [0] * (len(part) - len(total))
        for power, factor in enumerate(part):
            total[power] = max(total[power], factor)
    return Bound(total)


def _times(part: Bound, factor: int) -> Bound:
    return part if factor == 1 else Bound(factor * value for value in part)


def _before(part: Bound) -> Bound:
    """The sum over all lengths below the given one."""
    return Bound((0, *part)) if part else part


def _up_to(part: Bound) -> Bound:
    """The sum over all lengths up to the given one."""
    return _sum((part, _before(part)))


def _longer(part: Bound, by: int) -> Bound:
    """The bound for a text that is longer by so many characters (Vandermonde's identity)."""
    return Bound(
        sum(comb(by, power - low) * part[power] for power in range(low, len(part))) for low in range(len(part))
    )


# --- the automaton ----------------------------------------------------------------------------


class _Read(NamedTuple):
    """Reads a character of ``mask`` and goes on; ``echo`` tells the text of a group, as long as it may be."""

    mask: int
    next: int
    echo: bool = False


class _Choice(NamedTuple):
    """Tries one after the other without reading; a loop never runs on from an empty turn."""

    nexts: tuple[int, ...]
    loop: bool = False


class _Check(NamedTuple):
    """Passes at some places only: at the beginning of the line, or wherever something can be seen."""

    next: int
    steps: Bound = _NOTHING
    beginning: bool = False


class _Reach(NamedTuple):
    """What a state leads to before the next character is read.

    Args:
        edges: the reading nodes, each with the number of ways to it.
        steps: what it takes to try them all.
        sure: whether the end of the expression is reached in any case.
    """

    edges: Mapping[int, int]
    steps: Bound
    sure: bool = False


class _Automaton:
    """The nodes of an expression, built from its end, so that every node knows what follows."""

    END = 0

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.nodes: list[_Read | _Choice | _Check | None] = [None]
        self._reached: dict[tuple[int, bool, frozenset[int]], _Reach] = {}
        self._edges = 0
        self._depth = 0

    def add(self, node: _Read | _Choice | _Check) -> int:
        if len(self.nodes) >= _MAX_STATES:
            raise TooMuch("has too many parts", "state less, or several expressions")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def build(self, tree: Iterable[Any], after: int, flags: int, looping: bool = False) -> int:
        """The first node of ``tree`` when ``after`` follows it."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooMuch("has too many groups in each other", "write it with fewer")
        for code, argument in reversed(list(tree)):
            after = self._item(code, argument, after, flags, looping)
        self._depth -= 1
        return after

    def _item(self, code: Any, argument: Any, after: int, flags: int, looping: bool) -> int:
        alphabet = self.alphabet
        if code is _codes.LITERAL:
            return self.add(_Read(alphabet.literal(argument, flags), after))
        if code is _codes.NOT_LITERAL:
            return self.add(_Read(alphabet.negated(argument), after))
        if code is _codes.ANY:
            return self.add(_Read(alphabet.any(flags), after))
        if code is _codes.IN:
            return self.add(_Read(alphabet.group(argument, flags), after))
        if code is _codes.AT:
            anchors = (_codes.AT_BEGINNING_STRING, *(() if flags & re.MULTILINE else (_codes.AT_BEGINNING,)))
            return self.add(_Check(after, beginning=argument in anchors))
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            return self._repeat(int(argument[0]), int(argument[1]), argument[2], after, flags, looping)
        if code is _codes.SUBPATTERN:
            _, added, removed, inner = argument
            return self.build(inner, after, (flags | added) & ~removed, looping)
        if code in (_codes.BRANCH, _codes.GROUPREF_EXISTS):
            branches = subtrees(code, argument)
            return self.add(_Choice(tuple(self.build(branch, after, flags, looping) for branch in branches)))
        if code in (_codes.ASSERT, _codes.ASSERT_NOT):
            direction, inner = argument
            part = _Automaton(alphabet)
            steps = part.steps(part.build(inner, self.END, flags))
            return self.add(_Check(after, _longer(steps, inner.getwidth()[1] if direction < 0 else 0)))
        if code is _codes.GROUPREF:
            if looping:
                raise TooMuch("repeats a reference to a group", "write out what it may stand for")
            empty = self.add(_Check(after))
            return self.add(_Choice((self.add(_Read(alphabet.all, after, echo=True)), empty)))
        raise TooMuch("has a part that not every version of Python knows", "write it without")

    def _repeat(self, least: int, most: int, inner: Any, after: int, flags: int, looping: bool) -> int:
        if most == 0:
            return after
        size = _size(inner)
        if most * size <= _WRITTEN_OUT or most == 1:
            node = after
            for _ in range(most - least):
                node = self.add(_Choice((self.build(inner, node, flags, looping), after)))
            for _ in range(least):
                node = self.build(inner, node, flags, looping)
            return node
        copies = max(least - 1, 0)
        # Turns that have to be may be empty, each of them; those that need not be end with the first empty one.
        if copies and inner.getwidth()[0] and (most < _ENDLESS or copies * size > _WRITTEN_OUT):
            # Fewer turns are asked for than there have to be: who leaves the loop may still have to go back.
            copies, after = 0, self.add(_Check(after))
        head = self.add(_Choice((), loop=True))
        first = self.build(inner, head, flags, looping=True)
        self.nodes[head] = _Choice((first, after), loop=True)
        node = first if least else head
        for _ in range(copies):
            node = self.build(inner, node, flags, looping)
        return node

    def reach(self, node: int, beginning: bool = False, around: frozenset[int] = frozenset()) -> _Reach:
        """What can be read next from ``node``.

        Args:
            node: where to start.
            beginning: whether that may be the beginning of the line.
            around: the loops that were entered without reading anything.
        """
        key = (node, beginning, around)
        if key in self._reached:
            return self._reached[key]
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _optional()
        item = self.nodes[node]
        if item is None:
            found = _Reach({}, _ONE, sure=True)
        elif isinstance(item, _Read):
            found = _Reach({node: 1}, Bound((1, 1)) if item.echo else _ONE)
        elif isinstance(item, _Check):
            passed = _Reach({}, _NOTHING)
            if beginning or not item.beginning:
                passed = self.reach(item.next, beginning, around)
            found = _Reach(passed.edges, _sum((_ONE, item.steps, passed.steps)))
        else:
            if item.loop:
                # From an empty turn the matcher goes on behind the loop.
                parts = [self.reach(item.nexts[1], beginning, around - {node})]
                if node not in around:
                    parts.insert(0, self.reach(item.nexts[0], beginning, around | {node}))
            else:
                parts = [self.reach(other, beginning, around) for other in item.nexts]
            edges: dict[int, int] = {}
            for part in parts:
                for edge, ways in part.edges.items():
                    edges[edge] = edges.get(edge, 0) + ways
            found = _Reach(edges, _sum((Bound((len(parts),)), *(p.steps for p in parts))), any(p.sure for p in parts))
        self._edges += len(found.edges)
        if self._edges > _MAX_EDGES or len(self._reached) > _MAX_EDGES:
            raise _optional()
        self._depth -= 1
        self._reached[key] = found
        return found

    def steps(self, first: int) -> Bound:
        """The steps of one attempt to match from ``first`` on, at one place of the line."""
        return _Steps(self).attempt(self.reach(first, beginning=True))

    def search_steps(self, first: int) -> Bound:
        """The steps of a search through the whole line."""
        return _Steps(self).search(self.reach(first, beginning=True), self.reach(first))


def _optional() -> TooMuch:
    return TooMuch(
        "has too many optional parts in a row, which can take exponential time",
        "require some of them, or write one class that is repeated",
    )


def _size(tree: Iterable[Any]) -> int:
    """How many characters an expression is written out with, about."""
    total = 0
    for code, argument in tree:
        inner = sum(_size(part) for part in subtrees(code, argument)) or 1
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            inner *= max(1, int(argument[1])) if inner * int(argument[1]) <= _WRITTEN_OUT else 1
        total += inner
    return total


# --- the bound --------------------------------------------------------------------------------


class _Value(NamedTuple):
    """The steps behind an edge or a state.

    Args:
        once: what each entry takes.
        shared: what all entries from different places of the line take together.
        opened: the same for stretches that begin right here, by the characters that can be read in them, unless the
            character before is one of those.
    """

    once: Bound
    shared: Bound = _NOTHING
    opened: Mapping[int, Bound] = {}

    def whole(self) -> Bound:
        """What a single entry takes."""
        return _sum((self.once, self.shared, *self.opened.values()))

    def after(self, mask: int) -> _Value:
        """The same with a character of ``mask`` before it, and the stretches that it belongs to longer by it."""
        shared, longer = [self.shared], dict[int, Bound]()
        for reads, steps in self.opened.items():
            if reads & mask:
                longer[reads | mask] = _sum((longer.get(reads | mask, _NOTHING), steps))
            else:
                shared.append(steps)
        return _Value(self.once, _sum(shared), longer)

    def closed(self, mask: int = -1) -> _Value:
        """The same where nothing but that a character of ``mask`` stands before is known, if anything."""
        after = self.after(mask)
        return _Value(_sum((after.once, *after.opened.values())), after.shared)

    def times(self, ways: int) -> _Value:
        """What so many ways take."""
        if ways == 1:
            return self
        opened = {reads: _times(steps, ways) for reads, steps in self.opened.items()}
        return _Value(_times(self.once, ways), _times(self.shared, ways), opened)


class _Steps:
    """Sums up the steps from the end of an automaton to its beginning."""

    def __init__(self, automaton: _Automaton) -> None:
        self._automaton = automaton
        self._values: dict[int, _Value] = {}
        self._before: dict[int, int] = {}
        self._ends: list[Bound] = []
        self._pairs = 0

    def attempt(self, start: _Reach) -> Bound:
        """From one place of the line."""
        self._solve(start.edges)
        return _sum((self._leave(start).whole(), *self._ends))

    def search(self, first: _Reach, later: _Reach) -> Bound:
        """From every place of the line: from its beginning, then from all others."""
        self._solve({**first.edges, **later.edges})
        others = self._leave(later).closed()
        return _sum((self._leave(first).whole(), _before(others.once), others.shared, *self._ends))

    def _solve(self, edges: Iterable[int]) -> None:
        components = list(_components(self._successors, [self._read(edge).next for edge in edges]))
        for edge in (*edges, *(edge for part in components for state in part for edge in self._edges(state))):
            read = self._read(edge)
            self._before[read.next] = self._before.get(read.next, 0) | read.mask
        for component in components:
            state = component[0]
            if len(component) == 1 and state not in self._successors(state):
                self._values[state] = self._leave(self._automaton.reach(state))
            else:
                self._values.update(dict.fromkeys(component, self._turn(component)))
            # Where the end of the expression is reached whatever comes, the search is over: that is entered once.
            sure = [state for state in component if self._automaton.reach(state).sure]
            if sure:
                self._ends.append(_most(self._values[state].whole() for state in sure))

    def _read(self, edge: int) -> _Read:
        node = self._automaton.nodes[edge]
        assert isinstance(node, _Read)
        return node

    def _edges(self, state: int) -> Mapping[int, int]:
        return self._automaton.reach(state).edges

    def _successors(self, state: int) -> list[int]:
        return list(dict.fromkeys(self._read(edge).next for edge in self._edges(state)))

    def _behind(self, edge: int) -> _Value:
        """What it takes to read the edge and go on."""
        read = self._read(edge)
        if self._automaton.reach(read.next).sure:
            return _Value(_NOTHING)
        value = self._values[read.next]
        # The text of a group is of any length: what stands before is not known then.
        return _Value(value.whole()) if read.echo else value.after(read.mask)

    def _leave(self, reach: _Reach) -> _Value:
        """A place outside of loops: its own steps, and those behind the edges that one character can take."""
        values = {edge: self._behind(edge).times(ways) for edge, ways in reach.edges.items()}
        once = _at_once((self._read(edge).mask, value.once) for edge, value in values.items())
        opened: dict[int, Bound] = {}
        for value in values.values():
            for reads, steps in value.opened.items():
                opened[reads] = _sum((opened.get(reads, _NOTHING), steps))
        return _Value(_sum((reach.steps, once)), _sum(value.shared for value in values.values()), opened)

    def _turn(self, component: Sequence[int]) -> _Value:
        """A loop: its turns, and what it takes to leave it at each of them."""
        inside = set(component)
        stays = {state: [edge for edge in self._edges(state) if self._read(edge).next in inside] for state in component}
        if any(self._edges(state)[edge] > 1 for state, edges in stays.items() for edge in edges):
            raise _exponential()
        partners = self._partners(stays)
        alone = not any(partners.values())
        onward, last, shared = {}, {}, []
        for state in component:
            reach = self._automaton.reach(state)
            going = union(self._read(edge).mask for other in (state, *partners[state]) for edge in stays[other])
            # Other ways through the loop may come to their end where this one goes on.
            final = ~going if alone else -1
            exits = [
                (self._read(edge).mask, self._behind(edge).closed(self._before[state]).times(ways))
                for edge, ways in reach.edges.items()
                if self._read(edge).next not in inside
            ]
            onward[state] = _sum((reach.steps, _at_once((mask & going, value.once) for mask, value in exits)))
            last[state] = _sum((reach.steps, _at_once((mask & final, value.once) for mask, value in exits)))
            shared += [value.shared for _, value in exits]
        # One way can have come to each of the states that a text leads to.
        turn, end = (
            _most(_sum((steps[state], *(steps[other] for other in partners[state]))) for state in component)
            for steps in (onward, last)
        )
        reads = union(self._read(edge).mask for edges in stays.values() for edge in edges)
        return _Value(end, opened={reads: _sum((_up_to(turn), *shared))})

    def _partners(self, stays: Mapping[int, Sequence[int]]) -> dict[int, set[int]]:
        """For each state of a loop the others that the same text can lead to from the same state.

        Raises:
            TooMuch: a text leads from a state to a state in two ways.
        """
        partners: dict[int, set[int]] = {state: set() for state in stays}
        pending: list[tuple[int, int]] = []
        for edges in stays.values():
            reads = [self._read(edge) for edge in edges]
            pending += [(one.next, other.next) for one, other in combinations(reads, 2) if one.mask & other.mask]
        seen = set(pending)
        while pending:
            self._pairs += 1
            if self._pairs > _MAX_PAIRS:
                raise TooMuch("repeats something too large", "state less inside of the repeat")
            pair = pending.pop()
            if pair[0] == pair[1]:
                raise _exponential()
            partners[pair[0]].add(pair[1])
            partners[pair[1]].add(pair[0])
            for one in map(self._read, stays[pair[0]]):
                for other in map(self._read, stays[pair[1]]):
                    after = (one.next, other.next)
                    if one.mask & other.mask and after not in seen:
                        seen.add(after)
                        pending.append(after)
        return partners


def _exponential() -> TooMuch:
    return TooMuch(
        "can read the same text in several ways on each turn of a repeat, which can take exponential time",
        "repeat one class, [ab]* for (a|b|ab)*, or begin each turn with a character that it has nowhere else",
    )


def _at_once(parts: Iterable[tuple[int, Bound]]) -> Bound:
    """The most that any one character can lead to, of steps by the characters that lead to them."""
    split: list[tuple[int, Bound]] = []
    for mask, steps in parts:
        left, pieces = mask, []
        for other, known in split:
            both, rest = other & left, other & ~left
            if both:
                pieces.append((both, _sum((known, steps))))
            if rest:
                pieces.append((rest, known))
            left &= ~other
        split = [*pieces, (left, steps)] if left else pieces
    return _most(steps for _, steps in split)


def _components(successors: Callable[[int], Iterable[int]], starts: Iterable[int]) -> Iterator[list[int]]:
    """The strongly connected parts of a graph, each after all that it leads to (R. Tarjan, 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for start in starts:
        if start in index:
            continue
        work: list[tuple[int, Iterator[int]]] = []
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        work.append((start, iter(successors(start))))
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(successors(other))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    component = stack[at:]
                    del stack[at:]
                    on_stack.difference_update(component)
                    yield component


def search_steps(tree: Any) -> Bound:
    """The most steps that ``re`` takes to search a line for the expression with this parse tree.

    A step is a character that is tested, an alternative, a repeat's turn or end, or an assertion that is tried.

    Args:
        tree: as ``re``'s own parser gives it.

    Raises:
        TooMuch: the steps can grow exponentially, or the expression is too large to tell.
    """
    automaton = _Automaton(Alphabet(tree))
    return automaton.search_steps(automaton.build(tree, _Automaton.END, tree.state.flags))
