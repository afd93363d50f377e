// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.RedisProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the Redis user needs in addition for overrides, as the page on operations has it. */
class OverridesPrivilegeTest {

  private static final Path DOCS = Path.of("..", "docs");
  private static final String USER = "ACL SETUSER limiter ";
  private static final Pattern ADDED =
      Pattern.compile("The Redis user also needs\\s+`(\\+hgetall [^`]*)`");
  private static final Pattern CALL = Pattern.compile("redis\\.call\\('([A-Z]+)'");
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static List<String> added() throws IOException {
    Matcher found = ADDED.matcher(Files.readString(DOCS.resolve("operations.md")));
    assertThat(found.find()).isTrue();
    return List.of(found.group(1).split(" "));
  }

  private static Stream<String> documented() throws IOException {
    String first =
        Files.readAllLines(DOCS.resolve("security.md")).stream()
            .filter(line -> line.startsWith(USER))
            .findFirst()
            .orElseThrow();
    return Arrays.stream(first.substring(USER.length()).split(" "));
  }

  @Test
  void theScriptRunsTheseCommandsAlone() throws IOException {
    try (var source =
        Objects.requireNonNull(RedisOverrides.class.getResourceAsStream("overrides.lua"))) {
      String script = new String(source.readAllBytes(), StandardCharsets.UTF_8);
      Set<String> run =
          CALL.matcher(script)
              .results()
              .map(call -> "+" + call.group(1).toLowerCase(Locale.ROOT))
              .collect(Collectors.toCollection(TreeSet::new));
      assertThat(run).containsAll(added()).isSubsetOf(all());
      assertThat(script).doesNotContain("redis.pcall", "cjson", "cmsgpack", "load");
    }
  }

  private static List<String> all() throws IOException {
    return Stream.concat(documented(), added().stream()).toList();
  }

  @Test
  void thatIsEnough() throws IOException {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      RedisClient admin = RedisClient.create(redis.uri());
      CommandArgs<String, String> user = new CommandArgs<>(StringCodec.UTF8);
      user.add("SETUSER").add("limiter");
      all().forEach(user::add);
      admin.connect().sync().dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), user);
      RedisURI uri =
          RedisURI.builder(RedisURI.create(redis.uri()))
              .withAuthentication("limiter", "a-long-password".toCharArray())
              .build();
      RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, PATIENCE);
      SharedConnection connection = SharedConnection.open(uri, settings);
      await().atMost(PATIENCE).until(() -> connection.firstAttempt().toCompletableFuture().join());
      try (RedisStore store = new RedisStore(connection, settings)) {
        OverrideTable<SubjectOverride> table =
            new RedisOverrides<>(store.scripts(), "overrides", "overrides", SubjectOverride::of);
        SubjectOverride one =
            new SubjectOverride("tag", "search", Map.of("x", 2L), Duration.ofHours(1));
        assertThat(table.put(one)).succeedsWithin(PATIENCE).asList().hasSize(1);
        assertThat(table.all()).succeedsWithin(PATIENCE).asList().hasSize(1);
        assertThat(table.remove("tag")).succeedsWithin(PATIENCE).asList().isEmpty();
        assertThat(admin.connect().sync().aclLog()).isEmpty();
      } finally {
        admin.shutdown();
      }
    }
  }
}
