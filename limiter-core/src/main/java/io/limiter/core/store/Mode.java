// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

/** What a decision does beside answering. */
public enum Mode {
  /** Answers as an acquisition would, and takes nothing. */
  PEEK,
  /** Takes the units if all rules admit them, else nothing. */
  ACQUIRE,
  /** Takes the units whatever the rules say. */
  RECORD
}
