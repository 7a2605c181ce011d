import type { Answered } from "./exchange.ts"

/**
 * Returns the error message for a response with a failure code. Source: apimachinery pkg/api/errors
 * NewGenericServerResponse; client-go rest/request.go transformResponse.
 */
export const meaningOf = (code: number, { answer, type }: Answered): string =>
  messageOfStatus(answer) ??
  MEANINGS[code] ??
  (code >= 500
    ? `an error on the server (${JSON.stringify(type.startsWith("text/") ? answer.slice(0, 2048) : "unknown")}) has ` +
      "prevented the request from succeeding"
    : `the server responded with the status code ${code} but did not return more information`)

/** Returns the message of a response that is a Status with Failure; undefined for other responses. */
function messageOfStatus(answer: string): string | undefined {
  try {
    const { kind, apiVersion, status, message } = JSON.parse(answer) as Readonly<Record<string, unknown>>
    const isFailure = kind === "Status" && apiVersion === "v1" && status === "Failure"
    return isFailure && typeof message === "string" && message !== "" ? message : undefined
  } catch {
    return undefined
  }
}
const MEANINGS: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  403: "the server does not allow access to the requested resource",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
