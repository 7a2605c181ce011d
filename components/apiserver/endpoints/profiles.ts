import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { type Profiler, ProfilerBusy } from "../../../pkg/runtime/profiler.ts"
import type { Exchange } from "../call/exchange.ts"

/** How long the processor is watched unless the request says so. Source: net/http/pprof Profile. */
const USUAL_SECONDS = 30
/** A request ends after a minute, and its answer needs time too. */
const MOST_SECONDS = 50

const TEXT = { "Content-Type": "text/plain; charset=utf-8" }

/**
 * Answers a path below `/debug/pprof`; undefined where there is none. Paths, parameters and texts are those of Go's
 * net/http/pprof, the profiles are those of JavaScript engines. RBAC gives these paths to nobody, so that only
 * system:masters has them: a heap snapshot holds every Secret.
 */
export async function profileAt(
  path: string,
  seconds: string | undefined,
  profiler: Profiler,
  exchange: Exchange,
): Promise<Response | undefined> {
  try {
    switch (path.replace(/\/$/, "").slice("/debug/pprof".length)) {
      case "":
        return new Response("/debug/pprof/\n\nheap\nprofile\n", { headers: TEXT })
      case "/profile":
        return file("k3ts.cpuprofile", await profiler.cpu(secondsOf(seconds), goneSignal(exchange)))
      case "/heap":
        return file("k3ts.heapsnapshot", await profiler.heap())
      default:
        return undefined
    }
  } catch (err) {
    if (!(err instanceof ProfilerBusy)) throw err
    return new Response(`Could not enable profiling: ${err.message}\n`, { status: 500, headers: TEXT })
  }
}

/**
 * Differs from upstream: Go takes its usual time for what is no number.
 * @throws BadRequest for what is no number of seconds, and for more than a request may take
 */
function secondsOf(text: string | undefined): number {
  if (text === undefined || text === "") return USUAL_SECONDS
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds
  throw badRequest(
    seconds > MOST_SECONDS
      ? `seconds: ${seconds}: profile duration exceeds server's WriteTimeout; ask for at most ${MOST_SECONDS}`
      : `seconds: ${JSON.stringify(text)}: must be a whole number from 1 to ${MOST_SECONDS}`,
  )
}

/** Aborts when the client has gone, so that nobody's profile keeps others from theirs. */
function goneSignal({ res }: Exchange): AbortSignal {
  const gone = new AbortController()
  res.once("close", () => gone.abort())
  return gone.signal
}

const file = (name: string, body: string | Uint8Array) =>
  new Response(body as BodyInit, {
    headers: { "Content-Type": "application/json", "Content-Disposition": `attachment; filename="${name}"` },
  })
