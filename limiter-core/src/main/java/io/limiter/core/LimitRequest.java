// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One call, to be decided as a whole: nothing is taken from any key unless all rules of all keys
 * admit it.
 *
 * @param policy whose rules they are
 * @param charges what the call takes from the keys of its subjects, in the order in which rules are
 *     reported
 * @param duplicate what it takes from the duplicate guard
 */
public record LimitRequest(Policy policy, List<Charge> charges, Optional<Charge> duplicate) {

  public LimitRequest {
    charges = List.copyOf(charges);
    if (charges.isEmpty() && duplicate.isEmpty()) {
      throw new IllegalArgumentException(
          "A request under the policy '%s' charges nothing".formatted(policy.name()));
    }
    for (int i = 0; i < charges.size(); i++) {
      for (int j = i + 1; j < charges.size(); j++) {
        requireDifferent(policy, charges.get(i), charges.get(j));
      }
      if (duplicate.isPresent()) {
        requireDifferent(policy, charges.get(i), duplicate.get());
      }
    }
  }

  /** Two charges of one key would each be decided as if the other took nothing. */
  private static void requireDifferent(Policy policy, Charge one, Charge other) {
    if (one.key().equals(other.key())) {
      throw new IllegalArgumentException(
          "A request under the policy '%s' charges one key twice: put the rules of one subject into one stack"
              .formatted(policy.name()));
    }
  }

  /**
   * A call by this subject that costs one unit; with a duplicate guard, any call of the subject is
   * the same submission.
   */
  public static LimitRequest of(Policy policy, Subject subject) {
    return of(policy, subject, Optional.empty());
  }

  /**
   * A call by this subject that costs one unit.
   *
   * @param submission what makes a submission the same one; empty if any call of the subject is
   */
  public static LimitRequest of(Policy policy, Subject subject, Optional<String> submission) {
    Key key = Key.of(policy.limit(), subject);
    List<Charge> charges =
        policy.rules().map(stack -> List.of(new Charge(key, stack, 1))).orElse(List.of());
    Optional<Charge> duplicate =
        policy
            .duplicates()
            .map(
                stack ->
                    new Charge(
                        submission.map(key::duplicates).orElseGet(key::duplicates), stack, 1));
    return new LimitRequest(policy, charges, duplicate);
  }

  /**
   * The same call as a submission of its own: the duplicate guard counts it by this subject, which
   * may be another than the rules', and by what it says.
   */
  public LimitRequest submitted(Subject submitter, String submission) {
    Key key = Key.of(policy.limit(), submitter).duplicates(submission);
    return new LimitRequest(
        policy, charges, duplicate.map(charge -> new Charge(key, charge.stack(), charge.cost())));
  }

  /** The same call at another cost. A submission counts once, whatever it costs. */
  public LimitRequest withCost(int cost) {
    List<Charge> priced =
        charges.stream().map(charge -> new Charge(charge.key(), charge.stack(), cost)).toList();
    return new LimitRequest(policy, priced, duplicate);
  }

  /** The number of all charges, that of the duplicate guard among them. */
  public int size() {
    return charges.size() + (duplicate.isPresent() ? 1 : 0);
  }

  /** One of {@link #allCharges()}, without making the list. */
  public Charge charge(int index) {
    return index < charges.size() ? charges.get(index) : duplicate.orElseThrow();
  }

  /** All charges, that of the duplicate guard last. */
  public List<Charge> allCharges() {
    if (duplicate.isEmpty()) {
      return charges;
    }
    List<Charge> all = new ArrayList<>(charges.size() + 1);
    all.addAll(charges);
    all.add(duplicate.get());
    return all;
  }
}
