"""The strongly connected components of a graph: where a run can go round for ever."""

from collections.abc import Iterator, Mapping, Sequence


def components(successors: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components of a graph (Tarjan), each before those that lead to it."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()

    def enter(number: int) -> tuple[int, Iterator[int]]:
        index[number] = lowest[number] = len(index)
        stack.append(number)
        on_stack.add(number)
        return number, iter(successors[number])

    for root in successors:
        work = [enter(root)] if root not in index else []
        while work:
            number, following = work[-1]
            for after in following:
                if after not in index:
                    work.append(enter(after))
                    break
                if after in on_stack:
                    lowest[number] = min(lowest[number], index[after])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[number])
                if lowest[number] == index[number]:
                    yield _popped(stack, on_stack, number)


def _popped(stack: list[int], on_stack: set[int], number: int) -> list[int]:
    component: list[int] = []
    while not component or component[-1] != number:
        component.append(stack.pop())
        on_stack.discard(component[-1])
    return component
