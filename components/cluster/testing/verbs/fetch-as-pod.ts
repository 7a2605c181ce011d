import { checkOptionNames } from "../options/option-names.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { TIMEOUT_MS } from "../network/cluster-network.ts"
import type { From } from "../network/sender.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import type { Driver } from "../time/driver.ts"

/** How a request is sent. */
export interface FetchOptions extends Pick<RequestInit, "method" | "headers" | "body" | "signal"> {
  /** Who sends it; some pod of the namespace `default` without labels unless given. */
  readonly from?: From
  /** How long the client waits for an answer; `30s` by default. */
  readonly timeout?: Duration
}

const OPTIONS: { readonly [name in keyof Required<FetchOptions>]: true } = {
  from: true,
  timeout: true,
  method: true,
  headers: true,
  body: true,
  signal: true,
}

/** Sends a request from a pod or another client, and lets time go on until the answer, and while its body is read. */
export async function fetchAsPod(
  { driver, network }: Pick<ClusterParts, "driver" | "network">,
  input: string | URL | Request,
  { from, timeout = TIMEOUT_MS, ...init }: FetchOptions,
): Promise<Response> {
  checkOptionNames("fetch has no option", init, OPTIONS)
  const request = new Request(input, init)
  const patience = { timeoutMs: milliseconds(timeout), signal: request.signal }
  // Virtual time stands still meanwhile, so that it is the same however long that takes.
  if (network.needsLoading) await (driver.isVirtual ? driver.move(() => network.load()) : network.load())
  const sent = network.fetchFrom(from, request, patience)
  const response = await driver.ended(() => `fetch waits for the answer of ${request.url}`, sent)
  return response.body === null ? response : whileRead(response, response.body, driver, request.url)
}

/** Returns the response with a body that lets time go on while it is read. */
function whileRead(
  { status, statusText, headers }: Response,
  body: ReadableStream<Uint8Array>,
  driver: Driver,
  url: string,
): Response {
  const reader = body.getReader()
  const read = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await driver.ended(() => `fetch waits for the body of ${url}`, reader.read())
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read before the test reads: that would move its time.
    { highWaterMark: 0 },
  )
  return new Response(read, { status, statusText, headers })
}
