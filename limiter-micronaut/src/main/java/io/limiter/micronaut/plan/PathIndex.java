// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.core.util.StringUtils;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What settings state for paths. A path is compared as the router reads it, and as a file server
 * would: with decoded characters and resolved dots, without empty segments and without the slash at
 * the end. An entry holds if either matches its pattern, so no other spelling leads past it. The
 * time of a search depends on the entries that may match, not on how many there are.
 *
 * @param <P> what an entry is
 */
@Internal
public final class PathIndex<P extends PathIndex.OnPath> {

  /** An entry. */
  public interface OnPath {

    /** See {@link PathIndex#patterns}. */
    List<String> patterns();

    /** The patterns of paths on which it does not hold; none by default. */
    default List<String> except() {
      return List.of();
    }

    /** Names of HTTP methods; all if empty. */
    Set<String> methods();

    /**
     * Whether it holds on a path.
     *
     * @param raw as it was sent, without the slash at the end
     * @param plain as a file server reads it
     */
    default boolean holds(String method, String raw, String plain) {
      if (!methods().isEmpty() && !methods().contains(method)) {
        return false;
      }
      return (matches(patterns(), raw) || (!plain.equals(raw) && matches(patterns(), plain)))
          && !(matches(except(), raw)
              && matches(except(), plain)); // by no reading of the path alone
    }

    private static boolean matches(List<String> patterns, String path) {
      for (String pattern : patterns) {
        if (PathMatcher.ANT.matches(pattern, path)) {
          return true;
        }
      }
      return false;
    }
  }

  private final List<P> entries;
  private final Branch index = new Branch();

  public PathIndex(List<P> entries) {
    this.entries = entries;
    for (int i = 0; i < entries.size(); i++) {
      index.add(i, entries.get(i).patterns());
    }
  }

  /**
   * The patterns of a path in settings, which may begin with the context path or leave it out: as
   * it is written, and with the context path.
   *
   * @param contextPath of the server; empty if it has none
   */
  public static List<String> patterns(String path, String contextPath) {
    String written = withoutLastSlash(path);
    boolean complete = contextPath.isEmpty() || (written + '/').startsWith(contextPath + '/');
    return complete ? List.of(written) : List.of(written, withoutLastSlash(contextPath + written));
  }

  /** The entries that hold on a path, in their order. */
  public List<P> on(String method, String path) {
    String raw = withoutLastSlash(path);
    String plain = plain(raw);
    Set<Integer> found = new TreeSet<>();
    index.find(segments(raw), 0, false, found);
    if (!plain.equals(raw)) {
      index.find(segments(plain), 0, false, found);
    }
    List<P> holding = new ArrayList<>();
    for (int number : found) {
      P entry = entries.get(number);
      if (entry.holds(method, raw, plain)) {
        holding.add(entry);
      }
    }
    return holding;
  }

  /** Adds the numbers of entries that may match what a pattern does. */
  void near(String pattern, Set<Integer> found) {
    index.find(segments(pattern), 0, true, found);
  }

  /**
   * Entries by the segments with which their patterns begin, up to the first one with a wildcard
   * other than {@code *}. It finds those that may match, which are compared completely then.
   */
  static final class Branch {

    private final Map<String, Branch> next = new HashMap<>();
    private final List<Integer> here = new ArrayList<>();

    void add(int number, List<String> patterns) {
      for (String pattern : patterns) {
        Branch at = this;
        for (String segment : segments(pattern)) {
          if (hasWildcard(segment) && !segment.equals("*")) {
            break;
          }
          at = at.next.computeIfAbsent(segment, any -> new Branch());
        }
        at.here.add(number);
      }
    }

    /**
     * Adds the numbers of entries that may match below.
     *
     * @param from the first segment below
     * @param isPattern whether wildcards in the segments are some
     */
    void find(List<String> segments, int from, boolean isPattern, Set<Integer> found) {
      found.addAll(here);
      String segment = from < segments.size() ? segments.get(from) : "";
      if (isPattern && hasWildcard(segment)) {
        int rest = segment.equals("**") ? from : from + 1;
        next.values().forEach(branch -> branch.find(segments, rest, true, found));
        return;
      }
      Branch named = next.get(segment);
      Branch any = next.get("*"); // behind the last segment, too: it matches a slash at the end
      if (named != null) {
        named.find(segments, from + 1, isPattern, found);
      }
      if (any != null && any != named) {
        any.find(segments, from + 1, isPattern, found);
      }
    }

    private static boolean hasWildcard(String segment) {
      return segment.indexOf('*') >= 0 || segment.indexOf('?') >= 0;
    }
  }

  static List<String> segments(String pattern) {
    return List.of(StringUtils.tokenizeToStringArray(pattern, "/")); // as the matcher does
  }

  private static String withoutLastSlash(String path) {
    return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /** A path as a file server reads it; of a segment that cannot be decoded, its raw characters. */
  static String plain(String path) {
    if (path.indexOf('%') < 0 && !path.contains("//") && !path.contains("/.")) {
      return path;
    }
    Deque<String> segments = new ArrayDeque<>();
    for (String segment : decoded(path).split("/")) {
      if (segment.equals("..")) {
        segments.pollLast();
      } else if (!segment.isEmpty() && !segment.equals(".")) {
        segments.addLast(segment);
      }
    }
    return "/" + String.join("/", segments);
  }

  private static String decoded(String path) {
    byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream decoded = new ByteArrayOutputStream(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
      int low = high >= 0 ? Character.digit(bytes[i + 2], 16) : -1;
      if (bytes[i] == '%' && low >= 0) {
        decoded.write(high * 16 + low);
        i += 2;
      } else {
        decoded.write(bytes[i]);
      }
    }
    return decoded.toString(StandardCharsets.UTF_8);
  }
}
