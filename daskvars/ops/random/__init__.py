"""Random tensors: functions of a key and a position, in whatever chunks.

``distributions`` (and the seeds they are drawn with), ``gamma_poisson`` (parameters that are
tensors), ``stateless`` (the seed comes with the call). Which numbers a run draws depends on the
graph's seed, the op's and the number of the run: not on chunks, workers, or what was run twice.
"""
