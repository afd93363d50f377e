package example

import io.limiter.idempotency.Idempotent
import io.limiter.micronaut.annotation.Duplicate
import io.limiter.micronaut.annotation.DuplicateBy
import io.limiter.micronaut.annotation.RateLimiter
import io.limiter.micronaut.annotation.RateRule
import io.micronaut.http.annotation.Controller
import io.micronaut.http.annotation.Post
import io.micronaut.serde.annotation.Serdeable

@Controller("/orders")
class OrderController(private val warehouse: Warehouse) {

    @Serdeable
    data class Receipt(val number: Int)

    /** Runs once for each Idempotency-Key of a client; its response is repeated. */
    @Post
    @Idempotent(header = "X-Client")
    suspend fun place(): Receipt = Receipt(warehouse.pick())

    /** A repetition is a duplicate for two seconds, and while the function runs. */
    @Post("/express")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = RateRule(time = 2),
        duplicate = [Duplicate(by = DuplicateBy.CALLER, claim = "1s")]
    )
    suspend fun placeExpress(): Receipt = Receipt(warehouse.pick())
}
