"""Chat-completions to Anthropic messages and back, without loss: what cannot be said is refused."""

from __future__ import annotations

from routeradmin.adapters.translate.answers import answer_to_chat, answer_to_messages
from routeradmin.adapters.translate.chat_request import request_to_messages
from routeradmin.adapters.translate.chat_stream import ChatChunks
from routeradmin.adapters.translate.errors import error_to_chat, error_to_messages
from routeradmin.adapters.translate.messages_request import request_to_chat
from routeradmin.adapters.translate.messages_stream import MessageEvents
from routeradmin.adapters.translate.words import (
    BadAnswer,
    Untranslatable,
    chat_frame,
    messages_frame,
    why_not,
)

__all__ = [
    "BadAnswer",
    "ChatChunks",
    "MessageEvents",
    "Untranslatable",
    "answer_to_chat",
    "answer_to_messages",
    "chat_frame",
    "error_to_chat",
    "error_to_messages",
    "messages_frame",
    "request_to_chat",
    "request_to_messages",
    "why_not",
]
