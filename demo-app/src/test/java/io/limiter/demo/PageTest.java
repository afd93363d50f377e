// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.Keys;
import org.openqa.selenium.TimeoutException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.support.ui.Select;

/** The demo's page as a person uses it: in a browser, on the running demo with its own Redis. */
@Tag("browser")
class PageTest {

  /** Besides the waiting that a test is about. */
  private static final Duration COUNTDOWN = Duration.ofSeconds(30);

  /** 2,600 calls, beside whatever else a machine does. */
  private static final Duration FLOODED = Duration.ofMinutes(5);

  private static final String PLAYED = card("articles") + ".played";

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
    // A demo that stops under calls that wait for their turn reports each.
    browser.await(
        "no call waits",
        () ->
            demo.get("/prometheus")
                .body()
                .lines()
                .filter(line -> line.matches("limiter_(waiting|in_flight)\\b.*"))
                .allMatch(line -> line.endsWith(" 0.0")));
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
    try {
      browser.await(part + wanted, () -> counts(part).matches(wanted));
    } catch (TimeoutException e) {
      assertThat(counts(part)).as(part).matches(wanted);
    }
  }

  /**
   * All in one page, each in turn; a card's countdown may add its call while others are looked at.
   */
  @Test
  void eachCardsBurstShowsWhatItsLimitAdmits() {
    Map<String, String> wanted = new LinkedHashMap<>();
    wanted.put("articles", "admitted 10, denied 2");
    wanted.put("sms", "admitted 1, denied 2");
    wanted.put("orders", "admitted 5, denied 2");
    wanted.put("checkout", "admitted 1, duplicate 2");
    wanted.put("payment", "admitted 7");
    wanted.put("llm", "admitted 4");
    wanted.put("reports", "admitted 5, denied 2");
    wanted.put("feed", "admitted 5, denied 2");
    wanted.put("me", "admitted 3, denied 2");
    wanted.put("account", "admitted 3, denied 2");
    wanted.put("partners", "admitted 5, denied 2");
    wanted.put("items", "admitted 3, denied 3");
    wanted.put("slow", "admitted 3, denied 2");
    wanted.put("login", "admitted 3, denied 2");
    wanted.put("export", "admitted 1, waited 4");
    // A second: then with the call of the countdown.
    wanted.put("global", "admitted [56], denied 3");
    // A token each 200 ms while the burst lasts. The fifth denial bans.
    wanted.put("search", "admitted 2[0-4], banned [2-6], denied 4");
    // The clock's minute may turn between the calls.
    wanted.put("quota", "admitted 30, denied 2|admitted 3[12](, denied 1)?");
    wanted.forEach(
        (endpoint, counts) -> {
          browser.click(card(endpoint) + "button[data-action='burst']");
          awaitCounts(card(endpoint), counts);
        });

    assertThat(browser.all(".card"))
        .extracting(one -> one.getDomAttribute("data-endpoint"))
        .containsAll(wanted.keySet())
        .hasSize(wanted.size() + 1);
    // Nothing is decided without a limit.
    browser.click(card("free") + "button[data-action='burst']");
    browser.await("an answer", () -> browser.text(card("free") + "[data-raw]").contains("200"));
    assertThat(counts(card("free"))).isEmpty();
  }

  @Test
  void theFirstCardsAreShownAndTheOthersIfTheirGroupIsOpened() {
    browser.openAsItIs(demo.port());
    assertThat(browser.all(".card").stream().filter(WebElement::isDisplayed))
        .extracting(one -> one.getDomAttribute("data-endpoint"))
        .containsExactly("articles", "search", "sms");

    browser.click(".group:has(#cards-duplicates) > summary");

    browser.click(card("orders") + "button[data-action='burst']");
    awaitCounts(card("orders"), "admitted 5, denied 2");
    browser.await("all are drawn", () -> marks(card("orders")).size() == 7);
  }

  /** Real calls, which count: the next press is denied, and the page states why. */
  @Test
  void aBurstIsPlayedBeforeTheFirstClickUnlessMotionIsReduced() {
    browser.scheme(false, true);
    browser.openAsItIs(demo.port());
    awaitCounts(card("articles"), "admitted 10, denied 2");
    String denied = "denied. Until the countdown ends, the next ones are denied, too.";
    browser.await("its sentence", () -> !browser.text(PLAYED).isEmpty());
    assertThat(browser.text(PLAYED))
        .isEqualTo("This page has made 12 calls: 10 passed, 2 " + denied);

    browser.click(card("articles") + "button[data-action='burst']");
    awaitCounts(card("articles"), "admitted 10, denied 14");
    browser.await("the next sentence", () -> browser.text(PLAYED).startsWith("Your"));
    assertThat(browser.text(PLAYED)).isEqualTo("Your 12 calls: 0 passed, 12 " + denied);

    // Bursts of a page that is loaded again would use up the limit of the hour.
    browser.openAsItIs(demo.port());
    browser.await("one call", () -> browser.text(PLAYED).startsWith("This"));
    assertThat(browser.text(PLAYED)).isEqualTo("This page has made 1 call: 0 passed, 1 " + denied);

    browser.scheme(false, false);
    browser.openAsItIs(demo.port());
    browser.click(card("search") + "button[data-action='once']");
    awaitCounts(card("search"), "admitted 1");
    assertThat(counts(card("articles"))).isEmpty();
    assertThat(browser.text(PLAYED)).isEmpty();
  }

  @Test
  void anHourBeginsBeyondABreakOfTheAxis() {
    assertThat(browser.all(card("search") + ".break")).isEmpty();
    double hour = left(".window.w1");
    double cut = left(".break");
    assertThat(hour).isLessThan(cut);
    assertThat(left(".window.w0")).isGreaterThan(cut);
    assertThat(left(".now")).isGreaterThan(left(".window.w0"));
    List<String> ticks =
        browser.all(card("articles") + ".tick").stream()
            .sorted(Comparator.comparing(one -> one.getRect().x))
            .map(one -> one.getDomProperty("textContent"))
            .filter(text -> !text.isEmpty())
            .toList();
    assertThat(ticks).startsWith("−1 h", "−60 s").endsWith("now");

    browser.click(card("articles") + "button[data-action='burst']");
    browser.await("all are drawn", () -> marks(card("articles")).size() == 12);
    // Later in this hour, until the service's clock sets the page right.
    browser.script("const now = Date.now; Date.now = () => now() + 3000000;");
    browser.await(
        "calls of the hour that are beyond the break",
        () -> browser.text(card("articles") + ".axis").matches(".*1[23] earlier.*"));
  }

  private static double left(String part) {
    return ((Number)
            browser.script(
                "return document.querySelector(arguments[0]).getBoundingClientRect().left",
                card("articles") + part))
        .doubleValue();
  }

  /** From the first moment until they have left; each is seen whole. */
  @Test
  void callsAreDrawnInsideTheBoxOfTheirRule() {
    browser.script(
        """
        window.outside = [];
        const inside = (mark, box) => mark.left >= box.left - .1 && mark.right <= box.right + .1;
        setInterval(() => {
          for (const part of ['[data-algorithm=log]', '[data-algorithm=window]']) {
            const time = document.querySelector(part + ' .time');
            const boxes = [time, ...time.querySelectorAll('.window')].map(box => box.getBoundingClientRect());
            for (const mark of time.querySelectorAll('.marks use:not(.away)')) {
              const at = mark.getBoundingClientRect();
              const left = mark.classList.contains('out') ? boxes.slice(0, 1) : boxes.filter(box => box.width);
              for (const box of left.filter(box => !inside(at, box))) {
                window.outside.push(`${part} ${at.left}..${at.right} in ${box.left}..${box.right}`);
              }
            }
          }
        }, 40);
        """);
    browser.click("#algorithms button[data-action='burst']");
    List<String> parts = List.of("[data-algorithm='log'] ", "[data-algorithm='window'] ");
    for (String part : parts) {
      browser.await("all are drawn", () -> marks(part).size() == 8);
    }
    for (String part : parts) {
      String seen = part + ".marks use:not(.away)";
      browser.await("they have left", COUNTDOWN, () -> browser.all(seen).isEmpty());
    }
    assertThat((List<?>) browser.script("return window.outside")).isEmpty();
  }

  @Test
  void whatRemainsGoesOnWhileRedisIsStopped() {
    String remains = "[data-algorithm='%s'] [data-remaining]";
    List<String> algorithms = List.of("log", "window", "bucket");
    browser.click("#algorithms button[data-action='burst']");
    for (String algorithm : algorithms) {
      String part = "[data-algorithm='" + algorithm + "'] ";
      browser.await("all are drawn", () -> marks(part).size() == 8);
    }
    // The service looks it up.
    int left = browser.number(remains.formatted("bucket"));
    browser.await("a token", () -> browser.number(remains.formatted("bucket")) > left);
    browser.click("#redis button[data-action='stop']");
    browser.await("Redis is stopped", () -> browser.text("[data-redis-state]").equals("stopped"));

    for (String algorithm : algorithms) {
      browser.await(algorithm, COUNTDOWN, () -> browser.number(remains.formatted(algorithm)) == 5);
    }
    assertThat(browser.text("[data-redis-state]")).isEqualTo("stopped");
    browser.click("#redis button[data-action='continue']");
    browser.await("Redis runs", () -> browser.text("[data-redis-state]").equals("running"));
  }

  @Test
  void theSameTwiceIsADuplicate() {
    for (String endpoint : List.of("orders", "checkout")) {
      browser.click(card(endpoint) + "button[data-action='twice']");
      awaitCounts(card(endpoint), "admitted 1, duplicate 1");
    }
  }

  /** Each press shows the answer; the limit has lost a unit for each payment. */
  @Test
  void aPaymentIsRepeatedByItsKey() {
    String card = card("payment");
    browser.click(card + "button[data-action='once']");
    String first = awaitAnswer(card, "201");
    assertThat(first).contains("Idempotency-Key: ").doesNotContain("Idempotency-Replayed");

    browser.click(card + "button[data-action='repeat']");
    String again = awaitAnswer(card, "Idempotency-Replayed: true");
    assertThat(again).contains("201");
    assertThat(body(again)).isEqualTo(body(first)).contains("\"payment\": ");

    browser.click(card + "button[data-action='change']");
    assertThat(awaitAnswer(card, "422")).contains("was used for another request");

    browser.click(card + "button[data-action='repeat']");
    assertThat(body(awaitAnswer(card, "Idempotency-Replayed: true"))).isEqualTo(body(first));
    awaitCounts(card, "admitted 1");

    browser.click(card + "button[data-action='once']");
    awaitCounts(card, "admitted 2");
  }

  private static String awaitAnswer(String card, String part) {
    browser.await(part, () -> browser.text(card + "[data-raw]").contains(part));
    return browser.text(card + "[data-raw]");
  }

  private static String body(String answer) {
    return answer.substring(answer.lastIndexOf("\n\n"));
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

  /** Also where the marks of a burst are more than fit in a column. */
  @Test
  void denialsStandBehindTheAdmissionsOfTheirBurst() {
    List<String> parts = new ArrayList<>();
    for (String endpoint : List.of("articles", "orders", "partners", "reports", "feed", "quota")) {
      browser.click(card(endpoint) + "button[data-action='burst']");
      parts.add(card(endpoint));
    }
    browser.click("#algorithms button[data-action='burst']");
    for (String algorithm : List.of("log", "window", "bucket")) {
      parts.add("[data-algorithm='" + algorithm + "'] ");
    }
    for (String part : parts) {
      awaitCounts(part, "admitted \\d+, denied \\d+");
      browser.script("document.querySelector(arguments[0]).scrollIntoView()", part);
      browser.await("all are drawn", () -> marks(part).size() == sum(part));
      assertThat(String.join(" ", marks(part))).as(part).matches("(admitted ?)+(denied ?)+");
    }
    List<Integer> left =
        browser.all(card("articles") + ".last td:last-child").stream()
            .map(one -> Integer.valueOf(one.getDomProperty("textContent").split("/", 2)[0]))
            .toList();
    assertThat(left).as("the table, the newest first").hasSizeGreaterThan(10).isSorted();
  }

  private static int sum(String part) {
    return browser.number(count(part, "admitted")) + browser.number(count(part, "denied"));
  }

  /** From left to right, in one column from below. */
  @SuppressWarnings("unchecked")
  private static List<String> marks(String part) {
    return (List<String>)
        browser.script(
            """
            return [...document.querySelector(arguments[0]).querySelectorAll('.marks use')]
              .map(use => ({x: +use.getAttribute('x'), y: +use.getAttribute('y'), is: use.getAttribute('href').slice(3)}))
              .sort((a, b) => a.x - b.x || b.y - a.y).map(mark => mark.is);
            """,
            part);
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
    browser.await("the sum", () -> browser.text("#sum").contains("twelve calls 5 were admitted"));
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

  /** Its sentence states what was counted, however long the calls took. */
  @Test
  void aFloodShowsItsProgressAndWhatDecides() {
    assertThat(browser.one("#flooding progress").getDomProperty("max"))
        .isEqualTo(Integer.toString(Flood.CALLS));
    browser.script(
        """
        const text = document.querySelector('#flooding span');
        window.progress = [];
        new MutationObserver(() => window.progress.push(text.textContent)).observe(text, {childList: true});
        """);
    browser.click("#hot button[data-action='flood']");

    browser.await("the sum", FLOODED, () -> browser.text("#flooded").contains("were admitted"));
    assertThat((List<?>) browser.script("return window.progress"))
        .anySatisfy(text -> assertThat(text).asString().matches("[1-9][\\d,]* of 2,600 calls"));
    assertThat(browser.one("#flooding").isDisplayed()).isFalse();
    assertThat(browser.text("#hot .source")).contains("lease = \"100ms\"");
    Map<String, Integer> sums = new TreeMap<>();
    for (int i = 1; i <= 2; i++) {
      String instance = "[data-flooded='" + i + "'] ";
      for (String what : List.of("lease", "store", "denied")) {
        sums.merge(what, browser.number(instance + "[data-calls='" + what + "']"), Integer::sum);
      }
      int byLease = browser.number(instance + "[data-calls='lease']");
      assertThat(byLease).isPositive();
      Matcher units =
          Pattern.compile(".* [1-9]\\d* units granted, (\\d+) spent, \\d+ returned, \\d+ expired")
              .matcher(browser.text(instance + "[data-units]"));
      assertThat(units.matches()).as(browser.text(instance + "[data-units]")).isTrue();
      // A unit counts as spent, too, that a call took as its lease ended, and has given back.
      assertThat(Integer.parseInt(units.group(1))).isBetween(byLease, byLease + Flood.AT_ONCE);
    }
    Matcher sentence =
        Pattern.compile(
                "(\\d+) calls were admitted within \\d+(\\.\\d)? s, by both instances together:"
                    + " (\\d+) by leases, (\\d+) by Redis(, \\d+ by memory)?\\. (\\d+) were"
                    + " denied\\.")
            .matcher(browser.text("#flooded").replaceAll("(?<=\\d),(?=\\d)", ""));
    assertThat(sentence.matches()).as(browser.text("#flooded")).isTrue();
    assertThat(sentence.group(3)).isEqualTo(sums.get("lease").toString());
    assertThat(sentence.group(4)).isEqualTo(sums.get("store").toString());
    assertThat(sentence.group(6)).isEqualTo(sums.get("denied").toString());
    // Two more calls end the leases.
    assertThat(Integer.parseInt(sentence.group(1)) + sums.get("denied")).isEqualTo(Flood.CALLS + 2);
  }

  @Test
  void whileTheDatabaseIsSlowCallsAreRejectedAtOnce() {
    browser.click("#database button");

    browser.await("the calls", () -> browser.text("#slowed").contains("were rejected at once"));
    assertThat(browser.text("#database .source")).contains("@LocalConcurrency");
    assertThat(browser.text("#phases tr:nth-child(2) th")).isEqualTo("slow");
    int answered = browser.number("#phases tr:nth-child(2) td:nth-child(2)");
    int rejected = browser.number("#phases tr:nth-child(2) td:nth-child(3)");
    assertThat(rejected).isGreaterThan(answered);
    assertThat(browser.text("#slowed")).contains(rejected + " calls");
    assertThat(browser.inaccessible()).isEmpty();
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
    String policy = "[data-policy*='ArticleController']";
    browser.await("policies", () -> !browser.all(policy).isEmpty());
    browser.await("who is denied", () -> browser.text("[data-talkers]").contains("127.0.0.1"));

    new Select(browser.one("#subject select[name='policy']"))
        .selectByValue(browser.one(policy).getDomAttribute("data-policy"));
    WebElement value = browser.one("#subject input[name='value']");
    value.clear();
    value.sendKeys("127.0.0.1");
    browser.click("#operator button[data-action='inspect']");
    browser.await("looked at", () -> browser.text("#seen").contains("10"));
    browser.click("#operator button[data-action='reset']");
    browser.await(
        "a call passes again",
        () -> {
          browser.click(card("articles") + "button[data-action='once']");
          return browser.number(count(card("articles"), "admitted")) > 10;
        });
    browser.click("#operator button[data-action='override']");
    browser.await(
        "the override holds",
        () -> {
          browser.click(card("articles") + "button[data-action='burst']");
          return browser.number(count(card("articles"), "admitted")) > 20;
        });
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
    browser.click(card("articles") + "button[data-action='burst']");
    awaitCounts(card("articles"), "admitted 10, denied 2");
    browser.click(card("articles") + "button[data-action='once']"); // the last answer is a denial
    awaitCounts(card("articles"), "admitted 10, denied 3");

    browser.await(
        "problem+json in Chinese",
        () -> {
          String raw = browser.text(card("articles") + "[data-raw]");
          return raw.contains("application/problem+json") && raw.contains("请求过于频繁");
        });
  }

  private static void select(String name, String value) {
    WebElement list = browser.one("select[name='" + name + "']");
    new Select(list).selectByValue(value);
  }

  /** By Tab and Enter, as it is without a mouse; each stop is visible. */
  @Test
  void allPoliciesOnlyObserveWhileTheSwitchIsOn() {
    String articles = card("articles");
    browser.click("input[name='observe']");
    browser.await("observed", () -> browser.text("#switched").contains("only observe"));
    browser.click(articles + "button[data-action='burst']");
    awaitCounts(articles, "admitted 12");

    browser.click("input[name='observe']");
    browser.await("enforced", () -> browser.text("#switched").contains("deny again"));
    browser.click(articles + "button[data-action='burst']");
    awaitCounts(articles, "admitted 12, denied 12");
  }

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
                "return [...document.querySelectorAll('button')].filter(b =>"
                    + " b.offsetParent).filter(b => {const r = b.getBoundingClientRect();return"
                    + " r.left < 0 || r.right > innerWidth || r.height < 24 || r.width < 24}).map(b"
                    + " => b.textContent)"))
        .as("buttons out of reach, or too small")
        .isEqualTo(List.of());
  }

  /** With the burst at load, whose answers are folded. */
  @Test
  void aPhonesPageIsShortAndOpensWhatItsLinksName() {
    browser.phone(390);
    browser.scheme(false, true);
    browser.openAsItIs(demo.port());
    awaitCounts(card("articles"), "admitted 10, denied 2");
    browser.await("its sentence", () -> !browser.text(PLAYED).isEmpty());
    assertThat((Long) browser.script("return document.documentElement.scrollHeight"))
        .isLessThanOrEqualTo(4_000);

    WebElement stop = browser.one("#redis button[data-action='stop']");
    assertThat(stop.isDisplayed()).isFalse();
    browser.click("nav a[href='#redis']");
    browser.await("it is open", stop::isDisplayed);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void axeFindsNothing(boolean dark) {
    browser.desktop(dark);
    assertThat(browser.inaccessible()).as("at first").isEmpty();
    browser.click(card("articles") + "button[data-action='burst']");
    browser.click(card("search") + "button[data-action='burst']");
    awaitCounts(card("articles"), "admitted 10, denied 2"); // memory would begin to count
    browser.click("#redis button[data-action='stop']");
    browser.await("Redis is stopped", () -> browser.text("[data-redis-state]").equals("stopped"));
    assertThat(browser.inaccessible()).as("after calls, without Redis").isEmpty();
    browser.click("#redis button[data-action='continue']");
    logIn();
    assertThat(browser.inaccessible()).as("for operators").isEmpty();
    browser.phone(390);
    assertThat(browser.inaccessible()).as("on a phone").isEmpty();
    browser.openAsItIs(demo.port());
    assertThat(browser.inaccessible()).as("on a phone, folded").isEmpty();
  }
}
