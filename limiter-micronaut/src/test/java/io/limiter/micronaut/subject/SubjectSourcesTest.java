// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.testing.FakeRequest;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Subjects of headers, resolvers and logins, anonymous subjects, and that no subject can be forged.
 */
class SubjectSourcesTest {

  private static final String ADDRESS = "192.0.2.7";

  private final RequestSubjects subjects =
      new RequestSubjects(
          request -> ADDRESS,
          new AddressConfiguration(List.of(), ForwardedHeader.FORWARDED_FOR, 64));

  private static SubjectSource header(String name) {
    return new SubjectSource.Header(name, false, Anonymous.ADDRESS);
  }

  private static SubjectSource user(Anonymous anonymous) {
    return new SubjectSource.User(anonymous);
  }

  private static SubjectSource resolver(Class<? extends SubjectResolver> type, String value) {
    SubjectResolver bean = request -> Optional.ofNullable(value);
    return new SubjectSource.Resolver(type, Anonymous.ADDRESS, () -> bean);
  }

  @Test
  void oneValueInTwoHeadersIsTwoSubjects() {
    FakeRequest both = new FakeRequest().header("X-Key", "a").header("X-Tenant", "a");

    assertDifferent(counted(header("x-key"), both), counted(header("x-tenant"), both));
  }

  @Test
  void anAddressIsAnotherSubjectForEachSourceOfIt() {
    FakeRequest stranger = new FakeRequest();

    assertDifferent(
        counted(new SubjectSource.Address(), stranger),
        counted(user(Anonymous.ADDRESS), stranger),
        counted(header("x-key"), stranger),
        counted(header("x-tenant"), stranger),
        counted(new SubjectSource.Header("x-key", true, Anonymous.ADDRESS), stranger),
        counted(resolver(One.class, null), stranger),
        counted(resolver(Other.class, null), stranger),
        counted(user(Anonymous.ADDRESS), new FakeRequest().user(ADDRESS)),
        counted(header("x-key"), new FakeRequest().header("x-key", ADDRESS)));
  }

  @Test
  void onlyCallsWithoutASubjectAreAnonymous() {
    FakeRequest stranger = new FakeRequest();

    assertThat(counted(user(Anonymous.ADDRESS), stranger).isAnonymous()).isTrue();
    assertThat(counted(header("x-key"), stranger).isAnonymous()).isTrue();
    assertThat(counted(resolver(One.class, null), stranger).isAnonymous()).isTrue();
    assertThat(counted(new SubjectSource.Address(), stranger).isAnonymous()).isFalse();
    assertThat(counted(new SubjectSource.Everybody(), stranger).isAnonymous()).isFalse();
    assertThat(counted(user(Anonymous.ADDRESS), new FakeRequest().user("ada")).isAnonymous())
        .isFalse();
    assertThat(counted(resolver(One.class, "a"), stranger).isAnonymous()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\t"})
  void anEmptyValueHasNoSubject(String empty) {
    FakeRequest request = new FakeRequest().header("X-Key", empty).user(empty.strip());

    assertThat(counted(header("x-key"), request).isAnonymous()).isTrue();
    assertThat(counted(resolver(One.class, empty), request).isAnonymous()).isTrue();
    assertThat(counted(user(Anonymous.ADDRESS), request).isAnonymous()).isTrue();
  }

  @Test
  void aSubmitterIsTheUserElseTheAddressAndNeverDenied() {
    assertThat(counted(new SubjectSource.Submitter(), new FakeRequest().user("ada")))
        .isEqualTo(counted(user(Anonymous.REJECT), new FakeRequest().user("ada")));
    assertThat(counted(new SubjectSource.Submitter(), new FakeRequest()))
        .isEqualTo(counted(user(Anonymous.ADDRESS), new FakeRequest()));
  }

  /** What would be somebody else's subject, if values were just put together. */
  static Stream<String> forgeries() {
    return Stream.of(
        "a",
        "a\n",
        "\na",
        "a\nb",
        "a\r\nX-Tenant: a",
        "x-key\na",
        "x-tenant\na",
        "key\na",
        "header x-key\n" + ADDRESS,
        "user\n" + ADDRESS,
        One.class.getName() + "\na",
        "a\0",
        "a".repeat(1 << 20),
        "a".repeat(1 << 20) + "\n");
  }

  @ParameterizedTest
  @MethodSource("forgeries")
  void noValueMakesOneSubjectLookLikeAnother(String value) {
    FakeRequest forged =
        new FakeRequest().header("X-Key", value).header("X-Tenant", value).user(value);

    assertDifferent(
        counted(new SubjectSource.Address(), forged),
        counted(user(Anonymous.ADDRESS), forged),
        counted(user(Anonymous.ADDRESS), new FakeRequest()),
        counted(header("x-key"), forged),
        counted(header("x-key"), new FakeRequest()),
        counted(header("x-tenant"), forged),
        counted(header("x"), new FakeRequest().header("x", "key\n" + value)),
        counted(resolver(One.class, value), forged),
        counted(resolver(Other.class, value), forged),
        counted(new SubjectSource.Everybody(), forged));
  }

  @Test
  void twoValuesAreNeverOneSubject() {
    assertDifferent(
        forgeries()
            .map(value -> counted(header("x-key"), new FakeRequest().header("X-Key", value)))
            .toArray(Subject[]::new));
  }

  private Subject counted(SubjectSource source, HttpRequest<?> request) {
    return subjects.resolve(source, request);
  }

  /** Different subjects have different keys of one length, without any of their text. */
  private static void assertDifferent(Subject... all) {
    List<StateKey> keys = Stream.of(all).map(each -> StateKey.of("limit", each)).toList();
    assertThat(keys).doesNotHaveDuplicates();
    assertThat(keys).extracting(key -> key.tag().length()).containsOnly(22);
  }

  interface One extends SubjectResolver {}

  interface Other extends SubjectResolver {}
}
