import { Buffer } from "node:buffer"
import { STATUS_CODES } from "node:http"
import type { ServerAnswer } from "../../../runtime/http/server-request.ts"

/** Answers with one line of text. Source: Go net/http (Error). */
export function answerText(answer: ServerAnswer, status: number, text: string): void {
  const body = `${text}\n`
  answer.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(body),
  })
  answer.end(body)
}

/** Sends the client elsewhere. Source: Go net/http (Redirect). */
export function redirect(answer: ServerAnswer, method: string | undefined, status: number, location: string): void {
  const isRead = method === "GET" || method === "HEAD"
  const body = method === "GET" ? `<a href="${htmlEscape(location)}">${STATUS_CODES[status]}</a>.\n\n` : ""
  answer.writeHead(status, {
    Location: location,
    ...(isRead ? { "Content-Type": "text/html; charset=utf-8" } : {}),
    ...(method === "HEAD" ? {} : { "Content-Length": Buffer.byteLength(body) }),
  })
  answer.end(body)
}

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" }

export const htmlEscape = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => SIGNS[sign]!)
