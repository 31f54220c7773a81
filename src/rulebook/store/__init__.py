"""The store: the knowledge base in a form that answers without being read whole.

One SQLite file holds every document, the compiled patterns by the tokens that select them
(:mod:`rulebook.scope`), and the stamp of every content file. SQLite is a data format: nothing in it
runs when it is opened; pages are read as they are needed, so a query costs the same with 12 rules and with 50,000; a
transaction that is killed never happened.

Where it lives decides whom it can be trusted from. A checkout can carry files that a stranger
committed, so the store lives in the user's cache directory, in a folder that only its owner can write,
and never inside the content's own checkout.

Every :func:`open_store` compares the content's stamps with the stored ones and reads again what
changed. Whatever goes wrong with the folder, the answer is still given, from a store in memory.

``opening`` is the door. ``folder`` knows where the files are, who may write them and who is writing. ``query`` answers
from the tables of ``schema``; ``compilation``, which only a run that finds changed content imports, fills them. Both
take the nouns apart and together with ``records``, and file and find patterns with ``postings``.
"""
