import type { Duplex } from "node:stream"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { ServerAnswer, ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import type { UserInfo } from "../call/request.ts"

/** What the port serves beside the API, before any stage of a request. */
export interface BesideApi {
  /** Whether the path of a request, or of one that asks for another protocol, is served here and not by the API. */
  serves(path: string, isUpgrade: boolean): boolean
  onRequest(req: ServerRequest, res: ServerAnswer, notes?: BesideNotes): void
  onUpgrade(req: ServerRequest, socket: Duplex, head: Buffer, notes?: BesideNotes): void
  /** Called when the API server stops: ends the connections that would have it wait, as they never end by themselves. */
  stop(): void
}

/** What a part beside the API notes of a request for its audit event. */
export interface BesideNotes {
  /** Who sends the request, once that is known. */
  sender(user: UserInfo): void
  annotate(key: string, value: string): void
  /** The error with which the request is refused. */
  refused(error: ApiError): void
  /** The request was answered by another protocol, which may last long. */
  upgraded(): void
}
