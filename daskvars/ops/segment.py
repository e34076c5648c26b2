from daskvars.graph.interpreter import apply
from daskvars.graph.opdef import *
from daskvars.graph.patterns import *
from daskvars.kernels import segment
U=OpDef("UnsortedSegmentSum","data:N, segment_ids:I",infer=lambda inputs,*,num_segments: Spec(inputs[0].dtype,(num_segments,)+tuple(inputs[0].shape[len(inputs[1].shape):])),pattern=Scatter(),kernel=segment.segment_sum,gradient=NO_GRADIENT,operands=("num_segments",))
def unsorted_segment_sum(data,segment_ids,num_segments,name=None):
    return apply(U,data,segment_ids,name=name,num_segments=num_segments)
