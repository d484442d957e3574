"""A server of the standard library that speaks SGLang's protocol, with faults to order. Its first argument after the port is the fault."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN_S = 0.002
BUSY = threading.Semaphore(64)
STATE = {"running": 0, "flushed": 0, "served": 0, "sampled": 0}
LOCK = threading.Lock()


def say(line: str) -> None:
    print(line, flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fault = "none"
    gamma = 0

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/server_info":
            state = {"effective_max_running_requests_per_dp": 3, "avg_spec_accept_length": 9.9, "memory_usage": {"token_capacity": 4096}}
            self.reply(json.dumps({"version": "0.5.23", "max_running_requests": 64, "internal_states": [state]}).encode())
        elif self.path == "/metrics":
            self.reply(f"# TYPE served counter\nserved_total {STATE['served']}\n".encode())
        else:
            self.reply(b"", 404)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        if self.path == "/flush_cache":
            STATE["flushed"] += 1
            # busy on the first try, as a server is that still finishes a request
            self.reply(b"", 400 if STATE["flushed"] == 1 else 200)
        elif self.path == "/generate":
            self.generate(body)
        else:
            self.reply(b"", 404)

    def generate(self, body: dict) -> None:
        with LOCK:
            STATE["served"] += 1
            served = STATE["served"]
            STATE["sampled"] += body["sampling_params"]["top_p"] < 1
        if self.fault == "slow-first-token" and served == 1:
            time.sleep(0.6)
        if self.fault == "oom-run" and served > 6:
            say("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
            os._exit(1)
        if self.fault == "hang-run" and served > 6:
            time.sleep(60)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        wanted, sent, rounds = body["sampling_params"]["max_new_tokens"], 0, -1
        while sent < wanted:
            rounds += 1
            sent = min(wanted, sent + (1 if rounds == 0 or not self.gamma else 2))
            end = sent == wanted
            meta = {"prompt_tokens": len(body["input_ids"]), "completion_tokens": sent, "cached_tokens": 0, "finish_reason": {"type": "length"} if end else None}
            if self.gamma and end:
                meta |= {"spec_verify_ct": rounds, "spec_num_correct_drafts": rounds, "spec_num_proposed_drafts": rounds * self.gamma}
                meta |= {"spec_accept_length": wanted / max(1, rounds), "spec_correct_drafts_histogram": [0, rounds]}
            self.wfile.write(b"data: " + json.dumps({"text": "x" * sent, "output_ids": list(range(7, 7 + sent)), "meta_info": meta}).encode() + b"\n\n")
            self.wfile.flush()
            time.sleep(TOKEN_S)
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="launch_server.py")
    for flag, kind in (("--port", int), ("--node-rank", int), ("--max-running-requests", int), ("--speculative-dspark-block-size", int)):
        parser.add_argument(flag, type=kind, default=0)
    parser.add_argument("--fault", default="none")
    parser.add_argument("--speculative-algorithm")
    parser.add_argument("--disable-radix-cache", action="store_true")
    args = parser.parse_args(argv)
    say(f"[TP{args.node_rank}] Load weight begin. avail mem=10.00 GB")
    if args.node_rank:
        time.sleep(0.3 if args.fault == "rank-dies" else 60)
        say("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp, unhandled system error")
        sys.exit(1)
    match args.fault:
        case "dies":
            sys.exit(3)
        case "oom-boot":
            say("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
            sys.exit(1)
        case "no-weights":
            say("OSError: /models/none is not a local folder and is not a valid model identifier")
            sys.exit(1)
        case "hang":
            time.sleep(60)
        case "talks":
            while True:
                say("still compiling")
                time.sleep(0.05)
    Handler.fault, Handler.gamma = args.fault, args.speculative_dspark_block_size
    server = ThreadingHTTPServer(("127.0.0.1", 0 if args.fault == "wrong-port" else args.port), Handler)
    say("max_total_num_tokens=4000, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=3, context_len=4096, available_gpu_mem=1.50 GB")
    say(f"Uvicorn running on http://127.0.0.1:{server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
