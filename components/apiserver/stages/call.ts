import type { RemoteService } from "../aggregator/api-services.ts"
import type { Credentials } from "../authentication/authenticator.ts"
import type { Grant } from "../call/grant.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"

/** A request over HTTP whose line is well-formed. */
export interface Call {
  readonly exchange: Exchange
  readonly info: RequestInfo
  /** The extension API server that serves the version which the request names. */
  readonly remote: RemoteService | undefined
  /** Most time that the request may take, in milliseconds; undefined for watches and streams. */
  readonly timeoutMs: number | undefined
}

/** A call whose sender is known. */
export interface AuthenticatedCall extends Call {
  readonly credentials: Credentials
  /** Who sends the request, before it acts as another user. */
  readonly sender: UserInfo
}

/** A call that its user may make. */
export interface AuthorizedCall extends AuthenticatedCall {
  readonly attributes: ResourceAttributes | NonResourceRequest
  readonly grant: Grant
}

/** A call for which somebody is found who serves it. */
export interface RoutedCall extends AuthorizedCall {
  readonly handler: Handler
  /** Whether the handler gets a body. */
  readonly hasBody: boolean
  /** A stream lasts as long as its client likes and takes no seat; a watch takes one while it begins. */
  readonly takesTurn: boolean
}

/** A call with its body, which is empty for verbs without one. */
export interface ReceivedCall extends RoutedCall {
  readonly body: Uint8Array
}

/** Serves a request that is authorized. */
export type Handler = (call: ReceivedCall) => void | Promise<void>

/**
 * Begins the way of a request. It is one object on all of it: each stage fills in what it has found out, so nothing is
 * copied from stage to stage. The types of the stages say what is there.
 */
export const callOf = (
  exchange: Exchange,
  info: RequestInfo,
  remote: RemoteService | undefined,
  timeoutMs: number | undefined,
): Call => {
  const call: Call & { readonly [Name in Exclude<keyof ReceivedCall, keyof Call>]: undefined } = {
    exchange,
    info,
    remote,
    timeoutMs,
    credentials: undefined,
    sender: undefined,
    attributes: undefined,
    grant: undefined,
    handler: undefined,
    hasBody: undefined,
    takesTurn: undefined,
    body: undefined,
  }
  return call
}

/** A call into which a stage writes what it has found out. */
export type Filled<T> = { -readonly [Name in keyof T]: T[Name] }
