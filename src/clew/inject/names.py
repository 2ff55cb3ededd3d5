"""The documented names of values that have shorter ones here (rensei.md 4)."""

from clew.inject.config import InSessionConfig as InSessionMemoryConfig
from clew.model.inject import ContextInjectionLog, InjectionResult
from clew.model.inject import Triplet as GraphContextTriplet
from clew.model.inject import VerbEvent as VerbBusEvent

__all__ = ["ContextInjectionLog", "GraphContextTriplet", "InSessionMemoryConfig", "InjectionResult", "VerbBusEvent"]
