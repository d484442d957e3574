"""The tree itself, without an engine: ownership, hits only at checkpoints, eviction, and nothing lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.kv_pool import PageAllocator
from engine.memory.prefix_cache import PrefixCache

BLOCK, PAGE = 4, 2


class Slots:
    """A state pool's free list alone."""

    def __init__(self, count: int) -> None:
        self.count, self.free = count, list(range(count))

    def take(self) -> int | None:
        return self.free.pop() if self.free else None

    def release(self, slot: int) -> None:
        assert slot not in self.free
        self.free.append(slot)


def make(pages: int = 64, slots: int = 8, **more) -> tuple[PrefixCache, PageAllocator, Slots]:
    allocator, states = PageAllocator(pages), Slots(slots)
    return PrefixCache(allocator, states, PAGE, BLOCK, **more), allocator, states


def serve(cache: PrefixCache, prompt: tuple[int, ...], keep_at: tuple[int, ...] = ()):
    """What a request does: start at the hit, add its blocks, keep checkpoints; returns (hit tokens, its last node)."""
    node, _ = cache.match(prompt)
    cache.lock(node)
    hit = node.depth * BLOCK
    for at in keep_at:
        if at <= hit:
            continue
        own = cache.pages.allocate((at - node.depth * BLOCK) // PAGE)
        node, _ = cache.insert(node, prompt, at, own)
        if node.slot < 0 and cache.room_on_path(node) and (slot := cache.states.take()) is not None:
            cache.keep(node, slot)
    return hit, node


def test_a_hit_needs_a_checkpoint_and_leaves_a_token():
    cache, pages, _ = make()
    prompt = tuple(range(12))
    assert serve(cache, prompt, (8,)) == (0, cache.match(prompt)[0])
    assert cache.match(prompt)[0].depth == 2
    assert cache.match(prompt[:9])[0].depth == 2
    assert cache.match(prompt[:8])[0] is cache.root  # nothing would be left to run
    other = (*prompt[:4], 99, 98, 97, 96, 95)
    hit, matched = cache.match(other)
    assert hit is cache.root and matched == 4  # the tokens match, no state was kept there
    assert pages.used_count == 4


def test_blocks_that_two_requests_made_are_kept_once():
    cache, pages, _ = make()
    first, second = cache.root, cache.root
    prompt = tuple(range(9))
    mine, yours = pages.allocate(4), pages.allocate(4)
    a, seen_a = cache.insert(first, prompt, 8, mine)
    cache.keep(a, cache.states.take())
    b, seen_b = cache.insert(second, prompt, 8, yours)
    assert a is b and seen_a == seen_b == mine and pages.used_count == 4 and cache.evictable_pages == 0
    cache.unlock(a)
    assert cache.evictable_pages == 0
    cache.unlock(b)
    assert cache.evictable_pages == 4


def test_lookahead_keeps_prompts_apart_that_differ_just_after_a_block():
    prompt, other = (1, 2, 3, 4, 5), (1, 2, 3, 4, 6)
    for lookahead, same in ((0, True), (1, False)):
        cache, *_ = make(lookahead=lookahead)
        serve(cache, prompt, (4,))
        assert (cache.match(other)[0] is not cache.root) == same


def test_the_least_recently_used_goes_first_and_takes_its_dead_end_along():
    cache, pages, states = make()
    ends = [serve(cache, (n, *range(8)), (8,))[1] for n in range(3)]
    for node in ends:
        cache.unlock(node)
    serve(cache, (0, *range(8)))  # used again
    cache.evict_pages(1)
    assert pages.used_count == 8 and cache.match((1, *range(8)))[0] is cache.root and cache.match((0, *range(8)))[0] is ends[0]
    assert cache.evict_slot() and cache.match((2, *range(8)))[0] is cache.root and pages.used_count == 4
    assert cache.evict_slot()  # read by a request: its pages stay, its checkpoint need not
    assert not cache.evict_slot() and pages.used_count == 4 and len(states.free) == 8
    cache.unlock(ends[0])
    assert pages.used_count == 0


def test_a_cap_on_checkpoints_of_one_path():
    cache, _, states = make(states_per_path=2)
    prompt = tuple(range(30))
    serve(cache, prompt, (4, 8, 12, 16, 20))
    assert len(cache.checkpoints) == 2 and cache.match(prompt)[0].depth == 5
    assert states.count - len(states.free) == 2


words = st.lists(st.integers(0, 2), min_size=1, max_size=26).map(tuple)


@given(st.lists(st.tuples(words, st.lists(st.integers(1, 6), max_size=3), st.integers(0, 9)), max_size=40), st.integers(0, 1), st.integers(0, 2))
@settings(max_examples=80, deadline=None)
def test_nothing_is_lost_whatever_is_served_and_evicted(script, lookahead, per_path):
    cache, pages, states = make(lookahead=lookahead, states_per_path=per_path)
    held = []
    for prompt, stops, what in script:
        if what < 6:
            stops = tuple(sorted({s * BLOCK for s in stops if s <= cache.deepest(prompt)}))
            if pages.free_count + cache.evictable_pages < 14:
                continue
            if pages.free_count < 14:
                cache.evict_pages(14 - pages.free_count)
            held.append(serve(cache, prompt, stops)[1])
        elif what < 8 and held:
            cache.unlock(held.pop(what % len(held)))
        elif what == 8:
            cache.evict_slot()
        else:
            cache.evict_pages(3)
        nodes = [n for n in walk(cache.root) if n is not cache.root]
        assert pages.used_count == cache.cached_pages == sum(len(n.pages) for n in nodes)
        assert cache.evictable_pages == sum(len(n.pages) for n in nodes if n.locks == 0)
        assert states.count - len(states.free) == len(cache.checkpoints) == sum(n.slot >= 0 for n in nodes)
        assert all(n.slot >= 0 or n.children or n.locks for n in nodes)
        assert all(n.locks >= max((c.locks for c in n.children.values()), default=0) for n in nodes)
    for node in held:
        cache.unlock(node)
    cache.flush()
    assert pages.free_count == 64 and len(states.free) == 8 and not cache.root.children


def walk(node):
    yield node
    for child in node.children.values():
        yield from walk(child)
