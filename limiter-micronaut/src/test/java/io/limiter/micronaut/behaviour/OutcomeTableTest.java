// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.behaviour.OutcomeTableRoutes.Kind;
import io.limiter.micronaut.behaviour.OutcomeTableRoutes.Way;
import io.limiter.micronaut.testing.StatedCallers;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The outcome of a call is what its client got: each kind of route, each way to end. */
@Tag("matrix")
class OutcomeTableTest extends WithAndWithoutGate {

  private static final int RULE = 100;

  OutcomeTableTest() {
    super(OutcomeTableRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  static Stream<Arguments> table() {
    return Arrays.stream(Kind.values())
        .flatMap(
            kind ->
                Arrays.stream(Way.values())
                    .filter(way -> kind.responds || way != Way.RETURNED_401)
                    .filter(way -> kind.isBean() || way != Way.UNENCODABLE)
                    .map(way -> arguments(kind, way)));
  }

  @ParameterizedTest
  @MethodSource("table")
  void whereStatusesAreListedTheyAloneDecide(Kind kind, Way way) {
    Seen seen = seen("listed", kind, way.name());

    assertThat(seen.failures).as("failures of %s", seen).isEqualTo(seen.status == 401 ? 1 : 0);
    assertThat(seen.successes).as("successes of %s", seen).isEqualTo(seen.status == 401 ? 0 : 1);
    assertThat(seen.released).as("released by %s", seen).isEqualTo(seen.status == 401);
  }

  @ParameterizedTest
  @MethodSource("table")
  void whereNoneAreListedExceptionsAndErrorsFail(Kind kind, Way way) {
    Seen seen = seen("usual", kind, way.name());

    boolean failed = seen.status >= 400;
    assertThat(failed || !way.fails()).as("%s", seen).isTrue();
    assertThat(seen.failures).as("failures of %s", seen).isEqualTo(failed ? 1 : 0);
    assertThat(seen.successes).as("successes of %s", seen).isEqualTo(failed ? 0 : 1);
    assertThat(seen.released)
        .as("released by %s", seen)
        .isEqualTo(seen.status >= 500 || way.fails());
  }

  /** Also an error that the server makes of it when all filters have run. */
  @ParameterizedTest
  @MethodSource("table")
  void everyAnswerStatesItsLimitsOnce(Kind kind, Way way) {
    HttpResponse<String> answer =
        server.get("/table/usual/" + kind.path() + "?way=" + way, StatedCallers.ADDRESS, caller);

    // The server makes its own response to such a stream, and nothing is asked about it.
    boolean unseen = kind.streams && way.name().startsWith("STATUS_EXCEPTION");
    assertThat(answer.headers().allValues("RateLimit")).hasSize(unseen ? 0 : 1);
    if (!unseen) {
      assertThat(field(answer, "RateLimit")).containsOnlyOnce("failures");
    }
  }

  @ParameterizedTest
  @MethodSource("table")
  void whereNothingReleasesEverySubmissionThatWasEnteredIsKept(Kind kind, Way way) {
    Seen seen = seen("kept", kind, way.name());
    assertThat(seen.released).as("released by %s", seen).isFalse();
  }

  /** It cannot be bound, so the method is not entered, and only a gate has decided before. */
  @ParameterizedTest
  @EnumSource
  void aCallThatIsNotEnteredLeavesNoSubmission(Kind kind) {
    for (String routes : new String[] {"listed", "usual", "kept"}) {
      Seen seen = seen(routes, kind, "none-of-them");

      assertThat(seen.status).isEqualTo(400);
      assertThat(seen.released).as("released by %s", seen).isTrue();
      boolean failed = gate && !routes.equals("listed");
      assertThat(seen.failures).as("failures of %s", seen).isEqualTo(failed ? 1 : 0);
      assertThat(seen.successes).as("successes of %s", seen).isEqualTo(gate && !failed ? 1 : 0);
    }
  }

  private Seen seen(String routes, Kind kind, String way) {
    return Seen.of(
        server,
        "/table/" + routes + "/" + kind.path() + "?way=",
        way,
        StatedCallers.ADDRESS,
        caller);
  }

  /** What the client of a call saw, and what the next call of the same caller finds. */
  record Seen(int status, long failures, long successes, boolean released) {

    /**
     * Calls twice, the second time without {@linkplain FilteredOutcomesTest filters}.
     *
     * @param headers of both calls; the first two state the caller
     */
    static Seen of(TestServer server, String path, String way, String... headers) {
      HttpResponse<String> first = server.get(path + way, headers);
      HttpResponse<String> next = server.get(path + Way.OK, Arrays.copyOf(headers, 2));
      boolean released = next.statusCode() != 409;
      assertThat(next.statusCode()).isIn(200, 201, 202, 409);
      int own = released ? 1 : 0; // a duplicate takes nothing
      return new Seen(
          first.statusCode(),
          RULE - own - remaining(next, "failures"),
          RULE - own - remaining(next, "successes"),
          released);
    }
  }

  private static long remaining(HttpResponse<String> answer, String rule) {
    Matcher found = Pattern.compile('"' + rule + "\";r=(\\d+)").matcher(field(answer, "RateLimit"));
    assertThat(found.find()).isTrue();
    return Long.parseLong(found.group(1));
  }
}
