// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.http.BadRequestHandler;
import io.limiter.micronaut.http.CallAbandonedHandler;
import io.limiter.micronaut.http.LimitDeniedHandler;
import io.limiter.micronaut.http.RateLimitFields;
import io.limiter.micronaut.http.RateLimitFormat;
import io.limiter.micronaut.intercept.LimitInterceptor;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.limiter.micronaut.subject.ClientAddress;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.Continuations;
import io.micronaut.core.annotation.Internal;
import java.net.InetSocketAddress;
import java.util.List;

@AnalyzeClasses(packages = "io.limiter.micronaut", importOptions = DoNotIncludeTests.class)
class PackageArrowsTest {

  private static final String ROOT = "io.limiter.micronaut.";
  private static final String ADDRESS = ROOT + "address..";
  private static final String ANNOTATION = ROOT + "annotation..";
  private static final String CONFIG = ROOT + "config..";
  private static final String EVENT = ROOT + "event..";
  private static final String EXCEPTION = ROOT + "exception..";
  private static final String HTTP = ROOT + "http..";
  private static final String INTERCEPT = ROOT + "intercept..";
  private static final String CALL = ROOT + "call..";
  private static final String DENIAL = ROOT + "denial..";
  private static final String METADATA = ROOT + "metadata..";
  private static final String METRICS = ROOT + "metrics..";
  private static final String PLAN = ROOT + "plan..";
  private static final String REDIS = ROOT + "redis..";
  private static final String REFRESH = ROOT + "refresh..";
  private static final String SUBJECT = ROOT + "subject..";
  private static final String THREAD = ROOT + "thread..";

  private static String[] of(String... packages) {
    return packages;
  }

  private static ArchRule independent(String[] packages, String... ofThese) {
    return noClasses()
        .that()
        .resideInAnyPackage(packages)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(ofThese);
  }

  /** Micronaut's processors write public classes beside ours. */
  private static final DescribedPredicate<JavaClass> WRITTEN_BY_HAND =
      DescribedPredicate.not(
          describe(
              "generated",
              type -> type.getName().contains(".$") || type.getName().contains("$Intercepted")));

  private static final DescribedPredicate<JavaClass> SEALED =
      describe("sealed", type -> type.reflect().isSealed());

  @ArchTest
  static final ArchRule annotationsImportNothingOfOurs =
      noClasses()
          .that(WRITTEN_BY_HAND)
          .and()
          .resideInAPackage(ANNOTATION)
          .should()
          .dependOnClassesThat(
              DescribedPredicate.not(
                  resideInAnyPackage(
                      ANNOTATION,
                      "java..",
                      "io.micronaut.aop..",
                      "io.micronaut.context.annotation..",
                      "io.micronaut.core.annotation..",
                      "io.limiter.core", // the verdict that ends a stream
                      "io.limiter.core.rule", // an algorithm that a rule names
                      "io.micronaut.http",
                      "io.micronaut.http.annotation", // what a SubjectResolver is asked about
                      "org.jspecify.annotations..")));

  /**
   * What a caller sends is never matched: none of its texts takes longer than its length asks for.
   */
  @ArchTest
  static final ArchRule nothingThatSeesRequestsHasRegularExpressions =
      independent(of(ADDRESS, CALL, DENIAL, HTTP, INTERCEPT, SUBJECT, THREAD), "java.util.regex..");

  /** A room: the gate finds it as a bean. */
  @ArchTest
  static final ArchRule nothingKnowsDirectDenials =
      noClasses()
          .that(WRITTEN_BY_HAND)
          .and(DescribedPredicate.not(belongTo("DirectDenials")))
          .should()
          .dependOnClassesThat(belongTo("DirectDenials"));

  private static DescribedPredicate<JavaClass> belongTo(String type) {
    return describe(
        "belongs to " + type, found -> found.getName().matches(".*[.]" + type + "([$].*)?"));
  }

  @ArchTest static final ArchRule theGateKnowsNoGuard = independent(of(HTTP), INTERCEPT);

  @ArchTest static final ArchRule theGuardKnowsNoGate = independent(of(INTERCEPT), HTTP);

  @ArchTest
  static final ArchRule callersOfTheStoreDoNotKnowIt =
      independent(
          of(CALL, HTTP, INTERCEPT, METADATA, PLAN, SUBJECT, THREAD),
          REDIS,
          "io.limiter.core.redis..",
          "io.limiter.core.memory..",
          "io.lettuce..");

  @ArchTest
  static final ArchRule metadataKnowsNoCalls = independent(of(METADATA), CALL, HTTP, INTERCEPT);

  @ArchTest
  static final ArchRule aPlanKnowsNothingOfCalls =
      independent(of(PLAN), CALL, DENIAL, HTTP, INTERCEPT, METADATA, REDIS);

  @ArchTest
  static final ArchRule aCallKnowsNeitherGateNorGuard =
      independent(of(CALL), ANNOTATION, DENIAL, HTTP, INTERCEPT, METADATA, REDIS);

  @ArchTest
  static final ArchRule eventsKnowNeitherGateNorGuard =
      independent(of(EVENT), ANNOTATION, DENIAL, HTTP, INTERCEPT, METADATA, REDIS);

  @ArchTest
  static final ArchRule onlyMetersKnowMicrometerAndOpenTelemetry =
      noClasses()
          .that()
          .resideOutsideOfPackage(METRICS)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.micrometer..", "io.opentelemetry..");

