package example

import jakarta.inject.Singleton
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.delay

@Singleton
class Warehouse {

    /** How long it takes to pick an order. */
    @Volatile
    var millis = 0L

    val begun = AtomicInteger()
    private val busy = AtomicInteger()
    val mostBusy = AtomicInteger()

    suspend fun pick(): Int {
        val number = begun.incrementAndGet()
        mostBusy.accumulateAndGet(busy.incrementAndGet(), ::maxOf)
        delay(millis)
        busy.decrementAndGet()
        return number
    }
}
