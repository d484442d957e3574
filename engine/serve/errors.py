"""Faults that a client hears about, in the shape that OpenAI's clients parse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class ApiError(Exception):
    """One fault: `status` is the HTTP status, `param` the field of the body that is wrong."""

    message: str
    status: int = 400
    param: str | None = None
    code: str | None = None

    @property
    def kind(self) -> str:
        return {400: "invalid_request_error", 404: "not_found_error", 405: "invalid_request_error", 413: "invalid_request_error", 503: "overloaded_error"}.get(
            self.status, "server_error"
        )

    def body(self) -> dict:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}
