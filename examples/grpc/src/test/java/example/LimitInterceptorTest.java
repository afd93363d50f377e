package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.micronaut.grpc.server.GrpcEmbeddedServer;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@MicronautTest
class LimitInterceptorTest {

  @Inject GrpcEmbeddedServer server;
  private ManagedChannel channel;

  @BeforeEach
  void connect() {
    channel = ManagedChannelBuilder.forAddress("localhost", server.getPort()).usePlaintext().build();
  }

  @AfterEach
  void disconnect() {
    channel.shutdownNow();
  }

  @Test
  void eachKeyIsCounted() {
    for (int i = 0; i < 3; i++) {
      assertEquals("tea is 42", quote("ann"));
    }
    StatusRuntimeException denied =
        assertThrows(StatusRuntimeException.class, () -> quote("ann"));
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, denied.getStatus().getCode());
    int seconds = Integer.parseInt(denied.getTrailers().get(LimitInterceptor.RETRY_AFTER));
    assertTrue(seconds > 50 && seconds <= 60, seconds + " s");
    assertEquals("tea is 42", quote("bob"));
  }

  private String quote(String key) {
    Metadata headers = new Metadata();
    headers.put(LimitInterceptor.API_KEY, key);
    Channel asCaller =
        ClientInterceptors.intercept(
            channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    return ClientCalls.blockingUnaryCall(
        asCaller, QuoteService.QUOTE, CallOptions.DEFAULT, "tea");
  }
}
