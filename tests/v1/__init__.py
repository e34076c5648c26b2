"""`daskvars.v1` as programs use it: graphs, sessions, savers and optimizers together."""
