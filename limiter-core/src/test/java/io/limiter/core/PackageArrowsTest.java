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

  private static final String ROOT = "io.limiter.core";
  private static final String MEMORY = "io.limiter.core.memory..";
  private static final String REDIS = "io.limiter.core.redis..";
  private static final String RESILIENCE = "io.limiter.core.resilience..";

  @ArchTest
  static final ArchRule coreKnowsNothingOfMicronaut =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.micronaut..")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule theContractKnowsNoneOfItsImplementations =
      noClasses()
          .that()
          .resideInAPackage(ROOT)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(MEMORY, REDIS, RESILIENCE)
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule memoryStandsAlone =
      noClasses()
          .that()
          .resideInAPackage(MEMORY)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(REDIS, RESILIENCE)
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule redisStandsAlone =
      noClasses()
          .that()
          .resideInAPackage(REDIS)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(MEMORY, RESILIENCE)
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule onlyRedisSpeaksLettuce =
      noClasses()
          .that()
          .resideOutsideOfPackage(REDIS)
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.lettuce..")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule noCycles =
      slices().matching("io.limiter.(**)").should().beFreeOfCycles().allowEmptyShould(true);
}
