// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.openqa.selenium.By;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.support.ui.WebDriverWait;

/**
 * Debian's headless Chromium on the demo's page. Selenium gets browser and driver named, so that it
 * downloads neither.
 */
final class Browser implements AutoCloseable {

  /** How long a condition may take to come true, beyond the time that it is about. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
  private static final Path DRIVER = Path.of("/usr/bin/chromedriver");

  /** Chromium logs each response with an error's status; here they are what a limit is about. */
  private static final Pattern STATUS =
      Pattern.compile(
          "Failed to load resource: the server responded with a status of (401|409|422|429|500|503) ");

  /** The rules of WCAG 2.2 A and AA, and what axe-core recommends. */
  private static final List<String> RULES =
      List.of("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice");

  private final ChromeDriver driver;

  private Browser(ChromeDriver driver) {
    this.driver = driver;
  }

  /** Skips the tests of the class with a line where there is none. */
  static Browser start() {
    if (!Files.isExecutable(CHROMIUM) || !Files.isExecutable(DRIVER)) {
      String missing =
          "No %s or %s: tests in a browser are skipped. apt-get install chromium chromium-driver"
              .formatted(CHROMIUM, DRIVER);
      System.out.println(missing);
      Assumptions.abort(missing);
    }
    ChromeOptions options = new ChromeOptions();
    options.setBinary(CHROMIUM.toFile());
    options.addArguments(
        "--headless=new",
        "--no-sandbox", // root has none
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
        "--lang=en-US",
        "--window-size=1280,900");
    LoggingPreferences log = new LoggingPreferences();
    log.enable(LogType.BROWSER, Level.ALL);
    options.setCapability("goog:loggingPrefs", log);
    ChromeDriverService service =
        new ChromeDriverService.Builder()
            .usingDriverExecutable(DRIVER.toFile())
            .usingAnyFreePort()
            .build();
    return new Browser(new ChromeDriver(service, options));
  }

  /** Opens the page with all cards, and returns when its stream of events is open. */
  void open(int port) {
    openAsItIs(port);
    script("document.querySelectorAll('.group').forEach(group => { group.open = true; })");
  }

  /** Opens the page, and returns when its stream of events is open. */
  void openAsItIs(int port) {
    driver.get("http://127.0.0.1:" + port + "/");
    await("the page is ready", () -> !all("body[data-ready='true']").isEmpty());
  }

  /** As on a desktop, light or dark. */
  void desktop(boolean dark) {
    driver.executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
    scheme(dark);
  }

  /** A phone's width in CSS pixels. */
  void phone(int width) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", 800, "deviceScaleFactor", 1, "mobile", true));
  }

  /** A window in which each part of the page fits, below the head of the page, which stays. */
  void tall(int width) {
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", 1800, "deviceScaleFactor", 1, "mobile", false));
  }

  void scheme(boolean dark) {
    scheme(dark, false);
  }

  void scheme(boolean dark, boolean moving) {
    Map<String, Object> scheme =
        Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light");
    Map<String, Object> motion =
        Map.of("name", "prefers-reduced-motion", "value", moving ? "no-preference" : "reduce");
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia", Map.of("features", List.of(scheme, motion)));
  }

  ChromeDriver driver() {
    return driver;
  }

  WebElement one(String css) {
    return driver.findElement(By.cssSelector(css));
  }

  List<WebElement> all(String css) {
    return driver.findElements(By.cssSelector(css));
  }

  /** As text that is hidden has it, too. */
  String text(String css) {
    return one(css).getDomProperty("textContent").strip();
  }

  int number(String css) {
    return Integer.parseInt(text(css));
  }

  /** Below the head of the page, which stays. */
  void click(String css) {
    WebElement element = one(css);
    await(css + " is enabled", element::isEnabled);
    script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element);
    element.click();
  }

  Object script(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  /** Fails with {@code what} if the condition does not come true. */
  void await(String what, Supplier<Boolean> condition) {
    await(what, PATIENCE, condition);
  }

  void await(String what, Duration patience, Supplier<Boolean> condition) {
    new WebDriverWait(driver, patience, Duration.ofMillis(50))
        .withMessage(what)
        .until(d -> condition.get());
  }

  /** Those of the console since the last look. */
  List<String> errors() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
        .map(entry -> entry.getLevel() + " " + entry.getMessage())
        .filter(message -> !STATUS.matcher(message).find())
        .toList();
  }

  /** What axe-core finds on the page as it is. */
  @SuppressWarnings("unchecked")
  List<String> inaccessible() {
    script(axe());
    Object found =
        driver.executeAsyncScript(
            """
            const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']}).then(
              result => done(result.violations.map(rule => rule.id + ': ' + rule.help + ': '
                + rule.nodes.slice(0, 5).map(
                    node => node.target.join(' ') + ' ' + (node.any[0]?.message ?? '')).join(' | '))),
              error => done([String(error)]));
            """,
            RULES);
    return (List<String>) found;
  }

  private static String axe() {
    try (InputStream script = Browser.class.getResourceAsStream("/axe.min.js")) {
      assertThat(script).as("axe.min.js").isNotNull();
      return new String(script.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    driver.quit();
  }
}
