package example

import io.limiter.micronaut.annotation.RateRule
import io.micronaut.http.annotation.Controller
import io.micronaut.http.annotation.Get
import io.micronaut.http.annotation.PathVariable
import io.micronaut.serde.annotation.Serdeable
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flowOf

@Controller("/news")
class NewsController(private val archive: Archive) {

    @Serdeable
    data class Headline(val text: String)

    /** Three in a minute for each address. */
    @Get
    @RateRule(count = 3, time = 60)
    suspend fun latest(): Headline {
        delay(10)
        return Headline("Kettle boils")
    }

    @Get("/all")
    @RateRule(count = 2, time = 60)
    fun all(): Flow<Headline> = flowOf(Headline("Kettle boils"), Headline("Tea is served"))

    /** The bean that it calls is limited. */
    @Get("/archive/{year}")
    suspend fun archive(@PathVariable year: Int): Headline = archive.of(year)
}
