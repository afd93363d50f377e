// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/** The demo's page as a person uses it: in a browser, on the running demo with its own Redis. */
@Tag("browser")
class PageTest {

  /** Besides the waiting that a test is about. */
  private static final Duration COUNTDOWN = Duration.ofSeconds(30);

  private static Browser browser;

  private EmbeddedRedis redis;
  private Demo demo;

  @BeforeAll
  static void start() {
    browser = Browser.start();
  }

  @AfterAll
  static void end() {
    if (browser != null) {
      browser.close();
    }
  }

  /** An empty Redis, and a demo that has denied nothing. */
  @BeforeEach
  void open() {
    redis = EmbeddedRedis.started().orElseThrow();
    demo = Demo.with(redis);
    browser.desktop(false);
    browser.open(demo.port());
  }

  @AfterEach
  void closeAndLookAtTheConsole() {
    List<String> errors = browser.errors();
    browser.driver().get("about:blank"); // closes the stream
    demo.close();
    redis.kill();
    assertThat(errors).as("the browser's console").isEmpty();
  }

  private static String card(String endpoint) {
    return ".card[data-endpoint='" + endpoint + "'] ";
  }

  private static String count(String part, String outcome) {
    return part + "[data-count='" + outcome + "']";
  }

  /** What the counts of a part are, but for those that are zero. */
  private static String counts(String part) {
    return browser.all(part + "[data-count]").stream()
        .collect(
            Collectors.toMap(
                one -> one.getDomAttribute("data-count"),
                one -> one.getDomProperty("textContent").strip(),
                (a, b) -> a,
                TreeMap::new))
        .entrySet()
        .stream()
        .filter(one -> !one.getValue().equals("0"))
        .map(one -> one.getKey() + " " + one.getValue())
        .collect(Collectors.joining(", "));
  }

  private static void awaitCounts(String part, String wanted) {
    awaitCounts(part, wanted, Browser.PATIENCE);
  }

  private static void awaitCounts(String part, String wanted, Duration patience) {
    try {
      browser.await(part + wanted, patience, () -> counts(part).equals(wanted));
    } catch (org.openqa.selenium.TimeoutException e) {
      assertThat(counts(part)).as(part).isEqualTo(wanted);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "articles | admitted 10, denied 2",
        "sms      | admitted 1, denied 2",
        "orders   | admitted 5, denied 2",
        "checkout | admitted 1, duplicate 2",
        "reports  | admitted 5, denied 2",
        "feed     | admitted 5, denied 2",
        "me       | admitted 3, denied 2",
        "account  | admitted 3, denied 2",
        "partners | admitted 5, denied 2",
        "search   | admitted 20, banned 5, denied 5",
        "quota    | admitted 30, denied 2",
        "global   | admitted 5, denied 2",
        "items    | admitted 1, denied 1",
        "slow     | admitted 3, denied 2",
        "login    | admitted 3, denied 2",
        "export   | admitted 1, denied 9, waited 10",
        "free     | admitted 12"
      })
  void aBurstShowsWhatTheLimitAdmits(String endpoint, String wanted) {
    browser.click(card(endpoint) + "button[data-action='burst']");

    awaitCounts(card(endpoint), wanted);
  }

  @ParameterizedTest
  @ValueSource(strings = {"orders", "checkout"})
  void theSameTwiceIsADuplicate(String endpoint) {
    browser.click(card(endpoint) + "button[data-action='twice']");

    awaitCounts(card(endpoint), "admitted 1, duplicate 1");
  }

