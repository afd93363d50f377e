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
import java.net.InetSocketAddress;
import java.util.List;

@AnalyzeClasses(packages = "io.limiter.micronaut", importOptions = DoNotIncludeTests.class)
class PackageArrowsTest {

  private static final String ROOT = "io.limiter.micronaut.";
  private static final String ADDRESS = ROOT + "address..";
  private static final String ANNOTATION = ROOT + "annotation..";
  private static final String CONFIG = ROOT + "config..";
  private static final String EXCEPTION = ROOT + "exception..";
  private static final String HTTP = ROOT + "http..";
  private static final String INTERCEPT = ROOT + "intercept..";
  private static final String MESSAGE = ROOT + "message..";
  private static final String PLAN = ROOT + "plan..";
  private static final String REDIS = ROOT + "redis..";
  private static final String SUBJECT = ROOT + "subject..";
  private static final String THREAD = ROOT + "thread..";

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
                      "io.limiter.core", // an algorithm that a rule names
                      "io.micronaut.http", // what a SubjectResolver is asked about
                      "org.jspecify.annotations..")));

  /** What a caller sends is never matched: no text of his takes longer than its length asks for. */
  @ArchTest
  static final ArchRule nothingThatSeesRequestsHasRegularExpressions =
      noClasses()
          .that()
          .resideInAnyPackage(ADDRESS, HTTP, INTERCEPT, MESSAGE, SUBJECT, THREAD)
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.util.regex..");

  @ArchTest
  static final ArchRule gateAndGuardMeetOnlyInThePlan =
      noClasses()
          .that()
          .resideInAPackage(HTTP)
          .should()
          .dependOnClassesThat()
          .resideInAPackage(INTERCEPT);

  @ArchTest
  static final ArchRule guardAndGateMeetOnlyInThePlan =
      noClasses()
          .that()
          .resideInAPackage(INTERCEPT)
          .should()
          .dependOnClassesThat()
          .resideInAPackage(HTTP);

  @ArchTest
  static final ArchRule whoDecidesDoesNotKnowTheStore =
      noClasses()
          .that()
          .resideInAnyPackage(HTTP, INTERCEPT, PLAN, SUBJECT, THREAD)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              REDIS, "io.limiter.core.redis..", "io.limiter.core.memory..", "io.lettuce..");

  @ArchTest
  static final ArchRule thePlanDoesNotKnowItsDoors =
      noClasses()
          .that()
          .resideInAPackage(PLAN)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(HTTP, INTERCEPT, REDIS);

  @ArchTest
  static final ArchRule theStoreDoesNotKnowWhoAsks =
      noClasses()
          .that()
          .resideInAPackage(REDIS)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(ANNOTATION, EXCEPTION, HTTP, INTERCEPT, PLAN, SUBJECT, THREAD);

  @ArchTest
  static final ArchRule messagesKnowOnlyTheirSettings =
      noClasses()
          .that()
          .resideInAPackage(MESSAGE)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(ANNOTATION, EXCEPTION, HTTP, INTERCEPT, PLAN, REDIS, SUBJECT, THREAD);

  @ArchTest
  static final ArchRule onlyTheEventLoopsFinderKnowsNetty =
      noClasses()
          .that(WRITTEN_BY_HAND)
          .and()
          .doNotHaveSimpleName("NettyCallerThread")
          .and()
          .doNotHaveSimpleName("Home") // its own
          .and()
          .doNotHaveSimpleName("ServerLoops")
          .and()
          .doNotHaveSimpleName("NettyUnixSockets")
          .and()
          .doNotHaveSimpleName("RedisConnections")
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
                          "org.jspecify..")
                      .or(resideInAnyPackage("java.util.function", "java.util.stream"))));

  /** Names are whatever a caller writes: to look one up would let him stop an event loop. */
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

  /** What an application may put a bean of its own in place of is in http, message and subject. */
  @ArchTest
  static final ArchRule whatIsPublicCannotBeExtendedElsewhere =
      classes()
          .that(WRITTEN_BY_HAND)
          .and()
          .arePublic()
          .and()
          .areNotInterfaces()
          .and()
          .resideOutsideOfPackages(HTTP, MESSAGE, SUBJECT)
          .and(DescribedPredicate.not(SEALED))
          .should()
          .haveModifier(JavaModifier.FINAL);

  @ArchTest
  static final ArchRule whatIsNoContractIsHidden =
      classes()
          .that(WRITTEN_BY_HAND)
          .and()
          .resideOutsideOfPackages(
              ADDRESS, ANNOTATION, CONFIG, EXCEPTION, HTTP, MESSAGE, PLAN, SUBJECT, THREAD)
          .and()
          .areTopLevelClasses()
          .and()
          .doNotHaveSimpleName("LimitInterceptor") // its POSITION is for those who order theirs
          .and()
          .doNotHaveSimpleName("LimitStores") // what a store of the application's replaces
          .and()
          .doNotHaveSimpleName("WarmUp") // what parts of several packages are
          .should()
          .notBePublic();
}
