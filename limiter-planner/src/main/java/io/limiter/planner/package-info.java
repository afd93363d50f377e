// SPDX-License-Identifier: Apache-2.0
/**
 * Which numbers should a limit have? Reads an access log once into a compact file, and replays it
 * through the engine of the limiter on a driven clock.
 *
 * <pre>{@code
 * try (AccessLog log = AccessLog.reader().path("/search/**").read(Path.of("access.log"))) {
 *   Replay replay = log.replay(List.of(RuleText.parse("60/1m")));
 *   Demand demand = log.demand();
 *   List<Proposal> proposals = log.propose(Goal.ofCalls(0.001));
 * }
 * }</pre>
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.planner;

import org.jspecify.annotations.NullMarked;
