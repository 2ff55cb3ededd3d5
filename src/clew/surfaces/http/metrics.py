"""What the server counted, for Prometheus. Labels are bounded: no org, user, session or id is among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clew.surfaces.http.tally import BUCKETS_S, Durations

if TYPE_CHECKING:
    from clew.surfaces.http.standing import Standing

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def rendered(standing: Standing) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(standing))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    def collect(self) -> Iterator[Metric]:
        yield from self._process()
        yield from self._answers()
        yield from self._store()

    def _process(self) -> Iterator[Metric]:
        standing = self._standing
        yield _gauge("clew_build_info", "The version that runs.", "version", {standing.version: 1})
        yield _gauge("clew_uptime_seconds", "Since when it runs.", "", {"": time() - standing.started_at})
        silent = {thread.name: thread.silent_s for thread in standing.health.threads}
        yield _gauge("clew_thread_silent_seconds", "Since the last sign of life of a thread.", "thread", silent)
        yield _gauge("clew_streams", "Streams that are open.", "", {"": standing.open_streams()})

    def _answers(self) -> Iterator[Metric]:
        tally = self._standing.tally
        yield _histogram("clew_request_seconds", "How long requests took.", ("route", "status"), tally.requests)
        yield _histogram("clew_hook_seconds", "How long hooks of agents waited.", ("host", "event"), tally.hooks)
        yield _counter("clew_refusals", "Requests that were not allowed.", "code", tally.refusals)
        yield _counter(
            "clew_inject_tokens", "Tokens of memory that were handed out.", "", {"": tally.injected_tokens}
        )

    def _store(self) -> Iterator[Metric]:
        counted = self._standing.serving.counted()
        injects = {state: float(waiting.count) for state, waiting in counted.injects.items()}
        oldest = {state: waiting.oldest_s for state, waiting in counted.injects.items() if state != "dead"}
        jobs = dict.fromkeys(("queued", "leased", "dead"), 0) | dict(counted.jobs)
        yield _gauge("clew_queue_injects", "Injects by state.", "state", injects)
        yield _gauge("clew_queue_oldest_seconds", "How old the oldest inject of a state is.", "state", oldest)
        yield _gauge("clew_jobs", "Jobs by state.", "state", jobs)
        yield _gauge(
            "clew_jobs_oldest_due_seconds", "Since when the oldest job is due.", "", {"": counted.oldest_due_s}
        )
        yield _gauge(
            "clew_hook_events_waiting", "Hook events not captured from yet.", "", {"": counted.events.count}
        )


def _gauge(name: str, doc: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, doc, labels=[label] if label else [])
    for key, value in values.items():
        family.add_metric([key] if label else [], value)
    return family


def _counter(name: str, doc: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, doc, labels=[label] if label else [])
    for key, value in dict(values).items():
        family.add_metric([key] if label else [], value)
    return family


def _histogram(name: str, doc: str, labels: tuple[str, ...], values: Mapping[tuple[str, str], Durations]) -> Metric:
    family = HistogramMetricFamily(name, doc, labels=list(labels))
    for key, durations in dict(values).items():
        total, buckets = 0, []
        for end, count in zip((*BUCKETS_S, "+Inf"), list(durations.counts), strict=True):
            total += count
            buckets.append((str(end), float(total)))
        family.add_metric(list(key), buckets, durations.total_s)
    return family
