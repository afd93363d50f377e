plugins {
    id("io.micronaut.application") version "4.6.1"
}

version = "0.1"
group = "io.limiter.examples"

val limiter = "0.1.0-SNAPSHOT"

dependencies {
    annotationProcessor(platform("io.limiter:limiter-bom:$limiter"))
    annotationProcessor("io.limiter:limiter-processor") // reports mistakes in limits; optional
    annotationProcessor("io.micronaut.serde:micronaut-serde-processor")
    implementation(platform("io.limiter:limiter-bom:$limiter"))
    implementation("io.limiter:limiter-micronaut")
    implementation("io.micronaut.redis:micronaut-redis-lettuce")
    implementation("io.micronaut:micronaut-http-server-netty")
    implementation("io.micronaut.serde:micronaut-serde-jackson")
    runtimeOnly("ch.qos.logback:logback-classic")
    testImplementation("io.limiter:limiter-test")
    testImplementation("io.micronaut:micronaut-http-client")
    testImplementation("com.github.codemonstur:embedded-redis:1.4.4")
}

java {
    sourceCompatibility = JavaVersion.VERSION_17
}

application {
    mainClass = "example.Application"
}

micronaut {
    version("4.10.12")
    runtime("netty")
    testRuntime("junit5")
    processing {
        incremental(true)
        annotations("example.*")
    }
}

// The sources of the same application with Maven.
sourceSets {
    main {
        java.srcDir("../java-serde/src/main/java")
        resources.srcDir("../java-serde/src/main/resources")
    }
    test {
        java.srcDir("../java-serde/src/test/java")
    }
}
