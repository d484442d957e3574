"""The ASGI application: routes, bodies, streams. It computes nothing; the engine's thread does."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.model.tokenizer import Tokenizer
from engine.serve import protocol
from engine.serve.answers import Answer
from engine.serve.errors import ApiError
from engine.serve.loop import EngineLoop, Listener, Stopped
from engine.serve.totals import prometheus
from engine.types import Request

MAX_BODY_BYTES = 1 << 20
SSE_END = b"data: [DONE]\n\n"


class Front:
    """Handlers over one engine loop. `served` is the model name that clients may ask for."""

    def __init__(self, loop: EngineLoop, tokenizer: Tokenizer, served: str, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.loop, self.tokenizer, self.served, self.max_body_bytes = loop, tokenizer, served, max_body_bytes

    def app(self) -> Starlette:
        """The application; its lifespan starts and stops the engine's thread."""

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            self.loop.start()
            try:
                yield
            finally:
                await asyncio.to_thread(self.loop.stop)

        routes = [
            Route("/v1/completions", self.completions, methods=["POST"]),
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/server_info", self.server_info),
            Route("/get_server_info", self.server_info),
            Route("/flush_cache", self.flush_cache, methods=["GET", "POST"]),
        ]
        return Starlette(routes=routes, lifespan=lifespan, exception_handlers={ApiError: api_error, HTTPException: http_error})

    async def completions(self, request: HttpRequest) -> Response:
        return await self._serve(request, protocol.completion, chat=False)

    async def chat(self, request: HttpRequest) -> Response:
        return await self._serve(request, protocol.chat, chat=True)

    async def _serve(self, request: HttpRequest, parse: Callable[..., protocol.Call], chat: bool) -> Response:
        body = protocol.parse_body(await self._body(request))
        call = parse(body, self.tokenizer.encode, self.served)
        answer = Answer(call, f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}", self.served, chat, self.tokenizer.decode)
        requests = [Request(f"{answer.id}-{index}", ids, call.sampling) for index, ids in enumerate(call.prompts)]
        listener = Listener()
        if not self.loop.submit(requests, listener):
            held = f"the server holds {self.loop.limit} requests at most, running and queued; try again later"
            raise ApiError(held if self.loop.alive else "the engine has stopped", status=503)
        return Reply(self.loop, answer, listener, [one.request_id for one in requests])

    async def _body(self, request: HttpRequest) -> bytes:
        raw = bytearray()
        async for part in request.stream():
            raw += part
            if len(raw) > self.max_body_bytes:
                raise ApiError(f"the body is larger than {self.max_body_bytes} bytes", status=413)
        return bytes(raw)

    async def models(self, request: HttpRequest) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": self.served, "object": "model", "created": 0, "owned_by": "soundings"}]})

    async def health(self, request: HttpRequest) -> Response:
        """200 once a token has been generated and while the engine's thread lives."""
        ready = self.loop.ready.is_set() and self.loop.alive
        return PlainTextResponse("ready\n" if ready else "not ready\n", 200 if ready else 503)

    async def metrics(self, request: HttpRequest) -> Response:
        text = prometheus(self.loop.totals, self.loop.ready.is_set() and self.loop.alive)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def server_info(self, request: HttpRequest) -> Response:
        """Settings as they were asked for, and what they came to: the effective cap stands in `internal_states`."""
        info = await self._ask(lambda engine: engine.server_info())
        totals = self.loop.totals
        state = {
            "effective_max_running_requests_per_dp": info["effective_max_running_requests"],
            "last_gen_throughput": totals.last_gen_throughput,
            "memory_usage": {
                "weight": (info["weights_bytes"] + info["draft_weights_bytes"]) / 2**30,
                "kvcache": (info["kv_pool_bytes"] + info["draft_kv_bytes"]) / 2**30,
                "token_capacity": info["max_total_num_tokens"],
            },
            "startup_time": info["boot_s"],
        }
        if totals.accept_length is not None:
            state["avg_spec_accept_length"] = totals.accept_length
        return JSONResponse({**info, "served_model_name": self.served, "internal_states": [state]})

    async def flush_cache(self, request: HttpRequest) -> Response:
        """Forget cached prefixes and the running means; 400 while requests are being served."""

        def flush(engine) -> None:
            engine.flush_cache()
            self.loop.totals.flush()

        try:
            await self._ask(flush)
        except RuntimeError as fault:
            raise ApiError(str(fault)) from None
        return PlainTextResponse("cache flushed\n")

    async def _ask(self, question: Callable) -> object:
        try:
            return await asyncio.wrap_future(self.loop.ask(question))
        except Stopped:
            raise ApiError("the engine has stopped", status=503) from None


class Reply(Response):
    """Sends one answer while it is generated. A client that goes away ends its requests in the engine."""

    def __init__(self, loop: EngineLoop, answer: Answer, listener: Listener, request_ids: list[str]) -> None:
        self.loop, self.answer, self.listener, self.request_ids = loop, answer, listener, request_ids
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            if self.answer.call.stream:
                await self._stream(send, gone)
            else:
                await self._whole(scope, receive, send, gone)
        finally:
            gone.cancel()
            if not self.answer.done:
                self.loop.abort(self.request_ids)

    async def _events(self, gone: asyncio.Future) -> AsyncIterator[list[dict]]:
        """Chunks of event after event, until all choices have ended or the client is gone."""
        while not self.answer.done:
            event = asyncio.ensure_future(self.listener.events.get())
            await asyncio.wait((event, gone), return_when=asyncio.FIRST_COMPLETED)
            if not event.done():
                event.cancel()
                return
            yield self.answer.take(event.result())

    async def _whole(self, scope: Scope, receive: Receive, send: Send, gone: asyncio.Future) -> None:
        try:
            async for _ in self._events(gone):
                pass
        except ApiError as fault:
            await JSONResponse(fault.body(), fault.status)(scope, receive, send)
            return
        if self.answer.done:
            await JSONResponse(self.answer.whole())(scope, receive, send)

    async def _stream(self, send: Send, gone: asyncio.Future) -> None:
        """Server-sent events. The status is sent with the first token, so that a request the engine refuses is a plain 400."""
        opened = False

        async def emit(data: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        try:
            async for chunks in self._events(gone):
                if not opened:
                    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    chunks, opened = self.answer.opening() + chunks, True
                if chunks:
                    await emit(b"".join(map(sse, chunks)))
        except ApiError as fault:
            if not opened:
                raise
            await emit(sse(fault.body()), more=False)
            return
        if opened and self.answer.done:
            await emit((sse(self.answer.usage_chunk()) if self.answer.call.include_usage else b"") + SSE_END, more=False)


def sse(data: dict) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode("utf8") + b"\n\n"


async def disconnected(receive: Receive) -> None:
    """Return when the client has closed its side; the body has been read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def api_error(request: HttpRequest, fault: ApiError) -> Response:
    headers = {"retry-after": "1"} if fault.status == 503 else {}
    return JSONResponse(fault.body(), fault.status, headers)


async def http_error(request: HttpRequest, fault: HTTPException) -> Response:
    """Unknown routes and methods in the same shape as every other fault."""
    found = ApiError(f"{request.method} {request.url.path}: {fault.detail}", status=fault.status_code)
    return JSONResponse(found.body(), fault.status_code, fault.headers)
