"""Post into a thread of Slack; a reply carries the id of its message, to be found again."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from coterie.dsl.values import Json
from coterie.gateway.doors.slack.slack_blocks import escaped
from coterie.gateway.doors.slack.slack_client import SlackClient

_EVENT: Final = "coterie_reply"
_PAGE: Final = 100
_MAX_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class ThreadPosts:
    """Posts as the app."""

    client: SlackClient
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while it looks for a reply and posts it, so that this gateway posts it once."""

    async def say(self, channel: str, thread: str, text: str, message: str | None = None) -> bool:
        """Post a text, with the id of the message that it replies to; return whether Slack did."""
        post: Json = {
            "channel": channel,
            "thread_ts": thread,
            "text": escaped(text),
            "mrkdwn": False,
            "parse": "none",
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if message is not None:
            post["metadata"] = {"event_type": _EVENT, "event_payload": {"message": message}}
        return await self.client.call("chat.postMessage", post)

    async def say_if_missing(self, channel: str, thread: str, text: str, message: str) -> bool:
        """Post a reply, unless it stands in its thread; return whether it stands there now.

        It posts nothing where Slack does not show the thread.
        """
        async with self.lock:
            stands = await self._stands(channel, thread, message)
            if stands is not False:
                return bool(stands)
            return await self.say(channel, thread, text, message)

    async def _stands(self, channel: str, thread: str, message: str) -> bool | None:
        """Return whether a reply stands in its thread; None if Slack does not tell."""
        asked = {
            "channel": channel,
            "ts": thread,
            "limit": str(_PAGE),
            "include_all_metadata": "true",
        }
        for _ in range(_MAX_PAGES):
            answer = await self.client.read("conversations.replies", asked)
            if answer is None:
                return None
            if any(_reply_of(post) == message for post in _posts(answer)):
                return True
            cursor = _next_cursor(answer)
            if not cursor:
                return False
            asked["cursor"] = cursor
        return None


def _posts(answer: Json) -> list[object]:
    posts = answer.get("messages")
    return [*posts] if isinstance(posts, list) else []


def _reply_of(post: object) -> str | None:
    """Return the id of the message that a post of the app replies to."""
    match post:
        case {
            "bot_id": str(),
            "metadata": {"event_type": str(kind), "event_payload": {"message": str(message)}},
        } if kind == _EVENT:
            return message
        case _:
            return None


def _next_cursor(answer: Json) -> str:
    match answer:
        case {"response_metadata": {"next_cursor": str(cursor)}}:
            return cursor
        case _:
            return ""
