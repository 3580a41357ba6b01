"""The endpoint's scheduler over thousands of random afternoons: nobody starves, nothing starts twice, memory holds."""

import heapq
import random
from collections import Counter
from itertools import count

import pytest

from sparkops.node.gatewaykeys import Denied
from sparkops.node.gatewayscheduler import HeldRequest, NodeRoom, OnDemandSpec, Scheduler

SEEDS, BATCHES = 5000, 10
LENGTH, TICK, LEAST_STAY = 900.0, 20.0, 30.0
LONGEST_REQUEST, LONGEST_START, LONGEST_STOP = 60.0, 60.0, 20.0


class Afternoon:
    """A random fleet with random requests, from now and then to all the time; then all of it comes to rest.

    Containers really run or not (`loaded`), whatever the scheduler believes.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        nodes = [f"spark{n}" for n in range(1, self.random.randint(2, 5))]
        self.rooms = {node: NodeRoom(100, self.random.random() < 0.1) for node in nodes}
        self.specs = [self.spec(f"model{n}", nodes) for n in range(self.random.randint(2, 6))]
        self.scheduler = Scheduler(self.specs, self.rooms)
        for one in self.specs:
            self.scheduler.asleep(one.name, 0.0)
        self.loaded = Counter[str]()
        self.running = Counter[str]()
        self.served_since: dict[str, float] = {}
        self.events: list[tuple[float, int, str, str]] = []
        self.number, self.now, self.impatient = count(), 0.0, list[HeldRequest]()
        self.asked = self.answered = self.refused = self.left = 0
        self.longest, self.refusals = 0.0, list[tuple[int, float]]()

    def spec(self, name: str, nodes: list[str]) -> OnDemandSpec:
        on = self.random.sample(nodes, self.random.choice([1, 1, min(2, len(nodes))]))
        need = self.random.choice([20, 45, 60, 100])
        idle = self.random.choice([40.0, 120.0, 400.0])
        return OnDemandSpec(name, dict.fromkeys(on, need), self.random.random() < 0.5, idle, self.random.randint(0, 2))

    def at(self, after: float, what: str, name: str = "") -> None:
        heapq.heappush(self.events, (self.now + after, next(self.number), what, name))

    def pass_by(self) -> None:
        for one in self.specs:
            for _ in range(self.random.choice([1, 5, 10, 60])):
                self.at(self.random.uniform(0, LENGTH), "ask", one.name)
        for _ in range(self.random.choice([0, 0, 1, 3])):
            self.at(self.random.uniform(0, LENGTH), "ends", self.random.choice(self.specs).name)
        self.at(0, "tick")
        while self.events:
            self.now, _, what, name = heapq.heappop(self.events)
            getattr(self, what)(name)
            self.act()
            self.look()

    def act(self) -> None:
        for one in self.scheduler.decide(self.now):
            if one.verb == "stop":
                assert not self.running[one.name], "it was busy"
                assert self.now - self.served_since[one.name] >= LEAST_STAY, "it had just come"
                self.at(self.random.uniform(1, LONGEST_STOP), "stopped", one.name)
                continue
            assert not self.loaded[one.name], "it started twice"
            self.loaded[one.name] += 1
            how = "fails" if self.random.random() < 0.1 else "serves"
            self.at(self.random.uniform(5, LONGEST_START), how, one.name)
        for waiting in self.scheduler.admitted(self.now):
            assert self.loaded[waiting.name], "it does not run"
            self.longest = max(self.longest, self.now - waiting.since)
            self.running[waiting.name] += 1
            self.at(self.random.uniform(1, LONGEST_REQUEST), "done", waiting.name)

    def look(self) -> None:
        for node, room in self.rooms.items():
            here = [one for one in self.specs if self.loaded[one.name] and node in one.needs]
            assert sum(one.needs[node] for one in here) <= room.kib, "memory is over"
            assert sum(not one.alongside for one in here) + room.owned <= 1, "two own the node"

    def ask(self, name: str) -> None:
        self.asked += 1
        try:
            waiting = self.scheduler.ask(name, self.random.choice("abc"), self.now)
        except Denied as denied:
            self.refusals.append((denied.status, denied.after or 0.0))
            self.refused += 1
            return
        if self.random.random() < 0.1:
            self.impatient.append(waiting)
            self.at(self.random.uniform(0, 100), "leave", str(len(self.impatient) - 1))

    def leave(self, number: str) -> None:
        waiting = self.impatient[int(number)]
        if waiting in self.scheduler.residents[waiting.name].waiting:
            self.scheduler.leave(waiting)
            self.left += 1

    def done(self, name: str) -> None:
        self.running[name] -= 1
        self.answered += 1
        self.scheduler.done(HeldRequest(self.scheduler.residents[name], "", 0.0), self.now)

    def serves(self, name: str) -> None:
        if self.loaded[name] and self.scheduler.residents[name].state == "starting":
            self.scheduler.awake(name, self.now, self.now - self.scheduler.residents[name].since)
            self.served_since[name] = self.now

    def fails(self, name: str) -> None:
        if self.scheduler.residents[name].state == "starting":
            self.refused += len(self.scheduler.failed(name, self.now))
            self.at(self.random.uniform(1, LONGEST_STOP), "stopped", name)

    def stopped(self, name: str) -> None:
        self.loaded[name] = 0
        self.scheduler.asleep(name, self.now)

    def tick(self, _: str) -> None:
        if self.now < LENGTH or any(one.state != "asleep" for one in self.scheduler.residents.values()):
            self.at(TICK, "tick")

    def ends(self, name: str) -> None:
        """Its containers end by themselves, which a look at the nodes shows."""
        if self.scheduler.residents[name].state == "awake":
            self.loaded[name] = 0
            self.scheduler.asleep(name, self.now)

    @property
    def bound(self) -> float:
        """Each of the others goes before at most once."""
        stay = max(LEAST_STAY, LONGEST_START)
        return len(self.specs) * (stay + LONGEST_REQUEST + LONGEST_STOP + LONGEST_START + TICK)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_any_afternoon(batch):
    for seed in range(batch, SEEDS, BATCHES):
        one = Afternoon(seed)
        one.pass_by()
        assert one.asked == one.answered + one.refused + one.left, seed
        assert one.longest <= one.bound, seed
        assert all(status in (429, 503) and after > 0 for status, after in one.refusals), seed
        assert all(each.state == "asleep" for each in one.scheduler.residents.values()), seed
