"""Documents as numbers of words."""

import numpy as np
import pytest

import daskvars.v1 as tf

preprocessing = tf.contrib.learn.preprocessing
TEXTS = ["the cat sat", "the dog sat on the cat", "a bird"]


def numbers(rows):
    return np.array(list(rows)).tolist()


def test_words_are_numbered_as_they_come_and_filled_up():
    processor = preprocessing.VocabularyProcessor(5)
    assert numbers(processor.fit_transform(TEXTS)) == [
        [1, 2, 3, 0, 0],
        [1, 4, 3, 5, 1],
        [6, 7, 0, 0, 0],
    ]
    assert numbers(processor.transform(["the bird sang"])) == [[1, 7, 0, 0, 0]]
    assert next(processor.transform(["a"])).dtype == np.int64
    assert list(processor.reverse([[4, 0]])) == ["dog <UNK>"]
    assert len(processor.vocabulary_) == 8 and processor.vocabulary_._mapping["bird"] == 7


def test_rare_words_are_unknown_and_frequent_ones_come_first():
    processor = preprocessing.VocabularyProcessor(3, min_frequency=1).fit(TEXTS)
    assert numbers(processor.transform(["cat the bird"])) == [[2, 1, 0]]
    vocabulary = preprocessing.CategoricalVocabulary()
    for word, count in (("a", 5), ("b", 2), ("c", 1)):
        vocabulary.add(word, count)
    vocabulary.trim(1, 5)
    assert len(vocabulary) == 2 and vocabulary.reverse(1) == "b"
    with pytest.raises(ValueError, match="support_reverse"):
        preprocessing.CategoricalVocabulary(support_reverse=False).reverse(0)


@pytest.mark.parametrize("own", [None, lambda texts: (text.split("|") for text in texts)])
def test_a_processor_goes_through_a_file(tmp_path, own):
    processor = preprocessing.VocabularyProcessor(4, 0, tokenizer_fn=own)
    processor.fit(["x y|z", "z"])
    path = str(tmp_path / "vocabulary")
    processor.save(path)
    if own is not None:
        with pytest.raises(ValueError, match="give it as tokenizer_fn="):
            preprocessing.VocabularyProcessor.restore(path)
    again = preprocessing.VocabularyProcessor.restore(path, own)
    assert numbers(again.transform(["z", "w|z"])) == numbers(processor.transform(["z", "w|z"]))
    again.vocabulary_.trim(1)
    assert again.vocabulary_.reverse(1) == "z"


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2}', '{"format": 1, "words": []}'])
def test_what_is_no_processor_is_refused(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(OSError, match="no VocabularyProcessor"):
        preprocessing.VocabularyProcessor.restore(str(tmp_path / "file"))
    with pytest.raises(OSError, match="does not exist"):
        preprocessing.VocabularyProcessor.restore(str(tmp_path / "none"))


def test_bytes_of_documents():
    processor = preprocessing.ByteProcessor(3)
    rows = list(processor.fit(TEXTS).fit_transform(["abcd", b"a"]))
    assert numbers(rows) == [[97, 98, 99], [97, 0, 0]] and rows[0].dtype == np.uint8
    assert list(processor.reverse(rows)) == ["abc", "a"]
