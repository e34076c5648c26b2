"""Random numbers that depend on a key and a position alone.

- ``philox``: random words; the n-th depends on (key, n), so any block can be drawn alone.
- ``distributions``: uniform, normal, truncated, categorical numbers; ``normal_quantile`` turns
  uniform integers into normal numbers.
- ``gamma_poisson``: draws that reject, and draws whose seed is data.

So numbers are the same bits on one worker and on a hundred, in whatever chunks, and after a task
was run twice. A generator with a state could promise none of that."""
