// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the store behind overrides is asked for. */
class OverrideStoreTest {

  private static final LimitRequest CALL =
      LimitRequest.of(Policy.of("search", rule(3, MINUTE)), new Subject("user", "ada"));
  private static final Charge CHARGE = CALL.charge(0);
  private final List<RuleStack> stacks = new ArrayList<>();
  private final LimitStore behind =
      new DelegatingStore(new MemoryStore(100, () -> 0)) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          stacks.add(request.charge(0).stack());
          return super.decide(request, mode);
        }
      };
  private final OverrideTable<SubjectOverride> table = new OverrideTable.InMemory<>("overrides");
  private final OverridesInForce inForce = new OverridesInForce(table::tag);
  private final OverrideStore store = new OverrideStore(behind, inForce);

  private SubjectOverride override(long count, Duration left) {
    return new SubjectOverride(table.tag(CHARGE.key()), "search", Map.of("3-per-60s", count), left);
  }

  private RuleStack decided() {
    assertThat(store.decide(CALL, Mode.PEEK)).isCompletedWithValueMatching(Verdict::allowed);
    return stacks.get(stacks.size() - 1);
  }

  /** A store prepares for the rules of a stack, by its identity. */
  @Test
  void theSameCountsKeepTheirRules() {
    inForce.use(List.of(override(10, HOUR)));
    RuleStack ten = decided();
    assertThat(ten.rules().get(0).count()).isEqualTo(10);
    assertThat(decided()).isSameAs(ten);
    inForce.use(List.of(override(10, MINUTE)));
    assertThat(decided()).isSameAs(ten);
    inForce.use(List.of(override(11, MINUTE)));
    assertThat(decided().rules().get(0).count()).isEqualTo(11);
    inForce.use(List.of());
    assertThat(decided()).isSameAs(CHARGE.stack());
  }

  @ParameterizedTest
  @CsvSource({
    "PT1S, true",
    "PT0.999999999S, false",
    "PT168H, true",
    "PT168H0.000000001S, false",
    "PT-1S, false"
  })
  void anOverrideIsForOneSecondToSevenDays(Duration time, boolean valid) {
    if (valid) {
      assertThat(OverrideTable.requireTime(time)).isEqualTo(time);
    } else {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> OverrideTable.requireTime(time))
          .withMessage("An override for " + time + ": use 1 s to 7 days");
    }
  }

  /** 100 ms of the rate are a quarter of 400 tokens, but more of 399. */
  @ParameterizedTest
  @CsvSource({"399, 0", "400, 100", "100000, 100"})
  void theRulesKeepTheirLeaseUnlessABucketBecomesTooSmallForIt(long count, long leaseMillis) {
    RuleStack leased =
        RuleStack.of(
                List.of(TokenBucketRule.of(4_000, 1_000, Duration.ofSeconds(1)).withName("bucket")))
            .withLease(Duration.ofMillis(100));
    SubjectOverride other = new SubjectOverride("tag", "search", Map.of("bucket", count), HOUR);
    RuleStack changed = other.change(leased, Map.of());
    assertThat(changed.rules().get(0).count()).isEqualTo(count);
    assertThat(changed.lease()).isEqualTo(Duration.ofMillis(leaseMillis));
  }

  @Test
  void anOverrideHasAtMostTheCountsOfEightStacks() {
    Map<String, Long> most =
        IntStream.range(0, 64).boxed().collect(Collectors.toMap(i -> "rule" + i, i -> 1L));
    assertThat(new SubjectOverride("tag", "search", most, HOUR).counts()).hasSize(64);
    Map<String, Long> more = new HashMap<>(most);
    more.put("another", 1L);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new SubjectOverride("tag", "search", more, HOUR))
        .withMessage("65 counts in one override: use 64 at most");
  }

  /** A name of the code comes first: another rule may have it as its name by now. */
  @ParameterizedTest
  @CsvSource({"a, 10, 5", "b, 5, 10", "c, 10, 10"})
  void aRuleIsNamedAsInTheCodeOrAsItIs(String named, long first, long second) {
    SubjectOverride override = new SubjectOverride("tag", "search", Map.of(named, 5L), HOUR);
    RuleStack both =
        RuleStack.of(List.of(rule(10, HOUR).withName("a"), rule(10, HOUR).withName("b")));
    assertThat(override.change(both, Map.of("a", "b", "b", "a")).rules())
        .extracting(Rule::count)
        .containsExactly(first, second);
    RuleStack renamed = RuleStack.of(List.of(rule(10, HOUR).withName(named)));
    assertThat(override.change(renamed, Map.of(named, "code")).rules())
        .extracting(Rule::count)
        .containsExactly(5L);
  }
}
