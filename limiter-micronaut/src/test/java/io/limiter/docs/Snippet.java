// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A fenced block of a page.
 *
 * @param where the page and the line, for messages
 * @param language what the fence declares it to be
 * @param text what is in it
 * @param configuration the last block of YAML before it in its section; empty if there is none
 */
record Snippet(String where, String language, String text, String configuration) {

  private static final String FENCE = "```";

  static List<Snippet> of(Path page) throws IOException {
    List<Snippet> snippets = new ArrayList<>();
    StringBuilder text = null;
    String language = "";
    String configuration = "";
    int number = 0;
    int start = 0;
    for (String line : Files.readAllLines(page)) {
      number++;
      if (text != null && line.strip().equals(FENCE)) {
        if (language.equals("yaml")) {
          configuration = text.toString();
        }
        String where = page.getFileName() + ":" + start;
        snippets.add(new Snippet(where, language, text.toString(), configuration));
        text = null;
      } else if (text != null) {
        text.append(line).append('\n');
      } else if (line.strip().startsWith(FENCE)) {
        text = new StringBuilder();
        language = line.strip().substring(FENCE.length());
        start = number;
      } else if (line.startsWith("#")) {
        configuration = "";
      }
    }
    if (text != null) {
      throw new IllegalStateException(page + ": the block of line " + start + " does not end");
    }
    return snippets;
  }
}
