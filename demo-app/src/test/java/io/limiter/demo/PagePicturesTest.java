// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageTypeSpecifier;
import javax.imageio.ImageWriter;
import javax.imageio.metadata.IIOMetadata;
import javax.imageio.metadata.IIOMetadataNode;
import javax.imageio.stream.ImageOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;

/** Takes the pictures of the page for README and docs: {@code mvnw test -Ppictures}. */
@Tag("pictures")
class PagePicturesTest {

  private static final Path IMAGES = Path.of("..", "docs", "images");
  private static final int MOST_BYTES = 200_000;
  private static final Duration FRAME = Duration.ofMillis(200);
  private static final int MOST_BYTES_ANIMATED = 1_000_000;
  private static final Duration ANIMATION = Duration.ofSeconds(14);

  /** Of a card on a wide screen, halved: text stays readable. */
  private static final int ANIMATION_WIDTH = 640;

  private static Browser browser;

  private EmbeddedRedis redis;
  private Demo demo;

  @BeforeAll
  static void start() throws IOException {
    browser = Browser.start();
    Files.createDirectories(IMAGES);
  }

  @AfterAll
  static void end() {
    if (browser != null) {
      browser.close();
    }
  }

  @BeforeEach
  void open() {
    redis = EmbeddedRedis.started().orElseThrow();
    demo = Demo.with(redis);
    browser.desktop(false);
    browser.open(demo.port());
  }

  @AfterEach
  void close() {
    browser.driver().get("about:blank");
    demo.close();
    redis.kill();
  }

  @Test
  void thePageInBothColours() throws IOException {
    for (String endpoint : List.of("articles", "orders", "search", "export")) {
      burst(".card[data-endpoint='" + endpoint + "']");
    }
    settled(".card[data-endpoint='articles']", "denied");
    settled(".card[data-endpoint='search']", "banned");
    settled(".card[data-endpoint='export']", "waited");
    browser.script("scrollTo(0, 0)");
    browser.script("document.activeElement.blur()");
    window("page-light");
    element(".card[data-endpoint='articles']", "card-light");
    browser.desktop(true);
    browser.script("scrollTo(0, 0)");
    window("page-dark");
    element(".card[data-endpoint='articles']", "card-dark");
  }

  @Test
  void duplicates() throws IOException {
    String orders = ".card[data-endpoint='orders']";
    browser.click(orders + " button[data-action='twice']");
    settled(orders, "duplicate");
    both(orders, "duplicate");
  }

  @Test
  void onlyObserved() throws IOException {
    browser.click("input[name='observe']");
    browser.await("observed", () -> browser.text("#switched").contains("only observe"));
    String articles = ".card[data-endpoint='articles']";
    burst(articles);
    browser.await("all pass", () -> browser.number(articles + " [data-count='admitted']") == 12);
    both(articles, "observed");
  }

  @Test
  void algorithms() throws IOException {
    burst("#algorithms");
    browser.await(
        "the last one waits",
        () -> browser.number("[data-algorithm='leaky'] [data-count='waited']") > 0);
    both("#algorithms", "algorithms");
  }

  @Test
  void redisAway() throws IOException {
    browser.click("#redis button[data-action='calls']");
    browser.await("Redis decides", () -> browser.number("[data-decided='STORE']") >= 10);
    browser.click("#redis button[data-action='stop']");
    browser.await("Redis is stopped", () -> browser.text("[data-redis-state]").equals("stopped"));
    browser.click("#redis button[data-action='calls']");
    browser.await("memory decides", () -> browser.number("[data-decided='FALLBACK']") >= 10);
    both("#redis", "redis-away");
    browser.click("#redis button[data-action='continue']");
  }

  @Test
  void twoInstances() throws IOException {
    browser.click("#instances button[data-action='start']");
    browser.click("#instances button[data-action='burst']");
    browser.await(
        "both have answered",
        () ->
            browser.number("[data-instance='2'] [data-count='denied']") > 0
                && browser.text("#sum").contains("were admitted"));
    both("#instances", "instances");
    browser.click("#instances button[data-action='stop']");
    browser.await(
        "one is left", () -> !browser.one("#instances button[data-action='stop']").isEnabled());
  }