  @Test
  void theCountdownEndsInAnAdmittedCall() {
    browser.click(card("reports") + "button[data-action='burst']");
    browser.await(
        "the countdown runs",
        () ->
            "running"
                .equals(
                    browser
                        .one(card("reports") + "[data-countdown]")
                        .getDomAttribute("data-countdown")));
    int before = browser.number(count(card("reports"), "admitted"));
    int denied = browser.number(count(card("reports"), "denied"));

    browser.await(
        "the countdown is done",
        COUNTDOWN,
        () ->
            "done"
                .equals(
                    browser
                        .one(card("reports") + "[data-countdown]")
                        .getDomAttribute("data-countdown")));

    browser.await(
        "the call is counted",
        () -> browser.number(count(card("reports"), "admitted")) == before + 1);
    assertThat(browser.number(count(card("reports"), "denied"))).isEqualTo(denied);
    assertThat(browser.text(card("reports") + "[data-raw]")).contains("200");
  }

  @Test
  void theFourAlgorithmsTakeOneBurstDifferently() {
    browser.click("#algorithms button[data-action='burst']");

    awaitCounts("[data-algorithm='log'] ", "admitted 5, denied 3");
    awaitCounts("[data-algorithm='window'] ", "admitted 5, denied 3");
    awaitCounts("[data-algorithm='bucket'] ", "admitted 5, denied 3");
    browser.await(
        "the leaky bucket lets calls wait",
        () -> browser.number("[data-algorithm='leaky'] [data-count='waited']") > 0);
  }

  @Test
  void redisIsLostAndComesBack() {
    browser.await("Redis runs", () -> browser.text("[data-redis-state]").equals("running"));
    browser.click("#redis button[data-action='stop']");
    browser.await("Redis is stopped", () -> browser.text("[data-redis-state]").equals("stopped"));

    browser.click("#redis button[data-action='calls']");
    browser.await("memory decides", () -> browser.number("[data-decided='FALLBACK']") >= 10);
    browser.await("the breaker opens", () -> browser.text("[data-breaker]").contains("open"));

    browser.click("#redis button[data-action='continue']");
    browser.await("Redis runs", () -> browser.text("[data-redis-state]").equals("running"));
    browser.await("the breaker closes", () -> browser.text("[data-breaker]").contains("closed"));
    int before = browser.number("[data-decided='STORE']");
    browser.click(card("feed") + "button[data-action='once']");
    browser.await("Redis decides", () -> browser.number("[data-decided='STORE']") > before);

    browser.click("#redis button[data-action='kill']");
    browser.await("Redis is down", () -> browser.text("[data-redis-state]").equals("down"));
    int fallback = browser.number("[data-decided='FALLBACK']");
    browser.click(card("reports") + "button[data-action='once']");
    browser.await("memory decides", () -> browser.number("[data-decided='FALLBACK']") > fallback);
    browser.click("#redis button[data-action='start']");
    browser.await("Redis runs", () -> browser.text("[data-redis-state]").equals("running"));
  }

  @Test
  void twoInstancesShareOneLimit() {
    browser.click("#instances button[data-action='start']");
    browser.click("#instances button[data-action='burst']"); // when the second has started

    browser.await("12 calls", () -> instances("admitted") + instances("denied") == 12);
    assertThat(instances("admitted")).isEqualTo(5);
    for (int i = 1; i <= 2; i++) {
      String instance = "[data-instance='" + i + "'] ";
      assertThat(
              browser.number(count(instance, "admitted"))
                  + browser.number(count(instance, "denied")))
          .isEqualTo(6);
    }
    browser.click("#instances button[data-action='stop']");
    browser.await(
        "only the first is left",
        () -> !browser.one("#instances button[data-action='stop']").isEnabled());
  }

  private static int instances(String outcome) {
    return browser.number(count("[data-instance='1'] ", outcome))
        + browser.number(count("[data-instance='2'] ", outcome));
  }

  @Test
  void anOperatorSeesWhoIsDeniedAndHelps() {
    browser.click(card("articles") + "button[data-action='burst']");
    awaitCounts(card("articles"), "admitted 10, denied 2");
    logIn();
    browser.await("policies", () -> !browser.all("[data-policy='articles']").isEmpty());
    browser.await("who is denied", () -> browser.text("[data-talkers]").contains("127.0.0.1"));
  }

