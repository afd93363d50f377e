package example;

import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** A service with one method; protoc would generate its descriptor. */
@Singleton
public class QuoteService implements BindableService {

  private static final MethodDescriptor.Marshaller<String> TEXT =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String value) {
          return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
          try {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  public static final MethodDescriptor<String, String> QUOTE =
      MethodDescriptor.<String, String>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("example.Quotes/Quote")
          .setRequestMarshaller(TEXT)
          .setResponseMarshaller(TEXT)
          .build();

  @Override
  public ServerServiceDefinition bindService() {
    return ServerServiceDefinition.builder("example.Quotes")
        .addMethod(
            QUOTE,
            ServerCalls.asyncUnaryCall(
                (item, response) -> {
                  response.onNext(item + " is 42");
                  response.onCompleted();
                }))
        .build();
  }
}
