// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Translates failures of Redis into messages that contain no key and no secret. */
public final class RedisFailures {

  /** Lettuce's message if its queue of commands to send, or of expected replies, is full. */
  private static final Pattern FULL = Pattern.compile("(queue|stack) size exceeded");

  /** Lettuce's message for a connection that has just ended, instead of sending. */
  private static final Pattern NOT_SENT =
      Pattern.compile("Currently not connected|Connection is closed");

  private static final Pattern CODE = Pattern.compile("[A-Z]+");

  /** Redis before 7 embeds the error of a command in an error of the script. */
  private static final Pattern CODE_IN_SCRIPT =
      Pattern.compile("ERR [^\n]{0,160}?user_script: ?\\d+: -?([A-Z]+) ");

  /** The reply of {@code fixed-window.lua} to a plan without the window of a key's time. */
  private static final Pattern PERIOD = Pattern.compile("PERIOD (\\d{1,10})\\b.*");

  /**
   * What an error reply of a server or a proxy means, if its code alone does not show that. The
   * first match applies.
   *
   * @param text a part of the reply; it may have one group, a name in it that is no secret
   * @param reason the predicate of a sentence about the server, with a placeholder for that name
   * @param remedy what to do; the documentation has it too
   */
  record Meaning(Pattern text, String reason, String remedy) {

    private static final String NAME = "[`']([A-Za-z|]{1,40})[`']";

    /**
     * Matches the text only after a code or the name of a script, since the rest may quote keys.
     */
    private static Meaning of(String text, String reason, String remedy) {
      return new Meaning(
          Pattern.compile("^[^\n]{0,160}?(?:" + text + ")", Pattern.CASE_INSENSITIVE),
          reason,
          remedy);
    }

    static final List<Meaning> ALL =
        List.of(
            of(
                "no permissions to run the " + NAME + " command",
                "its user may not run %s",
                "allow it in the rules of the user"),
            of(
                "user executing the script can't run this command",
                "its user may not run a command of the script",
                "allow all commands of the documented rule"),
            of(
                "no permissions to access|can't access at least one of the keys",
                "its user may not use the keys of the limiter",
                "allow those with limiter.redis.key-prefix"),
            of(
                "(?:unknown|unsupported) command " + NAME,
                "it does not have %s, which the limiter needs",
                "use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://"),
            of(
                "unknown (?:redis )?command|command \\S{1,40} not support",
                "it does not have a command that the limiter needs",
                "use a server that has it, without a proxy; the address of a sentinel begins with redis-sentinel://"),
            of(
                "not allowed from script",
                "in scripts it forbids a command that the limiter needs, such as TIME",
                "use a server that allows it"),
            of(
                "write commands not allowed after non deterministic",
                "it replicates scripts verbatim",
                "use version 6.2 or later"),
            of("could not find scripting engine", "it cannot run Lua", "load its Lua module"),
            of(
                "\\bMOVED \\d",
                "it is one node of a Redis Cluster",
                "name the nodes in redis.uris instead of redis.uri"),
            of(
                "CROSSSLOT|hash to the same slot|non local key|slot not served",
                "it divides keys by slots, as a Redis Cluster does",
                "name the nodes in redis.uris, or set limiter.redis.slots to proxy"),
            of(
                "DB index is out of range|invalid DB index|SELECT is not allowed",
                "it has no database with the number in the address",
                "correct the number"),
            of(
                "max number of clients",
                "it accepts no more clients",
                "increase its maxclients, or decrease limiter.redis.max-connections"),
            of(
                "DENIED [^\n]{0,20}protected mode",
                "it accepts only local clients",
                "set a password, or turn off its protected mode"),
            of(
                "without any password configured|but no password is set",
                "it has no password, and the address has one",
                "remove it from the address"),
            of(
                "ERR invalid password",
                "its password differs from the one in the address",
                "correct the address"),
            of(
                "no upstream host|upstream (?:failure|protocol error)|ERR (?:Connection (?:refused|timed out|reset by peer)|Host is down|No route to host)",
                "it is a proxy that does not reach Redis",
                "check the proxy"));

    private Optional<String> in(String message) {
      Matcher matcher = text.matcher(message);
      return matcher.find()
          ? Optional.of(
              (matcher.groupCount() == 0 ? reason : reason.formatted(matcher.group(1)))
                  + ": "
                  + remedy)
          : Optional.empty();
    }
  }

  /** Errors that any other call would also get. */
  private static final Set<String> OF_THE_NODE =
      Set.of(
          "BUSY",
          "CLUSTERDOWN",
          "LOADING",
          "MASTERDOWN",
          "MISCONF",
          "NOAUTH",
          "NOPERM",
          "NOREPLICAS",
          "OOM",
          "READONLY",
          "UNKILLABLE",
          "WRONGPASS");

