// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.http.multipart.CompletedFileUpload;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/**
 * The kinds of routes of {@link RoutesByRequest} and {@link RoutesByArgument}, and how each is
 * called.
 */
enum RouteKind {
  SYNC("/sync", 200, "ok"),
  RESPONSE("/response", 201, "ok"),
  STAGE("/stage", 200, "ok"),
  MONO("/mono", 200, "ok"),
  MONO_RESPONSE("/mono-response", 201, "ok"),
  FLUX("/flux", 200, "[{\"n\":1},{\"n\":2}]"),
  STREAM("/stream", 200, "{\"n\":1}{\"n\":2}"),
  EVENTS("/events", 200, "data: 1\n\ndata: 2\n\n"),
  NOTHING("/nothing", 204, ""),
  ELSEWHERE("/elsewhere", 200, "ok"),
  BODY("/body", 200, "paper"),
  BODY_STAGE("/body-stage", 200, "paper"),
  UPLOAD("/upload", 200, "a.txt:hello");

  private static final String BOUNDARY = "limits";
  private static final String MULTIPART =
      String.join(
          "\r\n",
          "--" + BOUNDARY,
          "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"",
          "Content-Type: text/plain",
          "",
          "hello",
          "--" + BOUNDARY + "--",
          "");

  private final String path;

  /** What an admitted call is answered. */
  final int status;

  final String body;

  RouteKind(String path, int status, String body) {
    this.path = path;
    this.status = status;
    this.body = body;
  }

  /**
   * What came with a file. Netty leaves a line's end at the end of a file where the bytes of the
   * request were cut just there.
   */
  static String describe(CompletedFileUpload file) throws IOException {
    return file.getFilename()
        + ":"
        + new String(file.getBytes(), StandardCharsets.US_ASCII).strip();
  }

  String path(Decider decider) {
    return decider.path + path + "?who=alice";
  }

  HttpResponse<String> call(TestServer server, Decider decider) {
    String path = path(decider);
    return switch (this) {
      case BODY, BODY_STAGE -> server.post(path, "{\"item\":\"paper\"}");
      case UPLOAD ->
          server.exchange(
              "POST", path, MULTIPART, "Content-Type", "multipart/form-data; boundary=" + BOUNDARY);
      default -> server.get(path);
    };
  }

  /** Who can decide a route. */
  enum Decider {
    /** Its subject is the client's address: the gate, where there is one. */
    REQUEST("/by-request"),
    /** Its subject is an argument: the guard. */
    ARGUMENT("/by-argument");

    final String path;

    Decider(String path) {
      this.path = path;
    }
  }
}
