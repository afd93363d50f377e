package example

import io.micronaut.http.HttpRequest
import io.micronaut.http.client.HttpClient
import io.micronaut.http.client.annotation.Client
import io.micronaut.http.client.exceptions.HttpClientResponseException
import io.micronaut.runtime.server.EmbeddedServer
import io.micronaut.test.extensions.junit5.annotation.MicronautTest
import java.net.Socket
import java.util.concurrent.CompletableFuture
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test

@MicronautTest
class OrderControllerTest(
    @Client("/") private val client: HttpClient,
    private val warehouse: Warehouse,
    private val server: EmbeddedServer
) {

    @BeforeEach
    fun reset() {
        warehouse.millis = 0
        warehouse.begun.set(0)
        warehouse.mostBusy.set(0)
    }

    @Test
    fun `a suspending route runs once for each key`() {
        warehouse.millis = 300
        val both = (1..2).map { CompletableFuture.supplyAsync { post("/orders", "one") } }
        assertEquals(listOf(FIRST, FIRST), both.map { it.join() })
        assertEquals(FIRST, post("/orders", "one"))
        assertEquals("""{"number":2}""", post("/orders", "two"))
        assertEquals(2, warehouse.begun.get())
    }

    @Test
    fun `its response is kept, although its client has left`() {
        warehouse.millis = 500
        Socket(server.host, server.port).use { leaving ->
            val request = "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nX-Client: ann\r\n" +
                "Idempotency-Key: \"left\"\r\n\r\n"
            leaving.getOutputStream().write(request.toByteArray())
            awaitBegin()
        }
        assertEquals(FIRST, post("/orders", "left"))
        assertEquals(1, warehouse.begun.get())
    }

    @Test
    fun `a suspending function that outlasts the time of its guard has no duplicate beside it`() {
        warehouse.millis = 3_500
        val first = CompletableFuture.supplyAsync { post("/orders/express", "") }
        awaitBegin()
        val others = mutableListOf<String>()
        while (!first.isDone) {
            others += post("/orders/express", "")
        }
        assertEquals(FIRST, first.join())
        assertEquals("409", others.first())
        assertTrue(others.count { it == "409" } >= others.size - 1) // the last one may follow it
        assertEquals(1, warehouse.mostBusy.get())
    }

    private fun awaitBegin() {
        val end = System.nanoTime() + 10_000_000_000
        while (warehouse.begun.get() == 0) {
            assertTrue(System.nanoTime() < end, "nothing has begun")
            Thread.onSpinWait()
        }
    }

    private fun post(path: String, key: String): String {
        val request = HttpRequest.POST(path, "").header("X-Client", "ann")
        if (key.isNotEmpty()) {
            request.header("Idempotency-Key", "\"$key\"")
        }
        return try {
            client.toBlocking().retrieve(request)
        } catch (denied: HttpClientResponseException) {
            denied.code().toString()
        }
    }

    private companion object {
        const val FIRST = """{"number":1}"""
    }
}