  @ArchTest
  static final ArchRule metersKnowNeitherGateNorGuard =
      independent(of(METRICS), ANNOTATION, DENIAL, HTTP, INTERCEPT, METADATA, REDIS);

  @ArchTest
  static final ArchRule onlyHealthAndTheRefreshKnowManagement =
      noClasses()
          .that()
          .resideOutsideOfPackages(REFRESH, ROOT + "health..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(REFRESH, "io.micronaut.management..");

  @ArchTest
  static final ArchRule whatHappensDoesNotKnowItsEvents =
      independent(of(CALL, HTTP, INTERCEPT, PLAN, REDIS), EVENT);

  @ArchTest
  static final ArchRule theStoreDoesNotKnowItsCallers =
      independent(
          of(REDIS), ANNOTATION, CALL, DENIAL, EXCEPTION, HTTP, INTERCEPT, METADATA, PLAN, SUBJECT);

  @ArchTest
  static final ArchRule denialsKnowNoPlanAndNoCall =
      independent(
          of(DENIAL), ANNOTATION, CALL, HTTP, INTERCEPT, METADATA, PLAN, REDIS, SUBJECT, THREAD);

  @ArchTest
  static final ArchRule onlyTheEventLoopsFinderKnowsNetty =
      noClasses()
          .that(WRITTEN_BY_HAND)
          .and()
          .doNotHaveSimpleName("NettyCallerThread")
          .and()
          .doNotHaveSimpleName("OrderedDecision") // its own
          .and()
          .doNotHaveSimpleName("WebSocketChannels")
          .and()
          .doNotHaveSimpleName("Connection") // these two are its own
          .and()
          .doNotHaveSimpleName("CurrentChannel")
          .and()
          .doNotHaveSimpleName("ServerLoops")
          .and()
          .doNotHaveSimpleName("NettyUnixSockets")
          .and()
          .doNotHaveSimpleName("RedisConnections")
          .and()
          .doNotHaveSimpleName("OfNetty") // releases the buffers of streams, where Netty is there
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.micronaut.http.server.netty..", "io.netty..");

  @ArchTest
  static final ArchRule addressesAreNothingButBits =
      noClasses()
          .that()
          .resideInAPackage(ADDRESS)
          .should()
          .dependOnClassesThat(
              DescribedPredicate.not(
                  resideInAnyPackage(
                          ADDRESS,
                          "java.lang..",
                          "java.net",
                          "java.nio",
                          "java.util",
                          "io.micronaut.core.annotation",
                          "org.jspecify..")
                      .or(resideInAnyPackage("java.util.function", "java.util.stream"))));

  /** Names are whatever a caller writes: to look one up would let the caller stop an event loop. */
  @ArchTest
  static final ArchRule noNameIsEverLookedUp =
      noClasses()
          .that()
          .resideInAnyPackage(ADDRESS, CONFIG, SUBJECT)
          .should()
          .callMethodWhere(
              describe(
                  "a name is looked up",
                  call ->
                      List.of(
                              "getByName",
                              "getAllByName",
                              "getHostName",
                              "getCanonicalHostName",
                              "isReachable")
                          .contains(call.getName())))
          .orShould()
          .callConstructor(InetSocketAddress.class, String.class, int.class);

  @ArchTest
  static final ArchRule noCycles =
      slices().matching("io.limiter.micronaut.(*)..").should().beFreeOfCycles();

  /** What an application may replace is in denial, http and subject. Each door has its calls. */
  @ArchTest
  static final ArchRule whatIsPublicCannotBeExtendedElsewhere =
      classes()
          .that(WRITTEN_BY_HAND)
          .and()
          .arePublic()
          .and()
          .areNotInterfaces()
          .and()
          .resideOutsideOfPackages(DENIAL, HTTP, SUBJECT)
          .and(DescribedPredicate.not(SEALED))
          .and(DescribedPredicate.not(JavaClass.Predicates.type(ArrivingCall.class)))
          .should()
          .haveModifier(JavaModifier.FINAL);

  /** What an application implements, replaces, orders its filters by, or receives from those. */
  private static final DescribedPredicate<JavaClass> FOR_APPLICATIONS =
      JavaClass.Predicates.belongToAnyOf(
              BadRequestHandler.class,
              CallAbandonedHandler.class,
              ClientAddress.class,
              Continuations.class,
              Denial.class,
              DenialBody.class,
              DenialMessages.class,
              IpAddress.class,
              LimitDeniedHandler.class,
              LimitInterceptor.class,
              LimiterEvent.class,
              LimitPolicies.class,
              LimitStoreFactory.class,
              LimitedPolicy.class,
              Origin.class,
              RateLimitFields.class,
              RateLimitFormat.class,
              Rejections.class,
              RequestSubjects.class,
              SubjectSource.class)
          .or(resideInAnyPackage(ANNOTATION, CONFIG, EXCEPTION));

  @ArchTest
  static final ArchRule allElseThatIsPublicIsMarkedInternal =
      classes()
          .that(WRITTEN_BY_HAND)
          .and()
          .areTopLevelClasses()
          .and()
          .arePublic()
          .and(DescribedPredicate.not(FOR_APPLICATIONS))
          .should()
          .beAnnotatedWith(Internal.class);
}
