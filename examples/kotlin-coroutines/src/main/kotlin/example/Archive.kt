package example

import io.limiter.micronaut.annotation.RateLimiter
import io.limiter.micronaut.annotation.RateRule
import jakarta.inject.Singleton
import kotlinx.coroutines.delay

@Singleton
class Archive {

    /** Once in a minute for each year. */
    @RateLimiter(subject = "#{year}", rules = [RateRule(count = 1, time = 60)])
    suspend fun of(year: Int): NewsController.Headline {
        delay(10)
        return NewsController.Headline("It was $year")
    }
}
