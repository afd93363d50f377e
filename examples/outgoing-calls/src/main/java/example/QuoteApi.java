package example;

import io.micronaut.http.annotation.Get;

/** Shared by the server and its clients; so the limit is on the controller, not here. */
interface QuoteApi {

  @Get("/quotes")
  String quote();
}
