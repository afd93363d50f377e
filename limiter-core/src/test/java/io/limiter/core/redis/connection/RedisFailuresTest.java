// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.lettuce.core.RedisBusyException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisLoadingException;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.io.IOException;
import java.net.SocketException;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisFailuresTest {

  private static final String DISCONNECTED = "Redis at db:6379 is not connected";

  static Stream<Arguments> failures() {
    return Stream.of(
        arguments(
            new RedisCommandExecutionException("OOM command not allowed"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error OOM"),
        arguments(
            new RedisCommandExecutionException(
                "ERR unknown command 'EVALSHA', with args beginning with: '4a' '1' 'key'"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (it does not have a command that the limiter needs)"),
        arguments(
            new RedisCommandExecutionException(
                "ERR Unknown Redis command called from script script: 4a, on @user_script:1."),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (it does not have a command that the limiter needs)"),
        arguments(
            new RedisCommandExecutionException(
                "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: Unknown Redis command called from Lua script"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (it does not have a command that the limiter needs)"),
        arguments(
            new RedisCommandExecutionException("MOVED 866 10.0.0.3:6379"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error MOVED (it is one node of a Redis Cluster: name the nodes in redis.uris instead of redis.uri)"),
        arguments(
            new RedisCommandExecutionException(
                "NOPERM User shop has no permissions to run the 'evalsha' command"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error NOPERM (its user may not run evalsha)"),
        arguments(
            new RedisCommandExecutionException(
                "NOPERM this user has no permissions to run the 'select' command or its subcommand"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error NOPERM (its user may not run select)"),
        arguments(
            new RedisCommandExecutionException(
                "ERR ACL failure in script: User shop has no permissions to run the 'time' command script: 4a, on @user_script:1."),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (its user may not run time)"),
        arguments(
            new RedisCommandExecutionException("ERR DB index is out of range"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (it has no database of the number in the address)"),
        arguments(
            new RedisCommandExecutionException("ERR SELECT is not allowed in cluster mode"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error ERR (it has no database of the number in the address)"),
        arguments(
            new RedisBusyException("BUSY Redis is busy running a script."),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error BUSY"),
        arguments(
            new RedisLoadingException("LOADING Redis is loading the dataset"),
            FailureReason.ERROR,
            "Redis at db:6379 answered with the error LOADING"),
        arguments(
            new RedisException("Request queue size exceeded: 4096. Commands are not accepted"),
            FailureReason.OVERLOADED,
            "Too many commands wait for Redis at db:6379 to answer"),
        arguments(
            new RedisException("Internal stack size exceeded: 4096. Commands are not accepted"),
            FailureReason.OVERLOADED,
            "Too many commands wait for Redis at db:6379 to answer"),
        arguments(
            new RedisException("Connection disconnected"),
            FailureReason.DISCONNECTED,
            DISCONNECTED),
        arguments(
            new RedisConnectionException("Unable to connect to redis:6379"),
            FailureReason.DISCONNECTED,
            DISCONNECTED),
        arguments(
            new SocketException("Connection reset"), FailureReason.DISCONNECTED, DISCONNECTED),
        arguments(new IOException("Broken pipe"), FailureReason.DISCONNECTED, DISCONNECTED),
        arguments(new CancellationException(), FailureReason.DISCONNECTED, DISCONNECTED),
        arguments(
            new IllegalStateException("?"),
            FailureReason.ERROR,
            "Redis at db:6379 could not be called"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void everyFailureHasItsReason(Exception failure, FailureReason reason, String message) {
    StoreException translated = RedisFailures.translate(failure, "Redis at db:6379");

    assertThat(translated.reason()).isEqualTo(reason);
    assertThat(translated).hasMessage(message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "WRONGTYPE key limiter:{abc}:r holds 555-1234",
        "ERR limiter:{abc}:r 555-1234",
        "ERR\tlimiter:{abc}:r 555-1234",
        "ERR\r\nlimiter:{abc}:r 555-1234",
        "limiter:{abc}:r,555-1234,s3cret",
        "",
      })
  void textQuotedInAnErrorReplyIsNotPassedOn(String reply) {
    StoreException translated =
        RedisFailures.translate(new RedisCommandExecutionException(reply), "Redis at db:6379");

    assertThat(translated.getMessage())
        .startsWith("Redis at db:6379 answered with the error")
        .doesNotContain("limiter:", "555-1234", "s3cret", "\r", "\n");
    assertThat(translated).hasNoCause();
  }

  @Test
  void aFailureOfTheStoreStaysAsItIs() {
    StoreException known = new StoreException(FailureReason.TIMEOUT, "too late", null);

    assertThat(RedisFailures.translate(known, "Redis at db:6379")).isSameAs(known);
  }
}