  private static void logIn() {
    WebElement password = browser.one("#operator input[name='password']");
    browser.script("arguments[0].scrollIntoView({block: 'center'})", password);
    password.sendKeys("admin", Keys.ENTER);
    browser.await("logged in", () -> !browser.all("[data-policy]").isEmpty());
  }

  @Test
  void denialsHaveTheChosenFormatAndLanguage() {
    select("format", "problem");
    select("language", "zh-CN");
    browser.click(card("sms") + "button[data-action='burst']");
    awaitCounts(card("sms"), "admitted 1, denied 2");

    browser.await(
        "problem+json",
        () -> browser.text(card("sms") + "[data-raw]").contains("application/problem+json"));
  }

  private static void select(String name, String value) {
    WebElement list = browser.one("select[name='" + name + "']");
    new org.openqa.selenium.support.ui.Select(list).selectByValue(value);
  }

  /** By Tab and Enter, as it is without a mouse; each stop is visible. */
  @Test
  void theKeyboardIsEnough() {
    String burst = card("articles") + "button[data-action='burst']";
    WebElement wanted = browser.one(burst);
    tabTo(wanted);
    browser.driver().switchTo().activeElement().sendKeys(Keys.ENTER);
    awaitCounts(card("articles"), "admitted 10, denied 2");

    tabTo(browser.one("#algorithms button[data-action='burst']"));
    browser.driver().switchTo().activeElement().sendKeys(Keys.SPACE);
    browser.await(
        "a burst", () -> counts("[data-algorithm='log'] ").equals("admitted 5, denied 3"));
  }

  private static void tabTo(WebElement wanted) {
    for (int i = 0; i < 300; i++) {
      WebElement at = browser.driver().switchTo().activeElement();
      if (at.equals(wanted)) {
        return;
      }
      at.sendKeys(Keys.TAB);
      WebElement now = browser.driver().switchTo().activeElement();
      assertThat(
              browser.script(
                  "const s = getComputedStyle(arguments[0]); return arguments[0] === document.body"
                      + " || s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0"
                      + " || s.boxShadow !== 'none'",
                  now))
          .as("the focus is seen on %s %s", now.getTagName(), now.getText())
          .isEqualTo(true);
    }
    throw new AssertionError("No way by Tab to " + wanted);
  }

  @ParameterizedTest
  @ValueSource(ints = {320, 390})
  void aPhoneShowsAllOfIt(int width) {
    browser.phone(width);
    browser.driver().navigate().refresh();
    browser.await("ready", () -> !browser.all("body[data-ready='true']").isEmpty());

    browser.click(card("articles") + "button[data-action='burst']");
    awaitCounts(card("articles"), "admitted 10, denied 2");
    assertThat(browser.script("return document.documentElement.scrollWidth"))
        .isEqualTo((long) width);
    assertThat(
            browser.script(
                "return [...document.querySelectorAll('button')].filter(b => b.offsetParent).filter(b => {"
                    + "const r = b.getBoundingClientRect();"
                    + "return r.left < 0 || r.right > innerWidth || r.height < 24 || r.width < 24})"
                    + ".map(b => b.textContent)"))
        .as("buttons out of reach, or too small")
        .isEqualTo(List.of());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void axeFindsNothing(boolean dark) {
    browser.desktop(dark);
    assertThat(browser.inaccessible()).as("at first").isEmpty();
    browser.click(card("articles") + "button[data-action='burst']");
    browser.click(card("search") + "button[data-action='burst']");
    browser.click("#redis button[data-action='stop']");
    browser.await("Redis is stopped", () -> browser.text("[data-redis-state]").equals("stopped"));
    awaitCounts(card("articles"), "admitted 10, denied 2");
    assertThat(browser.inaccessible()).as("after calls, without Redis").isEmpty();
    browser.click("#redis button[data-action='continue']");
    logIn();
    assertThat(browser.inaccessible()).as("for operators").isEmpty();
    browser.phone(390);
    assertThat(browser.inaccessible()).as("on a phone").isEmpty();
  }
}
