// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "io.limiter.core", importOptions = DoNotIncludeTests.class)
class PackageArrowsTest {

  private static final String CORE = "io.limiter.core";
  private static final String RULE = "io.limiter.core.rule";
  private static final String STORE = "io.limiter.core.store";
  private static final String STATE = "io.limiter.core.state";
  private static final String MEMORY = "io.limiter.core.memory";
  private static final String REDIS = "io.limiter.core.redis..";
  private static final String UTIL = "io.limiter.core.util";
  private static final String STORE_OVER_REDIS = "io.limiter.core.redis";
  private static final String CONNECTION = "io.limiter.core.redis.connection";
  private static final String CLUSTER = "io.limiter.core.redis.cluster";
  private static final String WIRE = "io.limiter.core.redis.wire";
  private static final String DENY_CACHE = "io.limiter.core.denycache";
  private static final String LEASE = "io.limiter.core.lease";
  private static final String OUTAGE = "io.limiter.core.outage";

  @ArchTest static final ArchRule coreKnowsNothingOfMicronaut = none("..", "io.micronaut..");

  @ArchTest
  static final ArchRule rulesAreValuesAlone = none(RULE, CORE, STORE, STATE, MEMORY, REDIS);

  @ArchTest static final ArchRule theModelKnowsNoStore = none(CORE, STORE, STATE, MEMORY, REDIS);

  @ArchTest
  static final ArchRule theContractKnowsNoImplementation = none(STORE, STATE, MEMORY, REDIS);

  @ArchTest static final ArchRule arithmeticKnowsNoStore = none(STATE, MEMORY, REDIS);

  @ArchTest static final ArchRule memoryStandsAlone = none(MEMORY, REDIS);

  @ArchTest static final ArchRule redisStandsAlone = none(REDIS, MEMORY);

  @ArchTest static final ArchRule theDenyCacheKnowsNoRedis = none(DENY_CACHE, REDIS, MEMORY);

  @ArchTest static final ArchRule leasesKnowNoRedis = none(LEASE, REDIS, MEMORY);

  @ArchTest static final ArchRule anOutageKnowsNoRedis = none(OUTAGE, REDIS, MEMORY);

  @ArchTest
  static final ArchRule utilitiesStandAlone = none(UTIL, CORE, RULE, STORE, STATE, MEMORY, REDIS);

  @ArchTest
  static final ArchRule theWireFormatKnowsNoConnection =
      none(WIRE, STORE_OVER_REDIS, CONNECTION, CLUSTER);

  @ArchTest
  static final ArchRule aConnectionKnowsNoStore = none(CONNECTION, STORE_OVER_REDIS, CLUSTER);

  @ArchTest static final ArchRule theStoreKnowsNoClusterClient = none(STORE_OVER_REDIS, CLUSTER);

  @ArchTest
  static final ArchRule onlyRedisUsesLettuce =
      noClasses()
          .that()
          .resideOutsideOfPackage(REDIS)
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.lettuce..")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule noCycles = slices().matching("io.limiter.(**)").should().beFreeOfCycles();

  private static ArchRule none(String from, String... to) {
    return noClasses()
        .that()
        .resideInAPackage(from)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(to)
        .allowEmptyShould(true);
  }
}
