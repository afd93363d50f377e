// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A text with placeholders in braces, such as <code>Wait {retryAfter} seconds</code>. A literal
 * brace is written twice: <code>{{</code> and <code>}}</code>; a single closing brace is literal,
 * too. Quotes have no special meaning.
 */
@Internal
public final class TextTemplate {

  private final List<Piece> pieces;
  private final Optional<String> only;

  /**
   * @param text the text, or the name of the placeholder
   */
  private record Piece(String text, boolean placeholder) {}

  private TextTemplate(List<Piece> pieces) {
    this.pieces = List.copyOf(pieces);
    this.only = pieces.size() == 1 ? names().stream().findFirst() : Optional.empty();
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException with the remedy, if a brace is not closed, or a placeholder
   *     has no name
   */
  public static TextTemplate parse(String text) {
    List<Piece> pieces = new ArrayList<>();
    StringBuilder plain = new StringBuilder();
    int at = 0;
    while (at < text.length()) {
      char c = text.charAt(at);
      boolean twice = at + 1 < text.length() && text.charAt(at + 1) == c;
      if (c == '{' && !twice) {
        int end = text.indexOf('}', at);
        String name = end < 0 ? "" : text.substring(at + 1, end);
        if (name.isBlank() || name.indexOf('{') >= 0) {
          throw new IllegalArgumentException(
              "the brace at character %s does not begin a placeholder: write {name}, or {{ for a brace"
                  .formatted(at + 1));
        }
        addPlain(pieces, plain);
        pieces.add(new Piece(name, true));
        at = end + 1;
      } else {
        plain.append(c);
        at += twice && (c == '{' || c == '}') ? 2 : 1;
      }
    }
    addPlain(pieces, plain);
    return new TextTemplate(pieces);
  }

  private static void addPlain(List<Piece> pieces, StringBuilder plain) {
    if (!plain.isEmpty()) {
      pieces.add(new Piece(plain.toString(), false));
      plain.setLength(0);
    }
  }

  /** The names of the placeholders, in the order of the text. */
  public List<String> names() {
    return pieces.stream().filter(Piece::placeholder).map(Piece::text).toList();
  }

  /** The placeholder, if the text is a single one. */
  public Optional<String> only() {
    return only;
  }

  /**
   * The text with its placeholders replaced by values. Braces in a value are literal.
   *
   * @param values the value for each name
   */
  public String fill(Function<String, String> values) {
    StringBuilder filled = new StringBuilder();
    for (Piece piece : pieces) {
      filled.append(piece.placeholder() ? values.apply(piece.text()) : piece.text());
    }
    return filled.toString();
  }
}
