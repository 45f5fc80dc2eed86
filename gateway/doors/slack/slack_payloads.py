"""What Slack sends: presses of buttons, filled dialogs, messages; what the door reads. Pure."""

from typing import Annotated, Literal
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from coterie.activities.contracts import SlackChoice
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json

MAX_BODY = 512 * 1024
"""Bytes of a request."""
MAX_DIALOG_TEXT = 600
"""Characters of a message that a dialog carries."""
Id = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")]
_Url = Annotated[str, Field(max_length=2_000)]
_Text = Annotated[str, Field(max_length=100_000)]


class SlackPart(BaseModel):
    """A part of a payload, of which the door reads some fields."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class SlackWorkspace(SlackPart):
    """The workspace in which something happened."""

    id: Id


class SlackUser(SlackPart):
    """Who did it."""

    id: Id
    team_id: Id | None = None


class PressedButton(SlackPart):
    """One press."""

    action_id: str
    value: str = Field(default="", max_length=4_000)


class PressedMessage(SlackPart):
    """The message with the button."""

    text: str = ""
    blocks: list[Json] = Field(default_factory=list[Json])


class ButtonPress(SlackPart):
    """Somebody pressed a button."""

    type: Literal["block_actions"]
    user: SlackUser
    team: SlackWorkspace
    actions: list[PressedButton] = Field(min_length=1, max_length=25)
    response_url: _Url = ""
    trigger_id: Annotated[str, Field(max_length=300)] = ""
    message: PressedMessage = PressedMessage()


class DialogState(SlackPart):
    """What was filled in, by block and action."""

    values: dict[str, dict[str, Json]] = Field(default_factory=dict[str, dict[str, Json]])


class DialogView(SlackPart):
    """A dialog that was sent."""

    callback_id: str = ""
    private_metadata: str = Field(default="", max_length=4_000)
    state: DialogState = DialogState()


class DialogSubmission(SlackPart):
    """Somebody sent a dialog."""

    type: Literal["view_submission"]
    user: SlackUser
    team: SlackWorkspace
    view: DialogView


Interaction = Annotated[ButtonPress | DialogSubmission, Field(discriminator="type")]


class SlackMessage(SlackPart):
    """A message in a channel, or to the app."""

    type: Literal["app_mention", "message"]
    channel: Id
    ts: Id
    thread_ts: Id | None = None
    user: Id | None = None
    text: _Text = ""
    subtype: str | None = None
    bot_id: str | None = None
    channel_type: str = ""
    user_team: Id | None = None
    """Of its author, where workspaces share a channel."""

    @property
    def thread(self) -> str:
        """The first message of its thread."""
        return self.thread_ts or self.ts


class AddressCheck(SlackPart):
    """Slack asks whether this is the address of the app."""

    type: Literal["url_verification"]
    challenge: str = Field(max_length=1_000)


class EventDelivery(SlackPart):
    """Something happened."""

    type: Literal["event_callback"]
    team_id: Id
    event_id: Id
    event: Json


class DialogOrigin(SlackPart):
    """What a dialog carries: the request, and where the message with the button is changed."""

    choice: SlackChoice
    response_url: _Url
    text: str = Field(default="", max_length=MAX_DIALOG_TEXT)
    """Of that message."""


Delivered = Annotated[AddressCheck | EventDelivery, Field(discriminator="type")]
_INTERACTION: TypeAdapter[ButtonPress | DialogSubmission] = TypeAdapter(Interaction)
_DELIVERED: TypeAdapter[AddressCheck | EventDelivery] = TypeAdapter(Delivered)


def read_interaction(body: bytes) -> ButtonPress | DialogSubmission | None:
    """Read a form with a payload; None if it is another one, which the door ignores."""
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
        (payload,) = fields["payload"]
        return _INTERACTION.validate_python(read_json(payload))
    except (ValueError, KeyError, ValidationError):
        return None


def read_delivery(body: bytes) -> AddressCheck | EventDelivery | None:
    """Read an event; None if it is another one, which the door ignores."""
    try:
        return _DELIVERED.validate_python(read_json(body))
    except (ValueError, ValidationError):
        return None


def message_in(event: Json) -> SlackMessage | None:
    """Return the message that an event is; None if a program wrote it, or it is another event."""
    try:
        message = SlackMessage.model_validate(event)
    except ValidationError:
        return None
    is_of_person = message.user is not None and message.bot_id is None and message.subtype is None
    return message if is_of_person else None


def read_choice(value: str) -> SlackChoice | None:
    """Read which request a button is about; None if it is not a button of ours."""
    try:
        return SlackChoice.model_validate_json(value)
    except ValidationError:
        return None


def read_origin(text: str) -> DialogOrigin | None:
    """Read what a dialog carries; None if it is not a dialog of ours."""
    try:
        return DialogOrigin.model_validate_json(text)
    except ValidationError:
        return None


def input_text(state: DialogState, name: str) -> str:
    """Return what was written or chosen in a field of a dialog; empty if nothing."""
    match state.values.get(name, {}).get("given"):
        case {"value": str(text)} | {"selected_option": {"value": str(text)}}:
            return text
        case _:
            return ""


def without_buttons(message: PressedMessage) -> list[JsonValue]:
    """Return the blocks of a message without what a person can press."""
    return [block for block in message.blocks if block.get("type") != "actions"]
