"""A server of the standard library that speaks SGLang's protocol and vLLM's, with faults to order (--fault)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN_S = 0.01
STATE = {"flushed": 0, "served": 0, "sampled": 0, "rounds": 0, "accepted": 0}
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
            self.reply(self.metrics().encode())
        elif self.path == "/version":
            self.reply(b'{"version": "0.32.0"}')
        else:
            self.reply(b"", 404)

    def metrics(self) -> str:
        """Two engines, as under data parallelism; the _created samples are stamps."""
        lines = ["# TYPE served counter", f"served_total {STATE['served']}"]
        if self.gamma:
            drafted = STATE["rounds"] * self.gamma
            for name, value in (("num_drafts", STATE["rounds"]), ("num_draft_tokens", drafted), ("num_accepted_tokens", STATE["accepted"])):
                lines += [f'vllm:spec_decode_{name}_total{{engine="0"}} {value}', f'vllm:spec_decode_{name}_total{{engine="1"}} 5']
                lines += [f'vllm:spec_decode_{name}_created{{engine="0"}} 1.7e9']
            first = f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="0"}} {STATE["accepted"]}'
            lines += [first, 'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 0.0']
        return "\n".join(lines) + "\n"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        if self.path == "/flush_cache":
            STATE["flushed"] += 1
            # busy on the first try, as a server is that still finishes a request
            self.reply(b"", 400 if STATE["flushed"] == 1 else 200)
        elif self.path == "/generate":
            self.generate(body)
        elif self.path == "/v1/completions":
            self.completions(body)
        else:
            self.reply(b"", 404)

    def begin(self, top_p: float) -> None:
        """Count the request, commit the faults that are due, open the stream."""
        with LOCK:
            STATE["served"] += 1
            served = STATE["served"]
            STATE["sampled"] += top_p < 1
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

    def say(self, event: object) -> None:
        self.wfile.write(b"data: " + (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n\n")
        self.wfile.flush()

    def steps(self, wanted: int) -> Iterator[tuple[int, int]]:
        """(tokens so far, rounds so far) after each step: the prefill's token, then one a step, two where there are drafts."""
        sent, rounds = 0, -1
        while sent < wanted:
            rounds += 1
            sent = min(wanted, sent + (1 if rounds == 0 or not self.gamma else 2))
            yield sent, rounds
            time.sleep(TOKEN_S)
        with LOCK:
            STATE["rounds"] += rounds
            STATE["accepted"] += rounds

    def completions(self, body: dict) -> None:
        self.begin(body["top_p"])
        before = 0
        for sent, _ in self.steps(body["max_tokens"]):
            choice = {"text": "x" * (sent - before), "token_ids": list(range(7 + before, 7 + sent)) if body.get("return_token_ids") else None}
            self.say({"choices": [choice | {"finish_reason": "length" if sent == body["max_tokens"] else None}]})
            before = sent
        self.say({"choices": [], "usage": {"prompt_tokens": len(body["prompt"]), "completion_tokens": before}})
        self.say("[DONE]")
        self.close_connection = True

    def generate(self, body: dict) -> None:
        self.begin(body["sampling_params"]["top_p"])
        wanted = body["sampling_params"]["max_new_tokens"]
        for sent, rounds in self.steps(wanted):
            end = sent == wanted
            meta = {"prompt_tokens": len(body["input_ids"]), "completion_tokens": sent, "cached_tokens": 0, "finish_reason": {"type": "length"} if end else None}
            if self.gamma and end:
                meta |= {"spec_verify_ct": rounds, "spec_num_correct_drafts": rounds, "spec_num_proposed_drafts": rounds * self.gamma}
                meta |= {"spec_accept_length": wanted / max(1, rounds), "spec_correct_drafts_histogram": [0, rounds]}
            self.say({"text": "x" * sent, "output_ids": list(range(7, 7 + sent)), "meta_info": meta})
        self.say("[DONE]")
        self.close_connection = True


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="launch_server.py")
    for flag, kind in (("--port", int), ("--node-rank", int), ("--max-running-requests", int), ("--speculative-dspark-block-size", int)):
        parser.add_argument(flag, type=kind, default=0)
    parser.add_argument("--fault", default="none")
    parser.add_argument("--speculative-algorithm")
    for flag in ("--disable-radix-cache", "--no-enable-prefix-caching", "--disable-cuda-graph"):
        parser.add_argument(flag, action="store_true")
    for flag in ("--chunked-prefill-size", "--max-total-tokens", "--mem-fraction-static", "--speculative-config"):
        parser.add_argument(flag)
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
    if args.fault == "drafting-oom" and args.speculative_algorithm:
        say("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
        sys.exit(1)
    configured = json.loads(args.speculative_config or "{}").get("num_speculative_tokens", 0)
    Handler.fault, Handler.gamma = args.fault, args.speculative_dspark_block_size or configured
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", 0 if args.fault == "wrong-port" else args.port), Handler)
    say("max_total_num_tokens=4000, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=3, context_len=4096, available_gpu_mem=1.50 GB")
    say(f"Uvicorn running on http://127.0.0.1:{server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
