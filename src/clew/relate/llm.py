"""Relations that a language model finds between a new memory and others. Off unless configured.

In: a memory, its nearest neighbours, the newest memories in scope. Out: findings with their witness, and an issue
for each part that was left out. Nothing is durable here but what was spent; running it twice asks twice. It never
raises: whatever goes wrong is an issue, and likeness and rules go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from clew.errors import ClewError, Unavailable
from clew.lazy import made_once
from clew.model.llm import BROKE_OFF, PAIRS, REFUSED, SEMANTICS, TIMEOUT, TRUNCATED
from clew.model.memory import CLASSIFICATIONS, Memory
from clew.model.relation import CLASSIFICATION_FAILED, EXTRACTION_FAILED, LLM, Finding, Issue, Neighbour
from clew.ports import LanguageModel
from clew.relate.answers import (
    CONDITIONAL,
    Judgement,
    Stated,
    is_own_condition,
    judgement_of,
    relations_of,
    witness,
)
from clew.relate.breaker import PAUSED, Breaker
from clew.relate.prompts import MAX_CONTEXT_CHARS, MAX_TEXT_CHARS, Prompt, Text, cut, pair_prompt, semantic_prompt
from clew.relate.spend import BUDGET_EXHAUSTED, RATE_LIMITED, Reservation, Spend, tokens_in
from clew.remember.prepare import embedding_text
from clew.remember.redact import redact
from clew.values import dataclass

T = TypeVar("T")
OUT_OF_TIME = "LLM_OUT_OF_TIME"
_EDGE_OF = {"contradicts": "contradicts", "refines": "supersedes"}  # agrees and unrelated are no edge
_FAILED = {PAIRS: CLASSIFICATION_FAILED, SEMANTICS: EXTRACTION_FAILED}
_OWN_CODES = frozenset((BUDGET_EXHAUSTED, RATE_LIMITED))
_ENDS_THE_STAGE = _OWN_CODES | {PAUSED, OUT_OF_TIME}  # asking for the next pair would end the same way
_ABOUT_THE_TEXT = frozenset((REFUSED, TRUNCATED))  # the endpoint itself is well
_PERHAPS_PAID = frozenset((TIMEOUT, BROKE_OFF))  # it may have done the work and charge for it


@dataclass(frozen=True, slots=True)
class LlmPolicy:
    """Which questions are asked and which answers count. Defaults follow memories_sh.md 5 and 13."""

    min_similarity: float = 0.70
    max_similarity: float = 0.90
    pair_confidence: float = 0.70
    context_limit: int = 20
    semantic_confidence: float = 0.60
    min_chars: int = 20
    max_classification: str = "internal"
    patience_s: float = 150.0  # for all questions about one memory: its job's lease must not run out

    def is_ambiguous(self, similarity: float) -> bool:
        low, high = sorted((self.min_similarity, self.max_similarity))
        return low <= similarity <= high

    def may_send(self, memory: Memory) -> bool:
        return _label(memory) <= CLASSIFICATIONS.index(self.max_classification)


class LlmRelations:
    """Asks one model for every org of a store; safe to share between threads."""

    def __init__(
        self,
        make_model: Callable[[], LanguageModel | None],
        policy: LlmPolicy,
        spend: Spend,
        *,
        now: Callable[[], datetime],
    ) -> None:
        """`make_model` is called before the first question, not now: client libraries take a second to import."""
        self._make_model = make_model
        self._policy = policy
        self._spend = spend
        self._now = now
        self._breaker = Breaker(now)

    @made_once
    def _model(self) -> LanguageModel | None:
        return self._make_model()

    def find(
        self, memory: Memory, neighbours: Sequence[Neighbour], recent: Sequence[Memory]
    ) -> tuple[list[Finding], list[Issue]]:
        """`neighbours` by falling similarity, `recent` newest first; both in the memory's scope."""
        try:
            model = self._model
        except ClewError as error:
            detail = f"{error.message}. Next: {error.next}"
            return [], [Issue(error.code, "configuration", memory.id, detail=detail)]
        if model is None:
            return [], []
        until = self._now() + timedelta(seconds=self._policy.patience_s)
        inquiry = _Inquiry(memory, model, self._policy, self._spend, self._breaker, self._now, until)
        findings: list[Finding] = []
        looks = {PAIRS: partial(inquiry.judged, neighbours), SEMANTICS: partial(inquiry.stated, recent)}
        for stage, look in looks.items():
            try:
                findings += look()
            except Exception as error:  # an extra: whatever it is, the other stage and the job go on
                inquiry.note(stage, error)
        return findings, inquiry.issues