  /** What caused a failure. */
  public enum Blame {
    /** The node: another call would fail as well. */
    NODE,
    /** This call: the node has answered, and would answer other calls. */
    CALL,
    /** Neither: this process was late, or the connection had ended before anything was sent. */
    NEITHER
  }

  private RedisFailures() {}

  /**
   * @param node the name of the server, such as {@code Redis at db:6379}
   */
  public static StoreException translate(Throwable failure, String node) {
    if (failure instanceof StoreException known) {
      return known;
    }
    if (failure instanceof RedisCommandExecutionException reply) {
      return new StoreException(
          FailureReason.ERROR,
          node + " answered with the error " + explained(String.valueOf(reply.getMessage())),
          null);
    }
    if (failure instanceof RedisException && messageMatches(FULL, failure)) {
      return new StoreException(
          FailureReason.OVERLOADED, "Too many commands wait for a reply from " + node, failure);
    }
    // Lettuce passes the socket's own failure to the oldest command unchanged.
    if (failure instanceof RedisException
        || failure instanceof IOException
        || failure instanceof CancellationException) {
      return new StoreException(FailureReason.DISCONNECTED, node + " is not connected", failure);
    }
    return new StoreException(FailureReason.ERROR, node + " could not be called", failure);
  }

  /** Whether the node was a primary, and no longer is. */
  public static boolean isDemotion(Throwable failure) {
    return isReply(failure, "READONLY");
  }

  /** Whether a slot is migrating to another node, and some keys of the call have moved already. */
  public static boolean isTryAgain(Throwable failure) {
    return isReply(failure, "TRYAGAIN");
  }

  /** Whether a slot is migrating: whatever is replied then is about all keys of the command. */
  public static boolean isOfMovingSlot(Throwable failure) {
    return isReply(failure, "ASK") || isTryAgain(failure);
  }

  /** Whether the keys of the command are in several slots, so that nothing ran. */
  public static boolean isCrossSlot(Throwable failure) {
    return isReply(failure, "CROSSSLOT");
  }

  /** The time of a key for which the plan of a call had no window; empty for other failures. */
  public static OptionalLong periodMicros(Throwable failure) {
    Matcher period = PERIOD.matcher(String.valueOf(failure.getMessage()));
    return failure instanceof RedisCommandExecutionException && period.matches()
        ? OptionalLong.of(Long.parseLong(period.group(1)) * 1_000_000)
        : OptionalLong.empty();
  }

  /** Whether another node of a Cluster has the key. */
  static boolean isRedirection(Throwable failure) {
    return isReply(failure, "MOVED") || isReply(failure, "ASK");
  }

  /** Whether the server asks for a password, or for another one. */
  static boolean isLogin(Throwable failure) {
    return isReply(failure, "NOAUTH") || isReply(failure, "WRONGPASS");
  }

  private static boolean isReply(Throwable failure, String code) {
    return failure instanceof RedisCommandExecutionException reply
        && code(String.valueOf(reply.getMessage())).equals(code);
  }

  /** Whether it is certain that the command has written nothing: an error reply, or not sent. */
  public static boolean isRefusal(Throwable failure) {
    return failure instanceof RedisCommandExecutionException
        || failure instanceof StoreException
        || (failure instanceof RedisException
            && (messageMatches(NOT_SENT, failure) || messageMatches(FULL, failure)));
  }

  /** The failure without the exceptions that futures wrap around it. */
  public static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  /** Determines what caused a failure. An error that concerns one key is the fault of the call. */
  public static Blame blame(Throwable failure) {
    if (failure instanceof RedisCommandExecutionException reply) {
      String message = String.valueOf(reply.getMessage());
      return OF_THE_NODE.contains(code(message)) ? Blame.NODE : Blame.CALL;
    }
    if (failure instanceof RedisException && messageMatches(NOT_SENT, failure)) {
      return Blame.NEITHER;
    }
    return translate(failure, "Redis").reason() == FailureReason.ERROR ? Blame.NEITHER : Blame.NODE;
  }

  private static boolean messageMatches(Pattern pattern, Throwable failure) {
    return pattern.matcher(String.valueOf(failure.getMessage())).find();
  }

  /** The code, with a more exact meaning if one is known. */
  private static String explained(String message) {
    String code = code(message);
    return Meaning.ALL.stream()
        .flatMap(meaning -> meaning.in(message).stream())
        .findFirst()
        .map(meaning -> "%s (%s)".formatted(code, meaning).strip())
        .orElse(code.isEmpty() ? "(without a code)" : code);
  }

  /** The code at the beginning of an error reply, since the rest may quote keys; or nothing. */
  private static String code(String message) {
    Matcher inScript = CODE_IN_SCRIPT.matcher(message);
    if (inScript.lookingAt()) {
      return inScript.group(1);
    }
    Matcher code = CODE.matcher(message);
    return code.lookingAt() ? code.group() : "";
  }
}
