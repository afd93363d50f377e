# SPDX-License-Identifier: Apache-2.0
"""What rules deny of a log of time in microseconds, subject and cost, written apart from the engine.

Arguments: the log, then rules as COUNT/MICROS:ALGORITHM. Prints for each rule its denied calls and subjects.
"""

import sys
from collections import defaultdict, deque
from fractions import Fraction


def log(calls, count, window):
    taken = deque()
    for time, cost in calls:
        while taken and time - taken[0] >= window:
            taken.popleft()
        if len(taken) + cost <= count:
            taken.extend([time] * cost)
        else:
            yield time


def fixed(calls, count, window):
    begin, used = None, 0
    for time, cost in calls:
        if begin is None or time - begin >= window:
            begin, used = time, 0
        if used + cost <= count:
            used += cost
        else:
            yield time
            if used == 0:
                begin = None


def aligned(calls, count, window):
    number, used = None, 0
    for time, cost in calls:
        if time // window != number:
            number, used = time // window, 0
        if used + cost <= count:
            used += cost
        else:
            yield time


def bucket(calls, count, window):
    tokens, last = Fraction(count), None
    for time, cost in calls:
        if last is not None:
            tokens = min(Fraction(count), tokens + Fraction(count * (time - last), window))
        last = time
        if tokens >= cost:
            tokens -= cost
        else:
            yield time


ALGORITHMS = {"log": log, "fixed": fixed, "aligned": aligned, "bucket": bucket}


def main():
    subjects = defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            time, subject, cost = line.split()
            subjects[subject].append((int(time), int(cost)))
    for calls in subjects.values():
        calls.sort(key=lambda call: call[0])
    for rule in sys.argv[2:]:
        numbers, algorithm = rule.split(":")
        count, window = (int(number) for number in numbers.split("/"))
        denials = [sum(1 for _ in ALGORITHMS[algorithm](calls, count, window)) for calls in subjects.values()]
        print(sum(denials), sum(1 for some in denials if some))


main()
