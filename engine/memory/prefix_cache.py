"""Prefix cache: a tree over blocks of prompt tokens that owns their KV pages and, at some nodes, a state checkpoint.

A recurrent state cannot be cut like a list of keys: a prompt may start from a cached prefix only where somebody
kept the state at that very position. So a hit is the deepest node *with a checkpoint* on the prompt's path,
however far its tokens match, and it leaves at least one token to run.

A node stands for one block: `block` tokens, a common multiple of the KV page and of the cut that prefill may
make without changing a bit. Only states made by prefill are kept: a decoded position's arithmetic differs
in its last bits, and a hit must give the text that a miss gives.
Source: radix attention (Zheng et al. 2024); state checkpoints and their slots as in SGLang 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.memory.kv_pool import PageAllocator
from engine.memory.state_pool import StatePool


@dataclass(eq=False)
class Node:
    """One block of tokens below its parent; the root has none."""

    key: tuple[int, ...]
    pages: list[int]
    parent: Node | None
    depth: int
    """Blocks from the root."""
    children: dict[tuple[int, ...], Node] = field(default_factory=dict)
    slot: int = -1
    """State slot of the checkpoint after this block, -1 without one."""
    locks: int = 0
    """Requests whose pages this node's are, here or below."""
    pins: int = 0
    """Requests that may not lose this checkpoint."""
    used: int = 0

    def path(self) -> Iterator[Node]:
        """This node and its ancestors, the root left out."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class PrefixCache:
    """Shared prompts. Pages and slots of nodes belong to the tree; requests lock the nodes they read."""

    def __init__(self, pages: PageAllocator, states: StatePool, page_size: int, block: int, lookahead: int = 0, states_per_path: int = 0) -> None:
        """`lookahead`: tokens after a block that its drafter keys depend on, hence part of the block's identity."""
        self.pages, self.states = pages, states
        self.block, self.pages_per_block = block, block // page_size
        self.lookahead, self.states_per_path = lookahead, states_per_path
        self.root = Node((), [], None, 0)
        self.checkpoints: dict[Node, None] = {}
        self.evictable_pages = 0
        """Pages of nodes that no request reads."""
        self.cached_pages = 0
        self._clock = 0
        self.lookups = self.hits = self.evicted_checkpoints = self.evicted_pages = 0

    # reading

    def deepest(self, prompt: tuple[int, ...]) -> int:
        """Blocks of a prompt that may be cached: at least one token is left to run."""
        return (len(prompt) - 1) // self.block

    def key(self, prompt: tuple[int, ...], depth: int) -> tuple[int, ...]:
        return prompt[depth * self.block : (depth + 1) * self.block + self.lookahead]

    def match(self, prompt: tuple[int, ...]) -> tuple[Node, int]:
        """The node to start from (the root on a miss) and how many tokens match in the tree at all."""
        node = hit = self.root
        for depth in range(self.deepest(prompt)):
            child = node.children.get(self.key(prompt, depth))
            if child is None:
                break
            node = child
            if node.slot >= 0:
                hit = node
        return hit, node.depth * self.block

    def pages_of(self, node: Node) -> list[int]:
        return [page for part in reversed(list(node.path())) for page in part.pages]

    @property
    def evictable_slots(self) -> int:
        return sum(node.pins == 0 for node in self.checkpoints)

    # locks

    def lock(self, node: Node) -> None:
        self._clock += 1
        for part in node.path():
            if part.locks == 0:
                self.evictable_pages -= len(part.pages)
            part.locks += 1
            part.used = self._clock

    def unlock(self, node: Node) -> None:
        for part in node.path():
            part.locks -= 1
            if part.locks == 0:
                self.evictable_pages += len(part.pages)
        self._prune(node)

    # writing

    def insert(self, start: Node, prompt: tuple[int, ...], tokens: int, own: list[int]) -> tuple[Node, list[int]]:
        """Put the blocks from `start` to `tokens` under it; `own` are a request's pages for exactly these blocks.

        Returns the last node, locked in place of `start`, and the pages the request reads from now on: its own,
        now the tree's, or those of a node that was there already, in which case its own are free again.
        """
        node, pages, step = start, [], self.pages_per_block
        for i, depth in enumerate(range(start.depth, tokens // self.block)):
            mine, key = own[i * step : (i + 1) * step], self.key(prompt, depth)
            child = node.children.get(key)
            if child is None:
                child = node.children[key] = Node(key, mine, node, depth + 1)
                self.evictable_pages += len(mine)
                self.cached_pages += len(mine)
            else:
                self.pages.release(mine)
            pages += child.pages
            node = child
        self.lock(node)
        self.unlock(start)
        return node, pages

    def keep(self, node: Node, slot: int, pinned: bool = False) -> None:
        """Make `slot`, which becomes the tree's, the checkpoint of a node that has none."""
        node.slot = slot
        node.pins += pinned
        self.checkpoints[node] = None

    def unpin(self, node: Node) -> None:
        node.pins -= 1

    def room_on_path(self, node: Node) -> bool:
        """Whether one checkpoint more may stand on the path of `node`; drops the least recently used one that may go."""
        if not self.states_per_path:
            return True
        held = [part for part in node.path() if part.slot >= 0]
        if len(held) < self.states_per_path:
            return True
        loose = [part for part in held if part.pins == 0]
        if not loose:
            return False
        self._drop(min(loose, key=lambda part: (part.used, part.depth)))
        return True

    # eviction, least recently used first

    def evict_slot(self) -> bool:
        """Free one checkpoint's state slot; False when every one is pinned or there is none."""
        loose = [node for node in self.checkpoints if node.pins == 0]
        if not loose:
            return False
        self._drop(min(loose, key=lambda node: (node.used, -node.depth)))
        self.evicted_checkpoints += 1
        return True

    def evict_pages(self, count: int) -> None:
        """Free at least `count` pages, or all that no request reads."""
        goal = min(self.pages.free_count + count, self.pages.free_count + self.evictable_pages)
        while self.pages.free_count < goal:
            leaves = [node for node in self.checkpoints if node.locks == 0 and not node.children]
            before = self.pages.free_count
            self._drop(min(leaves, key=lambda node: node.used))
            self.evicted_pages += self.pages.free_count - before

    def flush(self) -> None:
        """Forget everything; RuntimeError while requests read the tree."""
        if any(child.locks for child in self.root.children.values()):
            raise RuntimeError("prefix cache: requests still read it")
        while self.checkpoints:
            self._drop(next(iter(self.checkpoints)))
        self.lookups = self.hits = self.evicted_checkpoints = self.evicted_pages = 0

    def _drop(self, node: Node) -> None:
        """Take a node's checkpoint away, and the node with all that it alone kept alive."""
        self.states.release(node.slot)
        node.slot = -1
        del self.checkpoints[node]
        self._prune(node)

    def _prune(self, node: Node) -> None:
        """Remove blocks that lead to no checkpoint and that no request reads: nothing could ever hit them."""
        while node.parent is not None and node.slot < 0 and not node.children and node.locks == 0:
            del node.parent.children[node.key]
            self.pages.release(node.pages)
            self.evictable_pages -= len(node.pages)
            self.cached_pages -= len(node.pages)
            node = node.parent
