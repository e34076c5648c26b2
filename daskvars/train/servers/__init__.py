"""TensorFlow's clusters of named tasks, on Dask's schedulers and workers.

``cluster_spec``: jobs of numbered addresses; ``server``: one task, living in this process;
``cluster_member``: what it is of a Dask cluster; ``device_setter``: variables on parameter servers,
all else on the workers."""
