from ._protego import Protego
from ._ruleset import RequestRate, VisitTime

__all__ = ["Protego", "RequestRate", "VisitTime"]
