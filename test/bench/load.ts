import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

export interface Load {
  readonly perSecond: number
  readonly p99ms: number
}

export interface LoadOptions {
  readonly url: string
  readonly token?: string
  readonly connections: number
  readonly seconds: number
  /** POSTs this JSON; GETs when absent. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A server runs its code slowly, and its compiler beside it, until it has seen some thousand requests: what is measured
 * is how it goes on.
 */
const WARM_UP_SECONDS = 4

/** Runs wrk against a URL, a while unmeasured and then measured, and fails when any answer was none of 2xx. */
export async function load({ url, token, connections, seconds, body, headers = {} }: LoadOptions): Promise<Load> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-load-"))
  try {
    const script = join(dir, "request.lua")
    const all = {
      ...headers,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    }
    writeFileSync(
      script,
      [
        ...(body === undefined ? [] : ['wrk.method = "POST"', `wrk.body = ${lua(JSON.stringify(body))}`]),
        ...Object.entries(all).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`),
      ].join("\n"),
    )
    const wrk = (duration: number) =>
      promisify(execFile)("wrk", [
        "-t",
        "1",
        "-c",
        String(connections),
        "-d",
        `${duration}s`,
        "--latency",
        "-s",
        script,
        url,
      ])
    await wrk(WARM_UP_SECONDS)
    const { stdout } = await wrk(seconds)
    const bad = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)
    if (bad !== null) throw new Error(`${bad[1]} answers of ${url} were not 2xx:\n${stdout}`)
    const [, p99 = "0", unit = "ms"] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout) ?? []
    return {
      perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1]),
      p99ms: Number(p99) * { us: 0.001, ms: 1, s: 1000 }[unit]!,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const lua = (text: string): string => JSON.stringify(text).replaceAll(/\\u([0-9a-f]{4})/g, "\\u{$1}")
