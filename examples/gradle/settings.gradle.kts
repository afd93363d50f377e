rootProject.name = "orders"

dependencyResolutionManagement {
    repositories {
        mavenLocal { content { includeGroup("io.limiter") } } // until a version is published
        mavenCentral()
    }
}
