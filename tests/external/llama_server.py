"""`llama-server` out of the prebuilt wheel of `xllamacpp`, which holds llama.cpp's own HTTP server but not its command line.

Run by that wheel's interpreter: `python llama_server.py --model M.gguf --port N …`. Takes the flags of llama-server that
engine/backends/llamacpp.py writes, under llama-server's names, and refuses any other in its words.
"""

from __future__ import annotations

import sys
import threading

import xllamacpp

SPECULATIVE = {"none": 0, "ngram-simple": None}
WHOLE = {
    "--port": lambda p, v: setattr(p, "port", int(v)),
    "--threads": lambda p, v: setattr(p.cpuparams, "n_threads", int(v)),
    "--threads-batch": lambda p, v: setattr(p.cpuparams_batch, "n_threads", int(v)),
    "--batch-size": lambda p, v: setattr(p, "n_batch", int(v)),
    "--ubatch-size": lambda p, v: setattr(p, "n_ubatch", int(v)),
    "--parallel": lambda p, v: setattr(p, "n_parallel", int(v)),
    "--ctx-size": lambda p, v: setattr(p, "n_ctx", int(v)),
    "--cache-ram": lambda p, v: setattr(p, "cache_ram_mib", int(v)),
    "--n-gpu-layers": lambda p, v: setattr(p, "n_gpu_layers", int(v)),
    "--spec-ngram-simple-size-n": lambda p, v: setattr(p.speculative.ngram_simple, "size_n", int(v)),
    "--spec-ngram-simple-size-m": lambda p, v: setattr(p.speculative.ngram_simple, "size_m", int(v)),
    "--spec-ngram-simple-min-hits": lambda p, v: setattr(p.speculative.ngram_simple, "min_hits", int(v)),
}
WORDS = {
    "--model": lambda p, v: setattr(p.model, "path", v),
    "--host": lambda p, v: setattr(p, "hostnames", [v]),
    "--fit": lambda p, v: setattr(p, "fit_params", v == "on"),
    "--spec-type": lambda p, v: setattr(p.speculative, "types", [getattr(xllamacpp.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{v.upper().replace('-', '_')}")]),
}
SWITCHES = {"--metrics": ("endpoint_metrics", True), "--no-ui": ("ui", False)}


def main(words: list[str]) -> int:
    params = xllamacpp.CommonParams()
    params.warmup = True
    left = iter(words)
    for name in left:
        if name in SWITCHES:
            setattr(params, *SWITCHES[name])
        elif name in WHOLE or name in WORDS:
            value = next(left, None)
            try:
                {**WHOLE, **WORDS}[name](params, value)
            except (TypeError, ValueError, AttributeError) as fault:
                print(f'error while handling argument "{name}": {fault}', file=sys.stderr)
                return 1
        else:
            print(f"error: invalid argument: {name}", file=sys.stderr)
            return 1
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", file=sys.stderr, flush=True)
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
