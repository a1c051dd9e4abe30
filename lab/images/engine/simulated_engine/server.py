"""The OpenAI-compatible HTTP side: /health /ping /version /metrics /v1/models /v1/chat/completions."""

from __future__ import annotations

import json
import socket
import socketserver
import time
import uuid
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from simulated_engine import answer, log, request
from simulated_engine.request import RequestError

_CONTENT_TYPE_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Server(ThreadingHTTPServer):
    """Bound at once, so that a taken port is noticed early, but not listening until the engine is ready."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(self, args, environment):
        host = args.host or "0.0.0.0"
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, args.port), Handler, bind_and_activate=False)
        self.server_bind()
        self.engine = None
        self.api_keys = tuple(args.api_key or filter(None, [environment.get("VLLM_API_KEY")]))
        self.prompt_tokens_details = args.enable_prompt_tokens_details
        self.force_usage = args.enable_force_include_usage
        self.access_log = not args.disable_uvicorn_access_log
        self.quiet_paths = frozenset(path.strip() for path in (args.disable_access_log_for_endpoints or "").split(","))

    def server_bind(self):
        # HTTPServer.server_bind would look up the host's name, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def serve(self, engine):
        self.engine = engine
        self.server_activate()
        log.line(f"Starting vLLM server on http://{self.server_name}:{self.server_port}", "api_server.py:661")
        log.raw("INFO:     Application startup complete.")
        self.serve_forever(poll_interval=0.2)

    def handle_error(self, request, client_address):
        """A client that went away is no event worth a traceback."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "uvicorn (simulated engine)"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self):
        routes = {
            "/health": lambda: self._send(200, b""),
            "/ping": lambda: self._send(200, b""),
            "/version": lambda: self._json(200, {"version": self.server.engine.settings.version}),
            "/metrics": self._metrics,
            "/v1/models": self._models,
        }
        self._route(routes)

    def do_POST(self):
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._route({"/v1/chat/completions": self._chat, "/ping": lambda: self._send(200, b"")})

    def _route(self, routes):
        path = self.path.partition("?")[0]
        try:
            if path not in routes:
                self._json(404, {"detail": "Not Found"})
                return
            self._authorise(path)
            routes[path]()
        except RequestError as error:
            self._json(error.status, error.body())

    def _authorise(self, path):
        keys = self.server.api_keys
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if keys and path.startswith("/v1") and given not in keys:
            raise RequestError(401, "Unauthorized", "Unauthorized")

    def _metrics(self):
        self._send(200, self.server.engine.render_metrics().encode(), _CONTENT_TYPE_METRICS)

    def _models(self):
        launch = self.server.engine.launch
        cards = [
            {
                "id": name,
                "object": "model",
                "created": int(time.time()),
                "owned_by": "vllm",
                "root": launch.checkpoint.path,
                "parent": None,
                "max_model_len": launch.max_model_len,
            }
            for name in launch.served_names
        ]
        self._json(200, {"object": "list", "data": cards})

    def _chat(self):
        engine = self.server.engine
        if engine.settings.fail == "busy_429":
            raise RequestError(429, "TooManyRequestsError", "simulated engine: told to answer that it is busy")
        try:
            data = json.loads(self._body)
        except ValueError as error:
            raise request.bad_request(f"JSON decode error: {error}") from error
        asked = request.parse(data, engine.launch)
        reply = answer.compose(asked, engine.settings.fail)
        usage = self._usage(asked, reply)
        if asked.stream:
            self._stream(asked, reply, usage)
            return
        text = "".join(engine.run(asked, reply))
        message = {"role": "assistant", "content": text, "refusal": None, "tool_calls": [], "reasoning": None}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": reply.finish_reason,
            "stop_reason": None,
        }
        self._json(200, {**_envelope(asked, "chat.completion"), "choices": [choice], "usage": usage})

    def _usage(self, asked, reply):
        cached = self.server.engine.cached_tokens(asked)
        completion = len(reply.tokens)
        return {
            "prompt_tokens": asked.prompt_tokens,
            "total_tokens": asked.prompt_tokens + completion,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached} if self.server.prompt_tokens_details else None,
        }

    def _stream(self, asked, reply, usage):
        envelope = _envelope(asked, "chat.completion.chunk")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        steps = self.server.engine.run(asked, reply)
        try:
            self._event(_delta(envelope, {"role": "assistant", "content": ""}))
            for text in steps:
                self._event(_delta(envelope, {"content": text}))
            self._event(_delta(envelope, {}, reply.finish_reason))
            if asked.include_usage or self.server.force_usage:
                self._event({**envelope, "choices": [], "usage": usage})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")
        except OSError:
            self.close_connection = True
        finally:
            steps.close()

    def _event(self, body):
        self._chunk(b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n")

    def _chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _json(self, status, body):
        self._send(status, json.dumps(body, ensure_ascii=False).encode(), "application/json")

    def _send(self, status, data, content_type=None):
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code="-", size="-"):
        if self.server.access_log and self.path.partition("?")[0] not in self.server.quiet_paths:
            client = f"{self.client_address[0]}:{self.client_address[1]}"
            phrase = HTTPStatus(int(code)).phrase
            log.raw(f'INFO:     {client} - "{self.requestline}" {int(code)} {phrase}')

    def log_message(self, format, *args):
        log.raw(f"WARNING:  {format % args}")


def _envelope(asked, kind):
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": asked.model}


def _delta(envelope, delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {**envelope, "choices": [choice]}