  @Test
  void aFlood() throws IOException {
    browser.click("#hot button[data-action='flood']");
    browser.await("answered", () -> browser.text("#flooded").contains("were admitted"));
    both("#hot", "leases");
  }

  @Test
  void operators() throws IOException {
    burst(".card[data-endpoint='articles']");
    burst(".card[data-endpoint='search']");
    browser.one("#operator input[name='password']").sendKeys("admin\n");
    browser.await("talkers", () -> browser.text("[data-talkers]").contains("127.0.0.1"));
    both("#operator", "operator");
  }

  @Test
  void aPhone() throws IOException {
    browser.phone(390);
    browser.driver().navigate().refresh();
    browser.await("ready", () -> !browser.all("body[data-ready='true']").isEmpty());
    burst(".card[data-endpoint='articles']");
    settled(".card[data-endpoint='articles']", "denied");
    browser.script("scrollBy(0, 120)");
    window("phone-light");
    browser.scheme(true);
    window("phone-dark");
  }

  /** A burst, its countdown, and the call that passes then. */
  @Test
  void anAnimation() throws IOException {
    String part = "#algorithms";
    browser.scheme(false, true);
    WebElement shown = inView(part);
    List<BufferedImage> frames = new ArrayList<>();
    List<Long> times = new ArrayList<>();
    frames.add(narrow(read(shown.getScreenshotAs(OutputType.BYTES))));
    long begin = System.nanoTime();
    times.add(begin);
    browser.one(part + " button[data-action='burst']").click();
    while (System.nanoTime() - begin < ANIMATION.toNanos()) {
      BufferedImage frame = narrow(read(shown.getScreenshotAs(OutputType.BYTES)));
      if (System.nanoTime() - times.get(times.size() - 1) > FRAME.toNanos()) {
        frames.add(frame);
        times.add(System.nanoTime());
      }
    }
    Path file = IMAGES.resolve("algorithms.gif");
    gif(file, frames, times);
    assertThat(Files.size(file)).as(file.toString()).isLessThan(MOST_BYTES_ANIMATED);
  }

  private static void burst(String part) {
    browser.click(part + " button[data-action='burst']");
  }

  private static void settled(String part, String outcome) {
    browser.await(outcome, () -> browser.number(part + " [data-count='" + outcome + "']") > 0);
  }

  private static void both(String css, String name) throws IOException {
    element(css, name + "-light");
    browser.scheme(true);
    element(css, name + "-dark");
    browser.scheme(false);
  }

  /** Calls are counted before they are drawn. */
  private static void drawn() {
    browser.await(
        "all calls are drawn",
        () ->
            Boolean.TRUE.equals(
                browser.script(
                    """
                    return [...document.querySelectorAll('.card, .algorithm')].every(part =>
                      [...part.querySelectorAll('[data-count]')].reduce((sum, one) => sum + Number(one.textContent), 0)
                        === part.querySelectorAll('.marks use').length)
                    """)));
  }

  private static void window(String name) throws IOException {
    drawn();
    png(name, browser.driver().getScreenshotAs(OutputType.BYTES));
  }

  private static void element(String css, String name) throws IOException {
    browser.script("document.activeElement.blur()");
    drawn();
    png(name, inView(css).getScreenshotAs(OutputType.BYTES));
  }

