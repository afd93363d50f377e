// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.check;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.util.List;

/** The commands that the limiter and Lettuce send, and those that run in scripts, one by one. */
final class SentCommands {

  private static final String OF_KEYS = "redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2)) return 1";
  private static final String TIME = "redis.call('TIME') return 1";
  private static final String STRUCT = "return struct.unpack('>I4', struct.pack('>I4', 1))";

  private static final String NO_DECISION = "no decision: permit it in scripts";
  private static final String NO_HASHES =
      "no overrides and no shared settings; all else works without it";

  private final RedisCommands<String, String> commands;
  private final String key;
  private boolean evalWorks;
  private boolean cluster;

  /**
   * @param key the name of a key that may be written
   */
  SentCommands(RedisCommands<String, String> commands, String key) {
    this.commands = commands;
    this.key = key;
  }

  /** Whether the server has named the nodes of a Redis Cluster. */
  boolean isCluster() {
    return cluster;
  }

  Steps send() {
    Steps steps = new Steps("Commands");
    steps.optional("HELLO 3", "RESP2 is used", this::hello);
    steps.optional(
        "CLIENT SETINFO",
        "an entry in ACL LOG for each connection, if the server has the command",
        () -> commands.clientSetinfo("LIB-NAME", "Lettuce").length());
    steps.optional(
        "INFO",
        "no warnings about an old version or eviction at the start",
        () -> commands.info("server").length() + commands.info("memory").length());
    steps.optional(
        "SCRIPT LOAD",
        "each script is sent as text, once after each start of the server",
        () -> commands.scriptLoad(TIME).length());
    steps.needed("EVALSHA", "no decision: permit it", this::evalsha);
    evalWorks =
        steps.optional(
            "EVAL",
            "after SCRIPT FLUSH no decision until a reconnection; no resets, overrides, shared settings, answers for repeated submissions",
            () -> commands.<Long>eval("return 1", ScriptOutputType.INTEGER));
    cluster =
        steps.optional(
            "CLUSTER NODES",
            "redis.uri only; a Cluster needs it",
            () -> commands.clusterNodes().length());
    sendInScripts(steps);
    return steps;
  }

  private Object hello() {
    return commands
        .dispatch(
            CommandType.HELLO,
            new ArrayOutput<>(StringCodec.UTF8),
            new CommandArgs<>(StringCodec.UTF8).add(3))
        .size();
  }

  /** Of a script that no server has. */
  private Object evalsha() {
    try {
      return commands.<Long>evalsha("0".repeat(40), ScriptOutputType.INTEGER);
    } catch (RedisCommandExecutionException e) {
      if (!String.valueOf(e.getMessage()).startsWith("NOSCRIPT")) {
        throw e;
      }
      return 0L;
    }
  }

  /** In an order in which each has something to do. */
  private void sendInScripts(Steps steps) {
    steps.needed("TIME in a script", NO_DECISION, () -> run(TIME));
    steps.needed("Lua's struct", "no decision: use a server that has it", () -> run(STRUCT));
    for (List<String> command :
        List.of(
            List.of("SET", "ab", "PX", "60000"),
            List.of("GET"),
            List.of("STRLEN"),
            List.of("GETRANGE", "0", "1"),
            List.of("SETRANGE", "1", "c"),
            List.of("SET", "d", "KEEPTTL"),
            List.of("PEXPIRE", "60000"),
            List.of("DEL"))) {
      String name = command.contains("KEEPTTL") ? "SET KEEPTTL" : command.get(0);
      steps.needed(name + " in a script", NO_DECISION, () -> run(OF_KEYS, key, command));
    }
    steps.optional(
        "PTTL in a script",
        "no answers for repeated submissions",
        () -> run(OF_KEYS, key, List.of("PTTL")));
    for (List<String> command :
        List.of(
            List.of("HSET", "field", "value"),
            List.of("PEXPIREAT", Long.toString(System.currentTimeMillis() + 60_000)),
            List.of("HGET", "field"),
            List.of("HLEN"),
            List.of("HGETALL"),
            List.of("HDEL", "field"))) {
      steps.optional(
          command.get(0) + " in a script", NO_HASHES, () -> run(OF_KEYS, key + ":hash", command));
    }
  }

  private Long run(String script) {
    return run(script, key, List.of());
  }

  private Long run(String script, String of, List<String> arguments) {
    String[] keys = {of};
    String[] values = arguments.toArray(String[]::new);
    return evalWorks
        ? commands.<Long>eval(script, ScriptOutputType.INTEGER, keys, values)
        : commands.<Long>evalsha(
            commands.scriptLoad(script), ScriptOutputType.INTEGER, keys, values);
  }
}
