package example;

import io.micronaut.runtime.Micronaut;

/** A service without a server. */
public class Application {

  public static void main(String[] args) {
    Micronaut.build(args).mainClass(Application.class).start();
  }
}
