"""How a call in a child process can fail without an outcome."""


class UserCodeFailed(Exception):
    """The process of a call ended or replied with something invalid; the message says how."""


class UserCodeTimeout(Exception):
    """A call exceeded its time limit and was stopped."""