@dataclass(slots=True)
class _Inquiry:
    """All questions about one memory."""

    memory: Memory
    model: LanguageModel
    policy: LlmPolicy
    spend: Spend
    breaker: Breaker
    now: Callable[[], datetime]
    until: datetime
    issues: list[Issue] = field(default_factory=list)

    # -- pairs -------------------------------------------------------------------------------------

    def judged(self, neighbours: Sequence[Neighbour]) -> list[Finding]:
        """One question for each neighbour that is neither clearly the same nor clearly something else."""
        near = [one.memory for one in neighbours if self.policy.is_ambiguous(one.similarity)]
        candidates = self._sendable([one for one in near if self._is_other(one)], PAIRS)
        findings: list[Finding] = []
        for place, candidate in enumerate(candidates):
            try:
                prompt = pair_prompt(_shown(candidate), _shown(self.memory))
                findings += self._edges(self._ask(prompt, PAIRS, judgement_of), candidate)
            except Exception as error:  # a pair that fails takes no other with it (memories_sh.md 5.1)
                self.note(PAIRS, error, candidate=candidate.id, left=len(candidates) - place)
                if _code(error) in _ENDS_THE_STAGE:
                    break
        return findings

    def _edges(self, judged: Judgement, candidate: Memory) -> Iterable[Finding]:
        kind = _EDGE_OF.get(judged.relationship)
        if kind and judged.confidence >= self.policy.pair_confidence:
            quote, why = self._witness(judged, _shown(candidate).text)
            yield Finding(kind, candidate.id, judged.confidence, LLM, sentence=quote, explanation=why)

    # -- semantic relations ------------------------------------------------------------------------

    def stated(self, recent: Sequence[Memory]) -> list[Finding]:
        """One question about everything recent."""
        if len(self.memory.content.strip()) < max(1, self.policy.min_chars):
            return []
        context = self._context(recent)
        if not context:
            return []
        prompt = semantic_prompt(_shown(self.memory), [_shown(one) for one in context])
        found = self._ask(prompt, SEMANTICS, partial(relations_of, count=len(context)))
        enough = self.policy.semantic_confidence
        texts = [_shown(one).text for one in context]
        sure = [one for one in found if one.confidence >= enough and self._is_own(one)]
        return [self._relation(one, context, texts) for one in sure]

    def _context(self, recent: Sequence[Memory]) -> list[Memory]:
        """What the model says about one text is stored with the memory at hand and seen by its readers. So texts
        with a higher label than its own are not shown beside it."""
        newest = [one for one in recent if self._is_other(one)][: self.policy.context_limit]
        if not newest:
            return []
        return [one for one in self._sendable(newest, SEMANTICS) if _label(one) <= _label(self.memory)]

    def _is_own(self, stated: Stated) -> bool:
        return stated.index is not None or is_own_condition(stated.condition, _shown(self.memory).text)

    def _relation(self, stated: Stated, context: Sequence[Memory], texts: Sequence[str]) -> Finding:
        at = stated.index
        other = "" if at is None else texts[at]
        elsewhere = [text[:MAX_CONTEXT_CHARS] for place, text in enumerate(texts) if place != at]
        quote, why = self._witness(stated, other, elsewhere)
        return Finding(
            CONDITIONAL if at is None else stated.type,
            stated.condition if at is None else context[at].id,
            stated.confidence,
            LLM,
            reversed=stated.to_new,
            sentence=quote,
            explanation=why,
        )

    # -- asking ------------------------------------------------------------------------------------

    def _ask(self, prompt: Prompt, task: str, read: Callable[[Any], T]) -> T:
        """One answer, read; reserved before and settled after, however it ends."""
        self.breaker.check()
        if self.now() >= self.until:
            raise Unavailable("the questions about this memory took too long", code=OUT_OF_TIME)
        reserved = self.spend.reserve(
            self.memory.org,
            self.model.name,
            task,
            input_tokens=tokens_in(prompt.chars),
            output_tokens=prompt.output_tokens,
        )
        try:
            answer = self.model.ask(
                prompt.system, prompt.user, schema=prompt.schema, schema_name=prompt.schema_name
            )
        except Exception as error:
            self._failed(reserved, error)
            raise
        return self._read(reserved, answer.data, read, answer.input_tokens, answer.output_tokens)

    def _read(self, reserved: Reservation, data: Any, read: Callable[[Any], T], sent: int, received: int) -> T:
        try:
            value = read(data)
        except Exception as error:
            self.breaker.failed()
            self.spend.settle(reserved, input_tokens=sent, output_tokens=received, failure=_told(error))
            raise
        self.breaker.worked()
        self.spend.settle(reserved, input_tokens=sent, output_tokens=received)
        return value

    def _failed(self, reserved: Reservation, error: Exception) -> None:
        details = error.details if isinstance(error, ClewError) else {}
        if _code(error) in _ABOUT_THE_TEXT:
            self.breaker.worked()
        else:
            self.breaker.failed(asked_to_wait_s=_number(details.get("retry_after_s")))
        paid = reserved.estimate.input_tokens if _code(error) in _PERHAPS_PAID else 0
        sent, received = details.get("input_tokens", paid), details.get("output_tokens", 0)
        self.spend.settle(
            reserved, input_tokens=int(_number(sent)), output_tokens=int(_number(received)), failure=_told(error)
        )

    # -- small things ------------------------------------------------------------------------------

    def _sendable(self, memories: Sequence[Memory], task: str) -> list[Memory]:
        """Without those whose label forbids it: policy, not failure, so counted and no issue. When it forbids the
        memory at hand, nothing is left to ask."""
        allowed = [one for one in memories if self.policy.may_send(one)]
        withheld = len(memories) - len(allowed)
        if memories and not self.policy.may_send(self.memory):
            allowed, withheld = [], 1
        if withheld:
            self.spend.withhold(self.memory.org, self.model.name, task, withheld)
        return allowed

    def _is_other(self, memory: Memory) -> bool:
        return memory.id != self.memory.id and bool(memory.content.strip()) and bool(self.memory.content.strip())

    def _witness(self, said: Judgement | Stated, other: str, elsewhere: Sequence[str] = ()) -> tuple[str, str]:
        text = _shown(self.memory).text
        return witness(said.evidence, said.explanation, text=text, other=other, elsewhere=elsewhere)

    def note(self, stage: str, error: Exception, *, candidate: str = "", left: int = 0) -> None:
        code, detail = _code(error), _told(error)
        if code in _ENDS_THE_STAGE and stage == PAIRS:
            candidate, detail = "", f"{detail}; {left} {'pair was' if left == 1 else 'pairs were'} not judged"
        own = code if code in _OWN_CODES else _FAILED[stage]
        self.issues.append(Issue(own, stage, self.memory.id, candidate, detail))


def _shown(memory: Memory) -> Text:
    """Masked once more before it leaves the machine: rules may have been added since it was written."""
    text = embedding_text(memory.title, memory.content)[: 2 * MAX_TEXT_CHARS]
    return Text(memory.id, memory.created_at, cut(redact(text).text))


def _label(memory: Memory) -> int:
    """An unknown label is above all others."""
    known = memory.classification in CLASSIFICATIONS
    return CLASSIFICATIONS.index(memory.classification) if known else len(CLASSIFICATIONS)


def _code(error: Exception) -> str:
    """Of a foreign error its name alone: its message may quote the text."""
    return error.code if isinstance(error, ClewError) else type(error).__name__


def _told(error: Exception) -> str:
    return f"{error.code}: {error.message}" if isinstance(error, ClewError) else type(error).__name__


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
