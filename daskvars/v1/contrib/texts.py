"""Documents as numbers of words: what ``tf.contrib.learn.preprocessing`` has for texts.

This is plain Python and NumPy, done before anything is fed. A processor's file is JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Self

import numpy
from numpy.typing import NDArray

from daskvars.state.stores.files import read_file, write_file

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+")
_UNKNOWN = "<UNK>"
_FORMAT = 1

Tokenizer = Callable[[Iterable[str]], Iterable[Iterable[Any]]]


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Give the words of each text: letters, digits, ``_``, ``-`` and ``'``, split at capitals.

    Args:
      iterator: texts.

    Source: TensorFlow 1.15, ``tf.contrib.learn.preprocessing.tokenizer``.

    >>> list(tokenizer(["It's a well-known HTMLPage!"]))
    [["It's", 'a', 'well-known', 'HTML', 'Page']]
    """
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Numbers categories in the order in which they come; 0 stands for those that are unknown.

    Args:
      unknown_token: what `reverse` gives for 0.
      support_reverse: whether there is `reverse`.

    Source: TensorFlow 1.15, ``tf.contrib.learn.preprocessing.CategoricalVocabulary``.

    >>> vocabulary = CategoricalVocabulary()
    >>> for word in ["a", "b", "a"]:
    ...     vocabulary.add(word)
    >>> vocabulary.freeze()
    >>> len(vocabulary), vocabulary.get("b"), vocabulary.get("c"), vocabulary.reverse(1)
    (3, 2, 0, 'a')
    """

    def __init__(self, unknown_token: Hashable = _UNKNOWN, support_reverse: bool = True) -> None:
        self._unknown_token, self._support_reverse = unknown_token, support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._freq: Counter[Any] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        """Return how many numbers there are, 0 among them."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Let what is not numbered so far be unknown from now on; False for the contrary."""
        self._frozen = freeze

    def get(self, category: Hashable) -> int:
        """Return the number of a category, a new one unless the vocabulary is frozen."""
        found = self._mapping.get(category)
        if found is None:
            found = 0 if self._frozen else self._mapping.setdefault(category, len(self._mapping))
        return found

    def add(self, category: Hashable, count: int = 1) -> None:
        """Count a category, which gets a number unless the vocabulary is frozen."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Forget the rare and the common; number the others anew, the most frequent first.

        Args:
          min_frequency: forget those that were counted at most so often.
          max_frequency: forget those that were counted so often or more; -1 for none.
        """
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        kept = [
            (category, count)
            for category, count in sorted(by_name, key=lambda item: -item[1])
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._freq = Counter(dict(kept))
        names = [self._unknown_token, *(category for category, _ in kept)]
        self._mapping = {category: number for number, category in enumerate(names)}

    def reverse(self, class_id: int) -> Any:
        """Return the category of a number.

        Raises:
          ValueError: the vocabulary was made without `support_reverse`.
          IndexError: there is no such number.
        """
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse.")
        return list(self._mapping)[class_id]


class ByteProcessor:
    """Documents as the numbers of their bytes.

    Args:
      max_document_length: bytes of a document; more are left out, fewer are filled up with 0.

    Source: TensorFlow 1.15, ``tf.contrib.learn.preprocessing.ByteProcessor``.

    >>> [row.tolist() for row in ByteProcessor(4).transform(["abc"])]
    [[97, 98, 99, 0]]
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Iterable[str]) -> Self:
        """Return the processor: there is nothing to learn."""
        return self

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[NDArray[numpy.uint8]]:
        """Do as `transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[NDArray[numpy.uint8]]:
        """Give each document as [max_document_length] uint8."""
        for document in x:
            raw = document if isinstance(document, bytes) else document.encode()
            found = numpy.frombuffer(raw[: self.max_document_length], numpy.uint8)
            yield numpy.pad(found, (0, self.max_document_length - len(found)))

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """Give the text of each vector of bytes, without what filled it up."""
        for vector in x:
            yield bytes(numpy.asarray(vector, numpy.uint8)).rstrip(b"\0").decode(errors="replace")


class VocabularyProcessor:
    """Documents as the numbers of their words.

    Args:
      max_document_length: words of a document; more are left out, fewer are filled up with 0.
      min_frequency: words that `fit` met at most so often are unknown, 0; by default none.
      vocabulary: the numbers of words, a `CategoricalVocabulary`; by default an empty one.
      tokenizer_fn: function of an iterator of texts that gives the words of each; by default
        `tokenizer`.

    Attributes:
      vocabulary_: the numbers of words.

    Source: TensorFlow 1.15, ``tf.contrib.learn.preprocessing.VocabularyProcessor``.

    >>> processor = VocabularyProcessor(4)
    >>> np.array(list(processor.fit_transform(["a cat", "a dog and a cat"]))).tolist()
    [[1, 2, 0, 0], [1, 3, 4, 1]]
    >>> len(processor.vocabulary_), next(processor.reverse([[3, 2, 0]]))
    (5, 'dog cat <UNK>')
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._tokenizer = tokenizer if tokenizer_fn is None else tokenizer_fn

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> Self:
        """Number the words of documents, and freeze the vocabulary; return the processor."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[NDArray[numpy.int64]]:
        """Do as `fit`, then as `transform`: documents are gone through twice, so give a list."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[NDArray[numpy.int64]]:
        """Give each document as [max_document_length] int64."""
        for words in self._tokenizer(raw_documents):
            numbers = numpy.zeros(self.max_document_length, numpy.int64)
            for place, word in zip(range(self.max_document_length), words, strict=False):
                numbers[place] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Give the words of each vector of numbers, with a blank between them."""
        for numbers in documents:
            yield " ".join(str(self.vocabulary_.reverse(number)) for number in numbers)

    def save(self, filename: str) -> None:
        """Write the processor to a file, as JSON, without a `tokenizer_fn` of your own.

        Raises:
          TypeError: a word is neither text nor number.
        """
        vocabulary = self.vocabulary_
        data = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "has_default_tokenizer": self._tokenizer is tokenizer,
            "is_frozen": vocabulary._frozen,
            "words": [[word, vocabulary._freq[word]] for word in vocabulary._mapping],
        }
        write_file(filename, json.dumps(data).encode())

    @classmethod
    def restore(cls, filename: str, tokenizer_fn: Tokenizer | None = None) -> Self:
        """Return the processor in a file.

        Args:
          filename: what `save` wrote.
          tokenizer_fn: the one of the processor that was saved, if it had one of its own: files
            hold no code.

        Raises:
          OSError: there is no such file, or it holds no processor.
          ValueError: the processor had a tokenizer of its own, and none is given.
        """
        content = read_file(filename)
        if content is None:
            raise OSError(f"File {filename} does not exist.")
        try:
            data = json.loads(content)
            if data["format"] != _FORMAT:
                raise ValueError(f"format {data['format']}, not {_FORMAT}")
            vocabulary = CategoricalVocabulary(data["words"][0][0])
            for word, count in data["words"]:
                vocabulary.get(word)
                vocabulary._freq[word] = int(count)
            vocabulary.freeze(bool(data["is_frozen"]))
            sizes = int(data["max_document_length"]), int(data["min_frequency"])
            is_default = bool(data["has_default_tokenizer"])
        except (ValueError, LookupError, TypeError) as error:
            raise OSError(f"{filename} holds no VocabularyProcessor: {error}") from None
        if tokenizer_fn is None and not is_default:
            raise ValueError(
                f"the processor in {filename} had a tokenizer of its own, and files hold no code: "
                "give it as tokenizer_fn="
            )
        return cls(*sizes, vocabulary, tokenizer_fn)
