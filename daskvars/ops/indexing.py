from daskvars.ops.slicing import strided_slice
def slice_helper(tensor, key, var=None):
    keys = key if isinstance(key, tuple) else (key,)
    b,e,s=[],[],[]; bm=em=sm=el=nm=0
    for i,k in enumerate(keys):
        if k is Ellipsis: b.append(0);e.append(0);s.append(1);el|=1<<i
        elif k is None: b.append(0);e.append(0);s.append(1);nm|=1<<i
        elif isinstance(k,slice):
            if k.start is None: bm|=1<<i
            if k.stop is None: em|=1<<i
            b.append(k.start or 0);e.append(k.stop or 0);s.append(k.step or 1)
        else:
            b.append(k);e.append(k+1);s.append(1);sm|=1<<i
            if k==-1: em|=1<<i
    return strided_slice(tensor,b,e,s,begin_mask=bm,end_mask=em,ellipsis_mask=el,new_axis_mask=nm,shrink_axis_mask=sm)
