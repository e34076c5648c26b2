"""What a chain repeats along its rows as it reads it need not be repeated in memory before.

The gradient of a mean is one number a row, which TensorFlow broadcasts to the shape of what the
mean was of, for a sum with other gradients. A ufunc broadcasts it by itself: a pass less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from daskvars.kernels.array.movement import broadcast_to
from daskvars.remote.regions.region_program import Call, RegionProgram, sizes_of


def without_broadcasts(
    program: RegionProgram, calls: Sequence[Call], chains: Mapping[int, int]
) -> Sequence[Call]:
    """Return the calls without the broadcasts that only ufuncs of chains take.

    Args:
      chains: start -> end of each run of calls that are made as one.
    """
    broadcasts = {
        call.outs[0]: call
        for call in calls
        if call.kernel is broadcast_to and call.outs[0] not in program.outputs
    }
    if not broadcasts:
        return calls
    sizes = sizes_of(program, calls)
    in_chains = {number for start, end in chains.items() for number in range(start, end)}
    users: defaultdict[int, list[int]] = defaultdict(list)
    for number, call in enumerate(calls):
        for register in (*call.args, call.block):
            users[register].append(number)

    def has_shape_without(call: Call, register: int) -> bool:
        """Return whether a ufunc's result has its shape from another argument."""
        return any(
            sizes.get(other) == sizes[call.outs[0]]
            for other in call.args
            if other != register and other not in broadcasts
        )

    source = {
        register: call.args[0]
        for register, call in broadcasts.items()
        if call.args[0] not in broadcasts
        and all(
            number in in_chains
            and isinstance(calls[number].kernel, str)
            and has_shape_without(calls[number], register)
            for number in users[register]
        )
    }
    return [
        call._replace(args=tuple(source.get(register, register) for register in call.args))
        for call in calls
        if not source.keys() & set(call.outs)
    ]
