r"""Path patterns: gitignore's syntax and semantics, read once, matched without regular expressions.

The rules are those of https://git-scm.com/docs/gitignore and of git's own matcher (``wildmatch.c``),
plus braces and literal brackets; ``docs/format.md`` ("Path patterns") states them for authors. Paths
are relative to the repository's root, use ``/``, and always name files: a changed path is never a
folder. Matching is case-sensitive and by code points (git's ``?`` stands for a byte).

Which implementation this agrees with
-------------------------------------
A single pattern means what it means to ``git check-ignore``, and so to pathspec's
``GitIgnoreSpecPattern``. pathspec differs from git, and from this module, in four small places: it
reads ``a/***/b`` as one folder, lets ``a/**/`` cover the file ``a/x``, lets ``[!a]`` cross a slash, and
takes a backslash inside a class for a member of the class. In one place git's manual is followed rather than git:
``b**/x`` is ``b*/x``, although git, which strips ``b`` first, then takes the stars for a leading ``**/``.

A list of patterns is judged by order alone, the last match wins. That is ``pathspec.PathSpec``, not
``pathspec.GitIgnoreSpec``: the latter, like git, will not let ``!src/gen/`` take back what ``src/**`` took in,
because to git the patterns decide about folders on the way down a tree. Here nobody walks a tree; what
an author sees is a list, and a list that is read from top to bottom is the rule that can be told in one line.

Where what is
-------------
``compiled`` is what a query needs: patterns as they are stored and matched. ``syntax`` reads what an author wrote into
that form; ``explanation`` says why a list covers a path or what keeps it from doing so; ``lint`` says what is wrong
with a list.
"""
