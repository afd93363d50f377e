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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
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
            "Too many commands wait for a reply from Redis at db:6379"),
        arguments(
            new RedisException("Internal stack size exceeded: 4096. Commands are not accepted"),
            FailureReason.OVERLOADED,
            "Too many commands wait for a reply from Redis at db:6379"),
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

  /** Replies, where they come from, and how they are explained. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        // Redis 6.2, server.c and scripting.c; Redis 5 lacks the quotes
        "NOPERM this user has no permissions to run the 'select' command or its subcommand | NOPERM (its user may not run select: allow it in the rules of the user)",
        "NOPERM this user has no permissions to access one of the keys used as arguments | NOPERM (its user may not use the keys of the limiter: allow those with limiter.redis.key-prefix)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand | ERR (its user may not run a command of the script: allow all commands of the documented rule)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: The user executing the script can't access at least one of the keys mentioned in the command arguments | ERR (its user may not use the keys of the limiter: allow those with limiter.redis.key-prefix)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: Unknown Redis command called from Lua script | ERR (it does not have a command that the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: This Redis command is not allowed from scripts | ERR (in scripts it forbids a command that the limiter needs, such as TIME: use a server that allows it)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: Write commands not allowed after non deterministic commands. Call redis.replicate_commands() | ERR (it replicates scripts verbatim: use version 6.2 or later)",
        "ERR unknown command `EVALSHA`, with args beginning with: `4a`, `1`, `key`,  | ERR (it does not have EVALSHA, which the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        "ERR Error running script (call to f_4a): @user_script:1: @user_script: 1: Lua script attempted to access a non local key in a cluster node | ERR (it divides keys by slots, as a Redis Cluster does: name the nodes in redis.uris, or set limiter.redis.slots to proxy)",
        // Redis 7.2, acl.c, script.c and server.c; the same in 8 and in Valkey 8
        "NOPERM User shop has no permissions to run the 'evalsha' command | NOPERM (its user may not run evalsha: allow it in the rules of the user)",
        "NOPERM No permissions to access a key | NOPERM (its user may not use the keys of the limiter: allow those with limiter.redis.key-prefix)",
        "ERR ACL failure in script: User shop has no permissions to run the 'time' command script: 4a, on @user_script:1. | ERR (its user may not run time: allow it in the rules of the user)",
        "ERR Unknown Redis command called from script script: 4a, on @user_script:1. | ERR (it does not have a command that the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        "ERR unknown command 'EVALSHA', with args beginning with: '4a' '1' 'key'  | ERR (it does not have EVALSHA, which the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        "ERR Script attempted to access keys that do not hash to the same slot script: 4a, on @user_script:1. | ERR (it divides keys by slots, as a Redis Cluster does: name the nodes in redis.uris, or set limiter.redis.slots to proxy)",
        "ERR Script attempted to access a slot not served script: 4a, on @user_script:1. | ERR (it divides keys by slots, as a Redis Cluster does: name the nodes in redis.uris, or set limiter.redis.slots to proxy)",
        "CROSSSLOT Keys in request don't hash to the same slot | CROSSSLOT (it divides keys by slots, as a Redis Cluster does: name the nodes in redis.uris, or set limiter.redis.slots to proxy)",
        "MOVED 866 10.0.0.3:6379 | MOVED (it is one node of a Redis Cluster: name the nodes in redis.uris instead of redis.uri)",
        "ERR DB index is out of range | ERR (it has no database with the number in the address: correct the number)",
        "ERR SELECT is not allowed in cluster mode | ERR (it has no database with the number in the address: correct the number)",
        "ERR max number of clients reached | ERR (it accepts no more clients: increase its maxclients, or decrease limiter.redis.max-connections)",
        "ERR max number of clients + cluster connections reached | ERR (it accepts no more clients: increase its maxclients, or decrease limiter.redis.max-connections)",
        "DENIED Redis is running in protected mode because protected mode is enabled | DENIED (it accepts only local clients: set a password, or turn off its protected mode)",
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct? | ERR (it has no password, and the address has one: remove it from the address)",
        // Valkey 8 and 9, networking.c and eval.c
        "DENIED Running in protected mode because protected mode is enabled | DENIED (it accepts only local clients: set a password, or turn off its protected mode)",
        "ERR Could not find scripting engine 'lua' | ERR (it cannot run Lua: load its Lua module)",
        // Envoy, command_splitter_impl.h, and its issue 17571
        "unsupported command 'HELLO' | (it does not have HELLO, which the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        "no upstream host | (it is a proxy that does not reach Redis: check the proxy)",
        "upstream failure | (it is a proxy that does not reach Redis: check the proxy)",
        "upstream protocol error | (it is a proxy that does not reach Redis: check the proxy)",
        // Twemproxy, nc_redis.c, and nc_message.c with the text of strerror
        "ERR invalid password | ERR (its password differs from the one in the address: correct the address)",
        "ERR Client sent AUTH, but no password is set | ERR (it has no password, and the address has one: remove it from the address)",
        "ERR Connection refused | ERR (it is a proxy that does not reach Redis: check the proxy)",
        "ERR Connection timed out | ERR (it is a proxy that does not reach Redis: check the proxy)",
        // ElastiCache Serverless: issue 154 of aspnetcore-redis-rate-limiting, issue 6463 of
        // Redisson
        "ERR This Redis command is not allowed from script script: 4a, on @user_script:13. | ERR (in scripts it forbids a command that the limiter needs, such as TIME: use a server that allows it)",
        "ERR Script attempted to access keys that do not hash to the same slot script | ERR (it divides keys by slots, as a Redis Cluster does: name the nodes in redis.uris, or set limiter.redis.slots to proxy)",
        // A hosted Redis without scripts: issue 4389 of Redisson
        "ERR command eval not support for your account | ERR (it does not have a command that the limiter needs: use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://)",
        // Codes that say enough, in all of them
        "OOM command not allowed when used memory > 'maxmemory'. | OOM",
        "READONLY You can't write against a read only replica. | READONLY",
        "NOREPLICAS Not enough good replicas to write. | NOREPLICAS",
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. | MISCONF",
        "CLUSTERDOWN The cluster is down | CLUSTERDOWN",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'. | MASTERDOWN",
        "NOAUTH HELLO must be called with the client already authenticated | NOAUTH",
        "WRONGPASS invalid username-password pair or user is disabled. | WRONGPASS",
      })
  void everyReplyHasItsMeaningAndItsRemedy(String reply, String meaning) {
    StoreException translated =
        RedisFailures.translate(new RedisCommandExecutionException(reply), "Redis at db:6379");

    assertThat(translated.reason()).isEqualTo(FailureReason.ERROR);
    assertThat(translated).hasMessage("Redis at db:6379 answered with the error " + meaning);
  }

  @Test
  void everyMeaningIsInTheDocumentation() throws IOException {
    String page = Files.readString(Path.of("../docs/internals/faults.md")).replaceAll("\\s+", " ");

    assertThat(RedisFailures.Meaning.ALL)
        .allSatisfy(
            meaning ->
                assertThat(page)
                    .contains(meaning.reason().replace("%s", "…"))
                    .contains(meaning.remedy()));
  }

  @Test
  void aFailureOfTheStoreStaysAsItIs() {
    StoreException known = new StoreException(FailureReason.TIMEOUT, "too late", null);

    assertThat(RedisFailures.translate(known, "Redis at db:6379")).isSameAs(known);
  }
}
