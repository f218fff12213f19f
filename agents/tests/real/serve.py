"""Serves a GGUF model by OpenAI's dialect on a free port of the loopback, and prints its URL: serve.py MODEL."""

import sys
import threading

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 2048
params.n_parallel = 1
# One thread and no chance: the same reply on each machine, as far as that goes.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.sampling.temp = 0.0
params.sampling.seed = 1
params.warmup = False
params.use_jinja = True

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
