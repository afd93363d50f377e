// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.StatedCallers;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who is counted: each sort of subject by itself. */
class SubjectsTest extends WithAndWithoutGate {

  SubjectsTest() {
    super(SubjectRoutes.SPEC, Map.of("test.stated-callers", true, "test.region", "eu-"));
  }

  @ParameterizedTest
  @CsvSource({
    "ip, X-Address, 192.0.2.8, 192.0.2.9",
    "user, X-User, ada, bob",
    "header, X-Api-Key, k-1, k-2",
    "resolver, X-Tenant, acme, apex",
    "resolver-mono, X-Tenant, acme, apex",
    "resolver-flux, X-Tenant, acme, apex"
  })
  void eachSubjectOfARequestHasItsOwnLimit(String route, String header, String one, String other) {
    assertTwoAdmitted(route, header, one);
    assertTwoAdmitted(route, header, other);
    assertThat(call(route, header, one)).isEqualTo(429);
    assertThat(server.keys().all()).hasSize(2);
  }

  @Test
  void eachArgumentHasItsOwnLimit() {
    assertTwoAdmitted("argument?who=ada");
    assertTwoAdmitted("argument?who=bob");
    assertThat(call("argument?who=ada")).isEqualTo(429);
  }

  @Test
  void everybodyHasOneLimit() {
    assertThat(call("global", "X-User", "ada", "X-Address", "192.0.2.8")).isEqualTo(200);
    assertThat(call("global", "X-User", "bob", "X-Address", "192.0.2.9")).isEqualTo(200);

    assertThat(call("global", "X-User", "eve", "X-Address", "192.0.2.10")).isEqualTo(429);
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void anAddressMattersOnlyWhereItIsCounted() {
    assertTwoAdmitted("user", "X-User", "ada", "X-Address", "192.0.2.8");

    assertThat(call("user", "X-User", "ada", "X-Address", "192.0.2.9")).isEqualTo(429);
  }

  @Test
  void theNameOfAHeaderHasNoCaseAndItsValueHas() {
    assertTwoAdmitted("header", "x-api-KEY", "abc");

    assertThat(call("header", "X-Api-Key", "abc")).isEqualTo(429);
    assertThat(call("header", "X-Api-Key", "ABC")).isEqualTo(200);
  }

  @Test
  void theFirstOfTwoHeaderLinesCounts() {
    assertTwoAdmitted("header", "X-Api-Key", "a", "X-Api-Key", "b");

    assertThat(call("header", "X-Api-Key", "a")).isEqualTo(429);
    assertThat(call("header", "X-Api-Key", "b")).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"resolver", "resolver-mono", "resolver-flux"})
  void aResolverThatFailsFailsTheCallBeforeAnythingIsCounted(String route) {
    assertThat(call(route, "X-Tenant", "broken")).isEqualTo(500);

    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void callsWithoutAResolvedSubjectAreCountedByAddress() {
    assertThat(call("resolver", "X-Address", "192.0.2.8")).isEqualTo(200);
    assertThat(call("resolver", "X-Address", "192.0.2.8", "X-Tenant", "empty")).isEqualTo(200);

    assertThat(call("resolver", "X-Address", "192.0.2.8")).isEqualTo(429);
    assertThat(call("resolver", "X-Address", "192.0.2.9")).isEqualTo(200);
    assertThat(call("resolver", "X-Address", "192.0.2.8", "X-Tenant", "acme")).isEqualTo(200);
  }

  @Test
  void aRuleMayHaveItsOwnSubject() {
    assertTwoAdmitted("several", "X-User", "ada", "X-Api-Key", "k-1");
    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-1")).isEqualTo(200);
    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-1")).as("the key").isEqualTo(429);
    assertThat(call("several", "X-User", "ada", "X-Api-Key", "k-2")).as("the user").isEqualTo(429);

    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-2")).isEqualTo(200);
    assertThat(call("several", "X-User", "eve", "X-Api-Key", "k-2")).isEqualTo(200);
    assertThat(call("several", "X-User", "dan", "X-Api-Key", "k-3")).as("all").isEqualTo(429);
  }

  @Test
  void equalValuesOfTwoExpressionsAreTwoSubjects() {
    assertTwoAdmitted("transfer?from=a&to=a");

    assertThat(call("transfer?from=a&to=b")).as("a has sent twice").isEqualTo(429);
    assertThat(call("transfer?from=b&to=a")).as("a has received twice").isEqualTo(429);
    assertTwoAdmitted("transfer?from=b&to=c");
    assertThat(call("transfer?from=c&to=b")).isEqualTo(200);
  }

  @Test
  void anExpressionMayAskABean() {
    assertThat(call("by-bean?who=smith.ada")).isEqualTo(200);
    assertThat(call("by-bean?who=smith.bob")).isEqualTo(200);

    assertThat(call("by-bean?who=smith.eve")).isEqualTo(429);
    assertThat(call("by-bean?who=jones.eve")).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-bean", "by-bean?who=.x"})
  void aBeanWithoutASubjectMakesABadRequest(String call) {
    assertThat(call(call)).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aBeanThatFailsIsNoFaultOfTheCaller() {
    assertThat(call("by-bean?who=stranger")).isEqualTo(500);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void anExpressionMayReadAProperty() {
    assertTwoAdmitted("by-property?who=ada");
    assertTwoAdmitted("by-property?who=bob");
    assertThat(server.keys().all()).hasSize(2);
  }

  @Test
  void theDefaultSubjectIsTheAddress() {
    assertTwoAdmitted("ip");

    assertThat(call("ip", "X-Address", StatedCallers.DEFAULT_ADDRESS)).isEqualTo(429);
  }

  private void assertTwoAdmitted(String route, String... headers) {
    assertThat(call(route, headers)).isEqualTo(200);
    assertThat(call(route, headers)).isEqualTo(200);
    assertThat(call(route, headers)).isEqualTo(429);
  }

  private int call(String route, String... headers) {
    return server.get("/subjects/" + route, headers).statusCode();
  }
}
