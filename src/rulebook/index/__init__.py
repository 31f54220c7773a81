"""The search index: entries in, ids and scores out.

Whoosh is frozen since 2016 and may have to be replaced one day. It serves as what it is good at, an inverted file on
disk with stored values; what an entry's terms are, how much they weigh and how hits are ranked is decided here.
``analysis`` makes terms of texts, ``entries`` has what goes in and what comes out, ``folder`` keeps the files,
``writer`` and ``search`` do what their names say, and only ``engine`` imports whoosh.

**Analysis.** One analyser (:func:`rulebook.index.analysis.analyse`) reads entries and queries alike. Text is normalised
(NFKC), case and accents are folded. A run of Chinese, Japanese or Korean characters gives its
bigrams, since words are not marked there and a segmenter loses phrases that it cuts differently. A
code word gives itself, its path or module components, the parts of its identifiers, and every two
parts that are neighbours: ``afd_plugin/connectors/GPUWorker.py`` is found by ``connectors``,
``GPUWorker.py``, ``GPUWorker``, ``worker`` and ``plugin/connectors``. ``_`` and ``-`` inside a
component do not count, so ``--enable-eplb`` finds ``enable_eplb``. English words are stemmed
(M. F. Porter, "An algorithm for suffix stripping", 1980) and kept as they are as well.

**Ranking.** BM25F in its simple form (S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25 extension
to multiple weighted fields", 2004): the frequencies of a term in an entry's fields are weighted and
added before they saturate. The sum is known when an entry is added, so the index holds it, and a
query reads one posting list a term. The best candidates are then looked at more closely: an entry
goes up by the stretches of the query that it has word for word, and once more if it has the query as
it is written. Statistics count living entries only, and ties are broken by id: the same entries give
the same answer, whatever the index went through before.

**On disk.** The folder must be private, since whoosh's files hold pickles and reading a pickle runs
what is in it: a folder that is not the user's own, or that others can write to, is refused. What
counts is ``manifest.json``, replaced atomically: it names the files of the current state with their
checksums, and the digest of every entry. Nothing that it does not vouch for is ever opened. So a
process killed at any moment leaves the old state or the new one, a file that was damaged or half
written is noticed, and leftovers are known as such and removed by the next refresh. Readers take no
lock and write nothing.
"""
