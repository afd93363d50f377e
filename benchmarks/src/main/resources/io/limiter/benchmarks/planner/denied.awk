# SPDX-License-Identifier: Apache-2.0
# What 60 calls a minute of an address, in minutes of the clock, would deny of a combined log that is in order.
{
  time = substr($4, 2, 17)
  if (time != minute) {
    for (address in calls) {
      delete calls[address]
    }
    minute = time
  }
  if (++calls[$1] > 60) {
    denied++
    subjects[$1] = 1
  }
}
END {
  for (address in subjects) {
    count++
  }
  printf "%d %d\n", denied, count
}
