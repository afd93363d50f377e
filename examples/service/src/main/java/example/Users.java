package example;

import io.micronaut.http.HttpRequest;
import io.micronaut.security.authentication.AuthenticationFailureReason;
import io.micronaut.security.authentication.AuthenticationRequest;
import io.micronaut.security.authentication.AuthenticationResponse;
import io.micronaut.security.authentication.provider.HttpRequestAuthenticationProvider;
import jakarta.inject.Singleton;
import java.util.List;

/** Users whose password is their name; one is an operator. */
@Singleton
class Users<B> implements HttpRequestAuthenticationProvider<B> {

  @Override
  public AuthenticationResponse authenticate(
      HttpRequest<B> request, AuthenticationRequest<String, String> credentials) {
    return credentials.getIdentity().equals(credentials.getSecret())
        ? AuthenticationResponse.success(
            credentials.getIdentity(),
            credentials.getIdentity().equals("olga") ? List.of("OPERATOR") : List.of())
        : AuthenticationResponse.failure(AuthenticationFailureReason.CREDENTIALS_DO_NOT_MATCH);
  }
}
