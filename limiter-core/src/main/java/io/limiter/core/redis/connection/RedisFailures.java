// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.io.IOException;
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

  /** Redis' message for a command that was renamed or removed, or that is newer than the server. */
  private static final Pattern UNKNOWN_COMMAND =
      Pattern.compile("ERR [^\n]{0,160}?unknown (redis )?command", Pattern.CASE_INSENSITIVE);

  /** The name of a command that a rule of the access list forbids, in a script or outside. */
  private static final Pattern FORBIDDEN =
      Pattern.compile("no permissions to run the '([a-z|]{1,40})' command");

  private static final Pattern NO_DATABASE =
      Pattern.compile("DB index is out of range|invalid DB index|SELECT is not allowed");

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
          FailureReason.OVERLOADED, "Too many commands wait for " + node + " to answer", failure);
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

  /** The failure without the exceptions that futures wrap around it. */
  public static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  /** Whether a failure is a reason not to ask the node. An error that concerns one key is none. */
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

  /** The code, with an explanation if it is not informative without the rest of the reply. */
  private static String explained(String message) {
    String code = code(message);
    if (UNKNOWN_COMMAND.matcher(message).lookingAt()) {
      return code + " (it does not have a command that the limiter needs)";
    }
    if (NO_DATABASE.matcher(message).find()) {
      return code + " (it has no database of the number in the address)";
    }
    if (code.equals("MOVED")) {
      return code
          + " (it is one node of a Redis Cluster: name the nodes in redis.uris instead of redis.uri)";
    }
    Matcher forbidden = FORBIDDEN.matcher(message);
    return forbidden.find() ? code + " (its user may not run " + forbidden.group(1) + ")" : code;
  }

  /** The code at the beginning of an error reply, since the rest may quote keys or arguments. */
  private static String code(String message) {
    Matcher inScript = CODE_IN_SCRIPT.matcher(message);
    if (inScript.lookingAt()) {
      return inScript.group(1);
    }
    Matcher code = CODE.matcher(message);
    return code.lookingAt() ? code.group() : "(without a code)";
  }
}
