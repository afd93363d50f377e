package example

import io.micronaut.http.client.HttpClient
import io.micronaut.http.client.annotation.Client
import io.micronaut.http.client.exceptions.HttpClientResponseException
import io.micronaut.test.extensions.junit5.annotation.MicronautTest
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

@MicronautTest
class NewsControllerTest(@Client("/") private val client: HttpClient) {

    @Test
    fun `a suspending route is limited`() {
        val headline = """{"text":"Kettle boils"}"""
        assertEquals(listOf(headline, headline, headline, "429"), (1..4).map { call("/news") })
    }

    @Test
    fun `a flow is limited`() {
        val all = """[{"text":"Kettle boils"},{"text":"Tea is served"}]"""
        assertEquals(listOf(all, all, "429"), (1..3).map { call("/news/all") })
    }

    @Test
    fun `a suspending function of a bean is limited by its argument`() {
        assertEquals("""{"text":"It was 1984"}""", call("/news/archive/1984"))
        assertEquals("429", call("/news/archive/1984"))
        assertEquals("""{"text":"It was 1985"}""", call("/news/archive/1985"))
    }

    private fun call(path: String): String =
        try {
            client.toBlocking().retrieve(path)
        } catch (denied: HttpClientResponseException) {
            denied.code().toString()
        }
}
