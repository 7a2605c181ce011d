import type { Clock } from "../../clock/clock.ts"
import type { HttpResponse } from "../environment/connect.ts"
import { canonicalHeader } from "./canonical-header.ts"
import type { RequestLog } from "./request-log.ts"

/** Writes a line of the log. */
export type LogLine = (place: string, line: string) => void

/**
 * Logs requests and answers: from level 6 on that they were sent, from 7 on headers, from 8 on bodies, at 9 as a
 * command of curl. Source: client-go transport/round_trippers.go.
 */
export function httpLog(level: number, clock: Clock, print: LogLine): Omit<RequestLog, "bodyFailed" | "watchFailed"> {
  const withCurl = level >= 9
  return {
    begin(method, url, headers, body) {
      const about = `verb=${quoted(method)} url=${quoted(url)}`
      if (level >= 8) print("type.go:204", `"Request Body" body=${bodyText(level, body ?? "")}`)
      if (withCurl) print("round_trippers.go:527", `"Request" curlCommand=${block(curlOf(method, url, headers))}`)
      else if (level >= 7) print("round_trippers.go:527", `"Request" ${about} headers=${block(headerText(headers))}`)
      const began = clock.monotonic()
      return (response) => {
        const ms = Math.floor(clock.monotonic() - began)
        const words = response === undefined ? "" : `${response.status} ${statusWords(response.status)}`.trim()
        const status = `status=${quoted(words)}`
        const answered = level < 8 ? "" : ` headers=${block(headerText(response?.headers ?? {}))}`
        if (level === 6 || withCurl)
          print("round_trippers.go:632", `"Response" ${about} ${status}${withCurl ? answered : ""} milliseconds=${ms}`)
        else print("round_trippers.go:632", `"Response" ${status}${answered} milliseconds=${ms}`)
      }
    },
    body(bytes) {
      if (level >= 8) print("type.go:204", `"Response Body" body=${bodyText(level, bytes)}`)
    },
  }
}

const quoted = (text: string): string => JSON.stringify(text)

/** Text of several lines stands below its key. Source: klog's text format. */
const block = (text: string): string =>
  text.includes("\n")
    ? `<\n${text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => `\t${line}\n`)
        .join("")} >`
    : quoted(text)

const LONGEST_BODY: Readonly<Record<number, number>> = { 8: 1024, 9: 10_240 }

function bodyText(level: number, body: string | Uint8Array): string {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body)
  const most = LONGEST_BODY[level] ?? Infinity
  const shown = text.length <= most ? text : `${text.slice(0, most)} [truncated ${text.length - most} chars]`
  return block(shown)
}

type Headers = Readonly<Record<string, string | readonly string[]>>

/** The words of known kinds of credentials are shown, not the credentials. */
const KNOWN = ["bearer", "basic", "negotiate"]

function masked(name: string, value: string): string {
  if (name.toLowerCase() !== "authorization" || value === "") return value
  const [type = ""] = value.split(" ", 1)
  if (!KNOWN.includes(type.toLowerCase())) return "<masked>"
  return value.length > type.length + 1 ? `${type} <masked>` : type
}

/** Headers that are added below the place where upstream logs, and those of a connection, which HTTP/2 does not have. */
const UNLOGGED = ["accept-encoding", "kubectl-command", "kubectl-session", "connection", "keep-alive"]

const pairs = (headers: Headers): readonly (readonly [string, string])[] =>
  Object.entries(headers)
    .filter(([name]) => !UNLOGGED.includes(name.toLowerCase()))
    .flatMap(([name, value]) => [value].flat().map((each) => [canonicalHeader(name), masked(name, each)] as const))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))

const headerText = (headers: Headers): string =>
  pairs(headers)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join("")

function curlOf(method: string, url: string, headers: Headers): string {
  const shown = pairs(headers).map(([name, value]) => ` -H ${JSON.stringify(`${name}: ${value}`)}`)
  return `curl -v -X${method} ${shown.join("")} '${url}'\n`
}

const WORDS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  301: "Moved Permanently",
  307: "Temporary Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  409: "Conflict",
  410: "Gone",
  415: "Unsupported Media Type",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
  504: "Gateway Timeout",
}

/** HTTP/2 has no words; Go shows those of the code in both. */
const statusWords = (status: HttpResponse["status"]): string => WORDS[status] ?? ""
