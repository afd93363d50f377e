// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.exception.InvalidCallException.InvalidSubmissionException;
import io.micronaut.context.ApplicationContext;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.type.Argument;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values of any depth have a text, or are reported as too deep: never a StackOverflowError. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubmissionDigestTest {

  /** Of a thread that has little. */
  private static final long STACK = 256 * 1_024;

  private ApplicationContext context;
  private SubmissionDigest digest;

  @BeforeAll
  void start() {
    context = ApplicationContext.run();
    digest = new SubmissionDigest(context.getBean(JsonMapper.class));
    assertThat(digest(Map.of("b", 1, "a", List.of(true)))).isEqualTo("{1:a[t]1:b#1,}\n");
  }

  @AfterAll
  void stop() {
    context.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 100, 300, 1_000, 3_000, 100_000})
  void whateverAMapperCannotWriteIsReportedAsTooDeep(int depth) throws Exception {
    Object maps = Map.of();
    Object lists = List.of();
    JsonNode tree = JsonNode.nullNode();
    @Nullable Deep beans = null;
    for (int i = 0; i < depth; i++) {
      maps = Map.of("a", maps);
      lists = List.of(lists);
      tree = JsonNode.createObjectNode(Map.of("a", tree));
      beans = new Deep(beans);
    }
    for (Object value : new Object[] {maps, lists, tree, beans}) {
      Object outcome = digestOnSmallStack(value);

      if (!(outcome instanceof String)) {
        assertThat(depth).isGreaterThan(100);
        assertThat(outcome).isInstanceOf(InvalidSubmissionException.class);
        assertThat(((Throwable) outcome).getStackTrace()).isEmpty();
        assertThat(((Throwable) outcome).getCause()).isNull();
      }
    }
  }

  /** That is no caller's doing. */
  @Test
  void aBeanThatContainsItselfIsTheApplicationsMistake() {
    Circle circle = new Circle();

    assertThatThrownBy(() -> digest(circle))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("cannot be written as JSON");
  }

  /** The text, or what was thrown. */
  private Object digestOnSmallStack(Object value) throws InterruptedException {
    AtomicReference<Object> outcome = new AtomicReference<>();
    Thread thread =
        new Thread(
            null,
            () -> {
              try {
                outcome.set(digest(value));
              } catch (Throwable thrown) {
                outcome.set(thrown);
              }
            },
            "small",
            STACK);
    thread.start();
    thread.join();
    return outcome.get();
  }

  private String digest(Object value) {
    List<Argument<?>> arguments = new ArrayList<>(List.of(Argument.of(Object.class, "order")));
    return digest.of(
        "Orders.place(Object)",
        arguments.toArray(new Argument<?>[0]),
        new Object[] {value},
        List.of(0));
  }

  @Introspected
  record Deep(@Nullable Deep a) {}

  @Introspected
  static class Circle {
    public Circle getOwn() {
      return this;
    }
  }
}