  private static WebElement inView(String css) {
    browser.tall(1280);
    WebElement element = browser.one(css);
    browser.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element);
    return element;
  }

  private static void png(String name, byte[] bytes) throws IOException {
    Path file = IMAGES.resolve(name + ".png");
    Files.write(file, bytes);
    assertThat(bytes).as(file.toString()).hasSizeLessThan(MOST_BYTES);
  }

  private static BufferedImage read(byte[] bytes) throws IOException {
    return ImageIO.read(new ByteArrayInputStream(bytes));
  }

  private static BufferedImage narrow(BufferedImage image) {
    int height = image.getHeight() * ANIMATION_WIDTH / image.getWidth();
    BufferedImage small = new BufferedImage(ANIMATION_WIDTH, height, BufferedImage.TYPE_INT_RGB);
    Graphics2D graphics = small.createGraphics();
    graphics.setRenderingHint(
        RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BICUBIC);
    graphics.drawImage(image, 0, 0, ANIMATION_WIDTH, height, null);
    graphics.dispose();
    return small;
  }

  /** Of the frames that follow, only what has changed is kept. */
  private static void gif(Path file, List<BufferedImage> frames, List<Long> times)
      throws IOException {
    ImageWriter writer = ImageIO.getImageWritersByFormatName("gif").next();
    Files.deleteIfExists(file);
    try (ImageOutputStream out = ImageIO.createImageOutputStream(file.toFile())) {
      writer.setOutput(out);
      writer.prepareWriteSequence(null);
      BufferedImage before = null;
      for (int i = 0; i < frames.size(); i++) {
        BufferedImage frame = frames.get(i);
        int[] box = changed(before, frame);
        int next = i + 1;
        while (next < frames.size() && changed(frame, frames.get(next)) == null) {
          next++;
        }
        long until =
            next < frames.size() ? times.get(next) : times.get(times.size() - 1) + 2_000_000_000L;
        BufferedImage part = frame.getSubimage(box[0], box[1], box[2], box[3]);
        int hundredths = (int) Math.max(4, (until - times.get(i)) / 10_000_000);
        writer.writeToSequence(
            new IIOImage(part, null, metadata(writer, part, box, hundredths)), null);
        before = frame;
        i = next - 1;
      }
      writer.endWriteSequence();
    } finally {
      writer.dispose();
    }
  }

  /** Left, top, width and height of what differs; null if nothing does. */
  private static int[] changed(BufferedImage before, BufferedImage frame) {
    int width = frame.getWidth();
    int height = frame.getHeight();
    if (before == null) {
      return new int[] {0, 0, width, height};
    }
    int left = width;
    int top = height;
    int right = -1;
    int bottom = -1;
    for (int y = 0; y < Math.min(height, before.getHeight()); y++) {
      for (int x = 0; x < width; x++) {
        if (before.getRGB(x, y) != frame.getRGB(x, y)) {
          left = Math.min(left, x);
          right = Math.max(right, x);
          top = Math.min(top, y);
          bottom = y;
        }
      }
    }
    return right < 0 ? null : new int[] {left, top, right - left + 1, bottom - top + 1};
  }

  private static IIOMetadata metadata(
      ImageWriter writer, BufferedImage image, int[] box, int hundredths) throws IOException {
    IIOMetadata metadata =
        writer.getDefaultImageMetadata(ImageTypeSpecifier.createFromRenderedImage(image), null);
    String format = metadata.getNativeMetadataFormatName();
    IIOMetadataNode root = (IIOMetadataNode) metadata.getAsTree(format);
    IIOMetadataNode control = child(root, "GraphicControlExtension");
    control.setAttribute("disposalMethod", "doNotDispose");
    control.setAttribute("userInputFlag", "FALSE");
    control.setAttribute("transparentColorFlag", "FALSE");
    control.setAttribute("transparentColorIndex", "0");
    control.setAttribute("delayTime", Integer.toString(hundredths));
    IIOMetadataNode place = child(root, "ImageDescriptor");
    place.setAttribute("imageLeftPosition", Integer.toString(box[0]));
    place.setAttribute("imageTopPosition", Integer.toString(box[1]));
    place.setAttribute("imageWidth", Integer.toString(box[2]));
    place.setAttribute("imageHeight", Integer.toString(box[3]));
    place.setAttribute("interlaceFlag", "FALSE");
    IIOMetadataNode loop = new IIOMetadataNode("ApplicationExtension");
    loop.setAttribute("applicationID", "NETSCAPE");
    loop.setAttribute("authenticationCode", "2.0");
    loop.setUserObject(new byte[] {1, 0, 0});
    child(root, "ApplicationExtensions").appendChild(loop);
    metadata.setFromTree(format, root);
    return metadata;
  }

  private static IIOMetadataNode child(IIOMetadataNode root, String name) {
    for (int i = 0; i < root.getLength(); i++) {
      if (root.item(i).getNodeName().equals(name)) {
        return (IIOMetadataNode) root.item(i);
      }
    }
    IIOMetadataNode made = new IIOMetadataNode(name);
    root.appendChild(made);
    return made;
  }
}
