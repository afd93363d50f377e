// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.Spread;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

class PlotsTest {

  private static Document read(String svg) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void barsAreAsLongAsTheirMedians() throws Exception {
    Document drawn =
        read(
            new BarChart("a < b")
                .bar("half", Spread.of(List.of(1.0, 1.0, 1.0)))
                .bar("whole", Spread.of(List.of(2.0, 2.0, 2.0)))
                .svg());

    Element half = (Element) drawn.getElementsByTagName("rect").item(1);
    Element whole = (Element) drawn.getElementsByTagName("rect").item(2);
    assertThat(Double.parseDouble(whole.getAttribute("width")))
        .isEqualTo(2 * Double.parseDouble(half.getAttribute("width")));
    assertThat(drawn.getElementsByTagName("title").item(0).getTextContent()).isEqualTo("a < b");
  }

  @Test
  void pointsAreSetByPowersOfTen() throws Exception {
    Document drawn =
        read(
            new LineChart("growth")
                .point("counted", 10, Spread.of(List.of(1.0, 1.0, 1.0)))
                .point("counted", 100, Spread.of(List.of(1.5, 1.2, 1.6)))
                .point("counted", 1_000, Spread.of(List.of(2.0, 2.0, 2.0)))
                .svg());

    Element line =
        (Element)
            drawn
                .getElementsByTagName("path")
                .item(drawn.getElementsByTagName("path").getLength() - 1);
    // From the left to the right border, the middle one half way, the largest at the top.
    assertThat(line.getAttribute("d")).matches("M60 [\\d.]+L375 [\\d.]+L690 60");
  }
}
