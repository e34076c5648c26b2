import shutil
import subprocess
from functools import partial

import numpy as np
import pytest

from daskvars.kernels.random import philox
from daskvars.kernels.random.philox import DEVICE_ROUNDS, block_words, random_bits, words_of
from tests.at_once import at_once

KEY = (0xDEADBEEFCAFEBABE, 77)
MASK = (1 << 64) - 1


def round_function(counter, key):
    """Philox 4x64-10 in Python's integers, from the paper."""
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = (
            (second >> 64) ^ counter[1] ^ key[0],
            second & MASK,
            (first >> 64) ^ counter[3] ^ key[1],
            first & MASK,
        )
        key = ((key[0] + 0x9E3779B97F4A7C15) & MASK, (key[1] + 0xBB67AE8584CAA73B) & MASK)
    return counter


def test_words_are_those_of_the_paper():
    words = random_bits(np, KEY, 4 * 123456, 8).tolist()
    assert words[:4] == list(round_function((123457, 0, 0, 0), KEY))
    assert words[4:] == list(round_function((123458, 0, 0, 0), KEY))


def test_first_words_of_many_streams_are_those_of_each():
    keys = np.random.default_rng(1).integers(0, 1 << 64, (2, 3, 5), dtype=np.uint64)
    words = philox.first_blocks(keys)
    for place in np.ndindex(3, 5):
        key = tuple(keys[(slice(None), *place)].tolist())
        np.testing.assert_array_equal(words[place], random_bits(np, key, 0, 4))


@pytest.mark.parametrize("start, count", [(0, 1), (3, 4), (4, 9), (13, 0), (1 << 40, 5)])
def test_any_part_of_a_stream_is_its_slice(start, count):
    first = start - start % 8
    whole = random_bits(np, KEY, first, 32)
    part = random_bits(np, KEY, start, count)
    assert part.dtype == np.uint64
    np.testing.assert_array_equal(part, whole[start - first : start - first + count])
    halves = words_of(np, KEY, 2 * first, 64, 32)
    np.testing.assert_array_equal(halves[::2], (whole & np.uint64(0xFFFFFFFF)))
    np.testing.assert_array_equal(halves[1::2], whole >> np.uint64(32))


def test_negative_keys_are_taken_modulo_the_word():
    np.testing.assert_array_equal(random_bits(np, (-1, 5), 0, 4), random_bits(np, (MASK, 5), 0, 4))


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_gpu_source_computes_the_same_words(tmp_path):
    source = tmp_path / "rounds.cpp"
    source.write_text(f"""
#include <cstdio>
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}}
int main() {{
    unsigned long long key0 = {KEY[0]}ULL, key1 = {KEY[1]}ULL, first = 1000, words[64];
    for (long i = 0; i < 16; ++i) {{ {DEVICE_ROUNDS} }}
    for (int i = 0; i < 64; ++i) std::printf("%llu\\n", words[i]);
}}
""")
    program = tmp_path / "rounds"
    subprocess.run(["c++", "-o", program, source], check=True, timeout=60)
    printed = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    words = [int(word) for word in printed.stdout.split()]
    assert words == random_bits(np, KEY, 4000, 64).tolist()


def drawn(shape, offset, full_shape, width):
    out = np.empty(int(np.prod(shape)), f"u{width // 8}")
    done = 0
    for part, words in block_words(np, KEY, shape, offset, full_shape, width):
        assert part.start == done
        out[part] = words
        done = part.stop
    assert done == out.size
    return out.reshape(shape)


@pytest.mark.parametrize("tile", [1, 7, 64, 1 << 15])
@pytest.mark.parametrize("seek", [0, 1 << 20])
@pytest.mark.parametrize("width", [32, 64])
def test_blocks_are_slices_of_the_whole(monkeypatch, tile, seek, width):
    monkeypatch.setattr(philox, "TILE", tile)
    monkeypatch.setattr(philox, "SEEK_WORDS", seek)
    for full in [(), (11,), (5, 7), (4, 3, 5), (2, 3, 4, 3)]:
        size = int(np.prod(full))
        whole = words_of(np, KEY, 0, size, width).reshape(full)
        np.testing.assert_array_equal(drawn(full, None, None, width), whole)
        for seed in range(4):
            rng = np.random.default_rng(seed)
            offset = tuple(int(rng.integers(0, extent)) for extent in full)
            shape = tuple(
                int(rng.integers(0 if seed == 3 else 1, extent - first + 1))
                for extent, first in zip(full, offset, strict=True)
            )
            index = tuple(
                slice(first, first + extent) for first, extent in zip(offset, shape, strict=True)
            )
            np.testing.assert_array_equal(drawn(shape, offset, full, width), whole[index])


def test_threads_do_not_disturb_one_another():
    wanted = [random_bits(np, (0, number), 5, 20000) for number in range(4)]
    equal = []

    def draw(number):
        for _ in range(20):
            equal.append(np.array_equal(random_bits(np, (0, number), 5, 20000), wanted[number]))

    at_once(*[partial(draw, number) for number in range(4)])
    assert equal == [True] * 80
