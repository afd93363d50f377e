// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreHarness;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.LeakyBucketRule;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The order in which subjects are charged where that cannot be atomic. */
class SlotGroupsTest {

  private static final LimitRequest ALL = call(Subject.global());
  private static final LimitRequest ADDRESS = call(new Subject("ip", "10.0.0.1"));
  private static final LimitRequest ANONYMOUS = call(new Subject("anonymous", "ip 10.0.0.1"));
  private static final LimitRequest USER = call(new Subject("user", "ada"));
  private static final LimitRequest KEY = call(new Subject("header", "k"));

  @Test
  void rulesAndGuardOfOneSubjectAreOnePart() {
    LimitRequest submission =
        LimitRequest.of(
            Policy.of("p", rule(1, StoreHarness.SECOND)).withDuplicates(rule(1, StoreHarness.HOUR)),
            new Subject("user", "ada"),
            Optional.of("form"));

    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(submission)))
        .containsExactly(new int[] {0, 1});
    assertThat(MultiSlotDecision.SlotGroups.oneByOne(encoded(submission), new int[] {0, 1}))
        .containsExactly(new int[] {0}, new int[] {1});
  }

  @Test
  void theNarrowestSubjectIsFirstAndEverybodyLast() {
    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(ALL.and(ADDRESS).and(USER))))
        .containsExactly(new int[] {2}, new int[] {1}, new int[] {0});
    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(ANONYMOUS.and(KEY))))
        .containsExactly(new int[] {1}, new int[] {0});
  }

  @Test
  void subjectsOfEqualBreadthKeepTheirOrderOfDeclaration() {
    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(USER.and(KEY))))
        .containsExactly(new int[] {0}, new int[] {1});
    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(KEY.and(USER))))
        .containsExactly(new int[] {0}, new int[] {1});
  }

  /** A departure that is given up may pass unused: the other subjects are charged before. */
  @Test
  void theSubjectThatMakesTheCallWaitIsLast() {
    LimitRequest waits =
        LimitRequest.of(
            Policy.of("w", LeakyBucketRule.of(1, StoreHarness.SECOND, 1, StoreHarness.MINUTE)),
            new Subject("user", "ada"));

    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(waits.and(ADDRESS).and(ALL))))
        .containsExactly(new int[] {1}, new int[] {2}, new int[] {0});
  }

  @Test
  void aGuardIsInTheSlotOfItsSubject() {
    LimitRequest submitter =
        LimitRequest.of(
            Policy.of("p", rule(1, StoreHarness.SECOND)).withDuplicates(rule(1, StoreHarness.HOUR)),
            Subject.global(),
            new Subject("user", "ada"),
            "form");

    assertThat(MultiSlotDecision.SlotGroups.bySlot(encoded(submitter)))
        .containsExactly(new int[] {1}, new int[] {0});
  }

  private static LimitRequest call(Subject subject) {
    return LimitRequest.of(Policy.of(subject.kind(), rule(1, StoreHarness.HOUR)), subject);
  }

  private static EncodedCall encoded(LimitRequest request) {
    return EncodedCall.of(
        request,
        Mode.ACQUIRE,
        RedisSettings.defaults()::name,
        stack -> new EncodedStack(stack, List.of(), () -> 0),
        null);
  }
}
