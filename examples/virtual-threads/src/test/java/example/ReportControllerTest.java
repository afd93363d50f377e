package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

@MicronautTest
class ReportControllerTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Test
  void limitedMethodsRunOnVirtualThreads() {
    isLimited("/reports", 3);
    isLimited("/reports/sales", 2);
    isLimited("/reports/stock", 2);
  }

  private void isLimited(String path, int count) {
    List<String> results = IntStream.range(0, count).mapToObj(i -> call(path)).toList();

    assertEquals(List.of("true"), results.stream().distinct().toList());
    assertEquals("429", call(path));
  }

  private String call(String path) {
    try {
      return client.toBlocking().retrieve(path);
    } catch (HttpClientResponseException e) {
      return String.valueOf(e.code());
    }
  }
}
