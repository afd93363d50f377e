package example;

import io.micronaut.serde.annotation.Serdeable;

@Serdeable
record Order(String item, int amount) {}
