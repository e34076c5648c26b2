"""A parameter server and workers: one TensorFlow-1 program, run in several processes.

    python examples/distributed_ps.py                      # starts them all, on this machine
    python examples/distributed_ps.py --job_name=ps ...    # or each by hand, as with TensorFlow

Each process is a task of the cluster and a Dask worker of that name. Variables live on the
parameter server; every worker runs its own training loop on its own data, and all change the same
variables.
"""

import socket
import subprocess
import sys

import numpy as np

import daskvars.v1 as tf

tf.app.flags.DEFINE_string("job_name", "", "ps or worker; without it all are started here")
tf.app.flags.DEFINE_integer("task_index", 0, "number of this task in its job")
tf.app.flags.DEFINE_list("ps_hosts", "", "host:port of each parameter server")
tf.app.flags.DEFINE_list("worker_hosts", "", "host:port of each worker")
tf.app.flags.DEFINE_integer("num_workers", 2, "how many workers are started here")
tf.app.flags.DEFINE_integer("steps", 100, "global steps")
tf.app.flags.DEFINE_boolean("sync", False, "one update from the gradients of all workers")
FLAGS = tf.app.flags.FLAGS

WEIGHTS = np.array([[1.0], [-2.0], [0.5]], "f4")


def launch(num_workers):
    """Start one process per task, and wait for the workers. Return the worst exit code."""
    ports = []
    for _ in range(num_workers + 1):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(f"localhost:{free.getsockname()[1]}")
    cluster = [f"--ps_hosts={ports[0]}", f"--worker_hosts={','.join(ports[1:])}"]
    tasks = [("ps", 0), *(("worker", n) for n in range(num_workers))]
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                __file__,
                f"--job_name={job}",
                f"--task_index={task}",
                *cluster,
                *sys.argv[1:],
            ]
        )
        for job, task in tasks
    ]
    codes = [process.wait() for process in processes[1:]]
    processes[0].kill()
    processes[0].wait()
    return max(map(abs, codes))


def model(cluster):
    """Return the input, the target, the loss, the train op and its hooks."""
    with tf.device(
        tf.train.replica_device_setter(
            cluster=cluster, worker_device=f"/job:worker/task:{FLAGS.task_index}"
        )
    ):
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.placeholder(tf.float32, [None, 1])
        weights = tf.get_variable("weights", [3, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
        if FLAGS.sync:
            workers = cluster.num_tasks("worker")
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers, workers)
            hooks.append(optimizer.make_session_run_hook(FLAGS.task_index == 0))
        return x, y, weights, loss, optimizer.minimize(loss, global_step=step), hooks


def main(_):
    """Run the task that the flags name."""
    if not FLAGS.job_name:
        return launch(FLAGS.num_workers)
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts, "worker": FLAGS.worker_hosts})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    x, y, weights, loss, train, hooks = model(cluster)
    rng, runs = np.random.default_rng(FLAGS.task_index), 0
    with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=FLAGS.task_index == 0, hooks=hooks
    ) as sess:
        while not sess.should_stop():
            inputs = rng.normal(size=(32, 3)).astype("f4")
            found, values, _ = sess.run([weights, loss, train], {x: inputs, y: inputs @ WEIGHTS})
            runs += 1
    print(f"worker {FLAGS.task_index}: {runs} runs, loss {values:.1e}, {found.ravel().round(2)}")
    return 0


if __name__ == "__main__":
    tf.app.run()
