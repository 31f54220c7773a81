"""rulebook: a repository's rules as a knowledge base that answers.

The package reads downwards: ``cli`` parses arguments, ``answer`` composes, ``match`` decides,
``scope`` narrows, ``store`` remembers, ``catalog`` loads, ``model`` names.
``docs/architecture.md`` draws the rooms and says what each is for.
"""
