import { Buffer } from "node:buffer"
import { sleep } from "../../../clock/clock.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import type { Environment } from "../../environment/environment.ts"
import { StatusError } from "../../errors/status-error.ts"
import type { LogSource } from "../../polymorphic/log-sources.ts"
import type { Output } from "../../printers/output.ts"
import { pathSegment, type RestClient } from "../../rest/rest-client.ts"
import type { RestRequest } from "../../rest/rest-request.ts"

const RETRY_MS = 1000
const LINE_END = 0x0a

export interface LogStreamOptions {
  readonly environment: Environment
  readonly client: RestClient
  readonly out: Output
  readonly errOut: Output
  readonly query: NonNullable<RestRequest["query"]>
  readonly follow: boolean
  readonly ignoreErrors: boolean
  /** Whether each line says which container it is of. */
  readonly prefix: boolean
  /** Whether lines of several containers are mixed, so that only whole ones are printed. */
  readonly wholeLines: boolean
  /** How long a log that is followed may be missing, in milliseconds. */
  readonly patienceMs: number
}

/** Prints the log of a container; one that is followed is asked for again. Source: kubectl pkg/cmd/logs/logs.go. */
export async function printLog(source: LogSource, options: LogStreamOptions): Promise<void> {
  const { environment, follow, ignoreErrors, out, errOut, patienceMs } = options
  const { clock, interrupt } = environment
  const end = clock.monotonic() + patienceMs
  for (;;)
    try {
      return await consume(source, options)
    } catch (err) {
      if (interrupt.aborted) throw interrupt.reason
      if (ignoreErrors) return out.write(`error: ${errorMessage(err)}\n`)
      if (!follow) throw err
      await errOut.write(`${errorMessage(err)}\n`)
      if (!(err instanceof StatusError)) throw err
      if (clock.monotonic() + RETRY_MS > end) throw new Error("context deadline exceeded", { cause: err })
      await sleep(clock, RETRY_MS, interrupt)
    }
}

async function consume({ namespace, pod, container }: LogSource, options: LogStreamOptions): Promise<void> {
  const { client, environment, out, query, prefix, wholeLines } = options
  const path = `/api/v1/namespaces/${pathSegment(namespace)}/pods/${pathSegment(pod)}/log`
  const response = await client.stream({
    method: "GET",
    path,
    query: { ...query, container },
    accept: "application/json, */*",
    signal: environment.interrupt,
  })
  try {
    if (!prefix && !wholeLines) for await (const part of response.body) await out.write(part)
    else {
      const head = prefix ? Buffer.from(`[pod/${pod}/${container}] `) : Buffer.alloc(0)
      for await (const line of lines(response.body)) await out.write(Buffer.concat([head, line]))
    }
  } finally {
    response.cancel()
  }
}

/** Cuts a stream into lines, with their ends. */
async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = []
  for await (const part of body) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    let from = 0
    for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, from)) {
      yield Buffer.concat([...rest, bytes.subarray(from, at + 1)])
      rest = []
      from = at + 1
    }
    if (from < bytes.length) rest.push(Buffer.from(bytes.subarray(from)))
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}
